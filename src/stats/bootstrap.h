// SPDX-License-Identifier: GPL-2.0-or-later
// Two samples → BCa bootstrap intervals (Efron 1987) of a change in %: of medians, of totals.
// Called by the report for key metrics.
#pragma once

#include <span>
#include <vector>

#include "stats/stats.h"

namespace mano::stats {

constexpr std::uint32_t kBootstraps = 9999;

// 100·(T(other)/|T(base)| - sign), T the median or the mean (for equal sizes the same change as
// that of totals). Both samples are drawn again with putting back, each from itself, `resamples`
// times from `seed`. Below `kFewest…` values an arm too few (coverage there: docs/methods.md). No
// interval where the base may come out as 0, and for means where an arm has fewer than
// kFewestNonZero values that aren't 0: what such an arm might have shown isn't in its values.
constexpr std::size_t kFewestForMedian = 6;
constexpr std::size_t kFewestForMean = 6;
constexpr std::size_t kFewestNonZero = 6;
Bootstrap median_change_pct(std::span<const double> base, std::span<const double> other,
                            std::uint64_t seed = 1, std::uint32_t resamples = kBootstraps);
Bootstrap mean_change_pct(std::span<const double> base, std::span<const double> other,
                          std::uint64_t seed = 1, std::uint32_t resamples = kBootstraps);

// The same for the difference of the means, in the unit. A sample whose few values that aren't 0
// say too little makes it null here too; not a base of 0.
Bootstrap mean_difference(std::span<const double> base, std::span<const double> other,
                          std::uint64_t seed = 1, std::uint32_t resamples = kBootstraps);

// The BCa interval itself: from the resampled estimates, the estimate seen, and for each sample the
// estimates with one of its values left out. Quantiles by linear interpolation. nullopt when the
// estimates are all equal or not finite. (As scipy.stats.bootstrap computes it.)
std::optional<Interval> bca_interval(std::vector<double> resampled, double estimate,
                                     std::span<const std::vector<double>> left_out,
                                     double level = 0.95);

}  // namespace mano::stats
