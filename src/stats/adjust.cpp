// SPDX-License-Identifier: GPL-2.0-or-later
// Several tests at once, and the test for two counts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/stats.h"

namespace mano::stats {
namespace {

std::vector<std::size_t> ascending(std::span<const double> p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    return order;
}

// Weights of the tables with the margins given, relative to the likeliest, for x = low … high in
// the first cell. By the ratio of neighbours from the mode outwards: no factorial, no cancellation.
std::vector<double> table_weights(std::uint64_t n1, std::uint64_t n2, std::uint64_t successes,
                                  std::uint64_t low, std::uint64_t high) {
    const auto ratio_up = [&](std::uint64_t x) {  // weight(x + 1) / weight(x)
        const auto from = static_cast<double>(x);
        return static_cast<double>(successes - x) * static_cast<double>(n1 - x) /
               ((from + 1) * (static_cast<double>(n2) - static_cast<double>(successes) + from + 1));
    };
    std::vector<double> weights(high - low + 1, 0.0);
    std::uint64_t mode = low;
    while (mode < high && ratio_up(mode) > 1)
        ++mode;
    weights[mode - low] = 1;
    for (std::uint64_t x = mode; x < high; ++x) {
        weights[x + 1 - low] = weights[x - low] * ratio_up(x);
    }
    for (std::uint64_t x = mode; x > low; --x) {
        weights[x - 1 - low] = weights[x - low] / ratio_up(x - 1);
    }
    return weights;
}

}  // namespace

std::vector<double> holm(std::span<const double> p) {
    std::vector<double> adjusted(p.size());
    double highest = 0;
    std::size_t left = p.size();
    for (const std::size_t index : ascending(p)) {
        highest = std::max(highest, std::min(1.0, static_cast<double>(left) * p[index]));
        adjusted[index] = highest;
        --left;
    }
    return adjusted;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
    std::vector<double> adjusted(p.size());
    const std::vector<std::size_t> order = ascending(p);
    double lowest = 1;
    for (std::size_t rank = order.size(); rank > 0; --rank) {
        const std::size_t index = order[rank - 1];
        lowest =
            std::min(lowest, static_cast<double>(p.size()) / static_cast<double>(rank) * p[index]);
        adjusted[index] = lowest;
    }
    return adjusted;
}

Test fisher_exact(std::uint64_t k1, std::uint64_t n1, std::uint64_t k2, std::uint64_t n2) {
    k1 = std::min(k1, n1);
    k2 = std::min(k2, n2);
    Test test;
    test.name = "Fisher exact";
    const std::uint64_t successes = k1 + k2;
    const std::uint64_t low = successes > n2 ? successes - n2 : 0;
    const std::uint64_t high = std::min(n1, successes);
    if (n1 == 0 || n2 == 0 || low == high) return test;  // one table only: p = 1
    const std::vector<double> weights = table_weights(n1, n2, successes, low, high);
    constexpr double kTolerance = 1 + 1e-7;
    const auto p_of = [&](double weight) {
        double no_likelier = 0;
        double all = 0;
        for (const double each : weights) {
            all += each;
            if (each <= weight * kTolerance) no_likelier += each;
        }
        return std::min(1.0, no_likelier / all);
    };
    test.p = p_of(weights[k1 - low]);
    test.best_attainable_p = p_of(std::min(weights.front(), weights.back()));
    return test;
}

}  // namespace mano::stats
