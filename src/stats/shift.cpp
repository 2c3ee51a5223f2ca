// SPDX-License-Identifier: GPL-2.0-or-later
// The shift between two samples and its interval. docs/methods.md, "Estimates".
#include <algorithm>
#include <cmath>

#include "stats/sorted.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

constexpr std::size_t kMaxDifferences = std::size_t{1} << 24;

// The rank k such that the k-th smallest and k-th largest difference enclose the shift with at
// least 95 %; 0: the sizes are too small.
std::pair<std::size_t, double> shift_rank(std::size_t n, std::size_t m) {
    constexpr double kTail = 0.025;
    if (const auto null = null_distribution(n, m)) {
        // Smallest q with P(U ≤ q) ≥ 2.5 %, as R's qwilcox, with its guard against rounding.
        constexpr double kGuard = 1e-14;
        const auto found = std::lower_bound(null->begin(), null->end(), kTail - kGuard);
        const auto q = static_cast<std::size_t>(found - null->begin());
        if (q == 0) return {0, 0};
        return {q, 1 - 2 * (*null)[q - 1]};
    }
    const double pairs = static_cast<double>(n) * static_cast<double>(m);
    const double sigma = std::sqrt(pairs * static_cast<double>(n + m + 1) / 12);
    const double q = std::floor(pairs / 2 - 1.959963984540054 * sigma);
    if (q < 1) return {0, 0};
    return {static_cast<std::size_t>(q), 0.95};
}

}  // namespace

std::optional<Shift> hodges_lehmann_sorted(std::span<const double> a, std::span<const double> b) {
    if (a.empty() || b.empty() || a.size() > kMaxDifferences / b.size()) return std::nullopt;
    std::vector<double> differences(a.size() * b.size());
    auto next = differences.begin();
    for (const double from : a) {
        for (const double to : b)
            *next++ = to - from;
    }
    // Only three or four of them are needed in their place: no sorting.
    const auto at = [&](std::size_t i) {
        return differences.begin() + static_cast<std::ptrdiff_t>(i);
    };
    const std::size_t all = differences.size();
    const std::size_t half = all / 2;
    std::nth_element(at(0), at(half), differences.end());
    Shift shift;
    shift.estimate = *at(half);
    if (all % 2 == 0) shift.estimate = *std::max_element(at(0), at(half)) / 2 + *at(half) / 2;
    const auto [k, coverage] = shift_rank(a.size(), b.size());
    if (k > 0) {
        std::nth_element(at(0), at(k - 1), at(half));
        std::nth_element(at(half), at(all - k), differences.end());
        shift.ci95 = Interval{*at(k - 1), *at(all - k)};
        shift.coverage = coverage;
    }
    return shift;
}

std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b) {
    return hodges_lehmann_sorted(sorted(a), sorted(b));
}

}  // namespace mano::stats
