// SPDX-License-Identifier: GPL-2.0-or-later
// What the estimators and tests share once the samples are sorted, so that a comparison sorts each
// sample once. Only for this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/stats.h"

namespace mano::stats {

std::vector<double> sorted(std::span<const double> values);

// All of these take ascending values.
Summary summarize_sorted(std::span<const double> values);
Test mann_whitney_sorted(std::span<const double> a, std::span<const double> b, std::uint64_t seed);
std::optional<Shift> hodges_lehmann_sorted(std::span<const double> a, std::span<const double> b);

// 1 / C(n, k) by ratios: never overflows, underflows to 0 at worst.
double one_over_choose(std::size_t n, std::size_t k);
double choose(std::size_t n, std::size_t k);

// P(the sum of `n` of the `ranks` lies at least `deviation` from its expectation), every choice of
// n being as likely as any other. `ranks` ascending, with the mean (ranks.size() + 1): midranks,
// each doubled. By counting the choices for each sum (the shift algorithm of Streitberg and Röhmel,
// 1986). `subset_steps`: additions that it takes, about a nanosecond each.
std::uint64_t subset_steps(std::span<const std::uint64_t> ranks, std::size_t n);
double subset_p(std::span<const std::uint64_t> ranks, std::size_t n, std::uint64_t deviation);

// Draws until `hits` resamples were as extreme as what was seen, at most `most` (Besag and Clifford
// 1991): large p-values, which nobody needs to three digits, cost little, small ones are as exact
// as `most` allows, and each is valid.
struct Effort {
    std::uint64_t most = 100'000;
    std::uint64_t hits = 2'000;
    std::uint64_t listed = 65'536;  // up to as many arrangements are listed one by one instead
};
constexpr Effort kQuick{19'999, 500};
// `extreme()` draws one resample and says whether it is as extreme. Returns p and the draws.
template <typename Extreme>
std::pair<double, std::uint64_t> resampled(const Effort& effort, Extreme&& extreme) {
    std::uint64_t hits = 0;
    std::uint64_t draws = 0;
    while (draws < effort.most) {
        ++draws;
        if (extreme() && ++hits == effort.hits) {
            return {static_cast<double>(hits) / static_cast<double>(draws), draws};
        }
    }
    // What was seen is one of those possible, so p is never 0 (Phipson and Smyth 2010).
    return {static_cast<double>(hits + 1) / static_cast<double>(draws + 1), draws};
}

}  // namespace mano::stats
