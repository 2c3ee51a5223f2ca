// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/stats.h"

namespace mano::stats {
namespace {

double median_of_sorted(const std::vector<double>& sorted) {
    const std::size_t half = sorted.size() / 2;
    if (sorted.size() % 2 == 1) return sorted[half];
    // Halved before the addition, so that two huge values don't overflow.
    return sorted[half - 1] / 2 + sorted[half] / 2;
}

// Largest k with 2·P(Binomial(n, ½) ≤ k-1) ≤ 5 %: the interval from the k-th smallest to the k-th
// largest covers the median with the rest. 0: n is too small.
struct OrderRank {
    std::size_t k = 0;
    double coverage = 0;
};
OrderRank order_rank(std::size_t n) {
    OrderRank best;
    double log_choose = 0;  // ln C(n, i)
    const double log_half = static_cast<double>(n) * std::log(0.5);
    double below = 0;
    for (std::size_t i = 0; i < n / 2; ++i) {
        below += std::exp(log_choose + log_half);
        if (2 * below > 0.05) break;
        best = {i + 1, 1 - 2 * below};
        log_choose += std::log(static_cast<double>(n - i)) - std::log(static_cast<double>(i + 1));
    }
    return best;
}

}  // namespace

std::optional<double> median(std::span<const double> values) {
    if (values.empty()) return std::nullopt;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    return median_of_sorted(sorted);
}

Summary summarize(std::span<const double> values) {
    Summary summary;
    summary.n = values.size();
    if (values.empty()) return summary;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<double>(values.size());
    const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
    const double mean = total / n;
    const double middle = median_of_sorted(sorted);
    summary.total = total;
    summary.mean = mean;
    summary.median = middle;
    summary.minimum = sorted.front();
    summary.maximum = sorted.back();
    summary.zeros = static_cast<std::size_t>(std::count(sorted.begin(), sorted.end(), 0.0));
    // Two passes: the textbook one-pass form cancels catastrophically for counters in the billions.
    double squares = 0;
    for (const double value : sorted)
        squares += (value - mean) * (value - mean);
    summary.stddev_population = std::sqrt(squares / n);
    if (values.size() > 1) {
        summary.stddev_sample = std::sqrt(squares / (n - 1));
        if (mean != 0) summary.stddev_pct = 100 * *summary.stddev_sample / std::fabs(mean);
    }
    if (middle != 0 && values.size() > 1) {
        summary.half_range_pct = 100 * (sorted.back() / 2 - sorted.front() / 2) / std::fabs(middle);
    }
    const OrderRank rank = order_rank(values.size());
    if (rank.k > 0) {
        summary.ci95 = Interval{sorted[rank.k - 1], sorted[values.size() - rank.k]};
        summary.ci95_coverage = rank.coverage;
    }
    return summary;
}

}  // namespace mano::stats
