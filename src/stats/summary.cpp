// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/sorted.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

double median_of_sorted(std::span<const double> sorted) {
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

double one_over_choose(std::size_t n, std::size_t k) {
    k = std::min(k, n - k);
    double share = 1;
    for (std::size_t i = 1; i <= k; ++i) {
        share *= static_cast<double>(i) / static_cast<double>(n - k + i);
    }
    return share;
}

double choose(std::size_t n, std::size_t k) {
    return 1 / one_over_choose(n, k);
}

std::vector<double> sorted(std::span<const double> values) {
    std::vector<double> copy(values.begin(), values.end());
    std::sort(copy.begin(), copy.end());
    return copy;
}

std::optional<double> median(std::span<const double> values) {
    if (values.empty()) return std::nullopt;
    return median_of_sorted(sorted(values));
}

Summary summarize(std::span<const double> values) {
    return summarize_sorted(sorted(values));
}

Summary summarize_sorted(std::span<const double> sorted) {
    Summary summary;
    summary.n = sorted.size();
    if (sorted.empty()) return summary;
    const auto n = static_cast<double>(sorted.size());
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
    if (sorted.size() > 1) {
        summary.stddev_sample = std::sqrt(squares / (n - 1));
        if (mean != 0) summary.stddev_pct = 100 * *summary.stddev_sample / std::fabs(mean);
    }
    if (middle != 0 && sorted.size() > 1) {
        summary.half_range_pct = 100 * (sorted.back() / 2 - sorted.front() / 2) / std::fabs(middle);
    }
    const OrderRank rank = order_rank(sorted.size());
    if (rank.k > 0) {
        summary.ci95 = Interval{sorted[rank.k - 1], sorted[sorted.size() - rank.k]};
        summary.ci95_coverage = rank.coverage;
    }
    return summary;
}

}  // namespace mano::stats
