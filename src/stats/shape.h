// SPDX-License-Identifier: GPL-2.0-or-later
// What a reader must know about values beside their median: two groups, one that lies apart, a
// drift over the run. Called by the report for key metrics. False alarms: docs/methods.md.
#pragma once

#include <optional>
#include <span>

#include "stats/stats.h"

namespace mano::stats {

// The values fall into two groups: between them nothing, over a gap at least twice as wide as
// either group (each without its outer tenths, so that a stray value hides nothing). At least 8
// values, and 3 and a fifth of them in each group; below 10 values four times as wide, and neither
// group of one value.
struct Modes {
    double low = 0, high = 0;  // the groups' medians
    std::size_t n_low = 0, n_high = 0;
};
std::optional<Modes> find_modes(std::span<const double> values);

// One value, among at least 5, that lies farther from its nearest neighbour than `kOutlier` times
// the range of all the others: medians and ranks take no notice, means and totals do.
constexpr double kOutlier = 3;
struct Outlier {
    std::size_t index = 0;  // in the values as given
    double value = 0;
};
std::optional<Outlier> find_outlier(std::span<const double> values);

// Values against their places in the run. `groups[i]`: the arm of value i, whose median is taken
// off first, so that a difference between arms is no drift. Spearman's correlation with the place
// and its two-sided p by permutation within the arms, from `seed`; `change`: what the values rose
// by over the run, in the unit (Theil and Sen's slope times the length). nullopt below 8 values.
struct Drift {
    double rho = 0, p = 1, change = 0;
};
std::optional<Drift> find_drift(std::span<const double> values, std::span<const double> places,
                                std::span<const std::uint32_t> groups, std::uint64_t seed = 1);

}  // namespace mano::stats
