// SPDX-License-Identifier: GPL-2.0-or-later
// Two samples whose values belong together one by one → the tests that may use that, and the
// correlation that justifies it. Called by the report for plans that pair.
#pragma once

#include "stats/sorted.h"
#include "stats/stats.h"

namespace mano::stats {

// Wilcoxon's signed rank test of the differences b[i] - a[i], two-sided: differences of 0 are left
// out (as Wilcoxon did), equal ones share midranks; exact by counting up to kSignedRank pairs,
// above that the normal approximation with continuity and tie correction. No difference but 0: p
// = 1.
constexpr std::size_t kSignedRank = 200;
Test signed_rank(std::span<const double> differences);
// The sum of the differences when each may as well have the other sign: exact up to 2^16 sign
// patterns (16 differences that aren't 0), else by resampling from `seed`. For counts of which many
// are 0, whose ranks say little.
Test sign_flip(std::span<const double> differences, std::uint64_t seed = 1,
               const Effort& effort = {});

// Everything about the pairs (a[i], b[i]); sizes are equal. The shift is the median of the averages
// of every two differences, its interval from the exact distribution of the signed rank sum, null
// below 6 pairs. `counts`: sign-flip instead of signed rank.
Paired compare_pairs(std::span<const double> a, std::span<const double> b, bool counts,
                     std::uint64_t seed = 1);

// Spearman's correlation; null when a side is constant or there are fewer than 3. `p`, one-sided:
// of a correlation at least as large if there were none, by resampling from `seed`.
struct Correlation {
    std::optional<double> rho;
    double p = 1;
};
Correlation correlation(std::span<const double> a, std::span<const double> b,
                        std::uint64_t seed = 1);
// The same over groups of pairs (the cases of an experiment), each with its own ranks: a
// difference between groups is no correlation within them. rho is weighted by the groups' sizes.
Correlation correlation(std::span<const std::pair<std::vector<double>, std::vector<double>>> groups,
                        std::uint64_t seed = 1);

}  // namespace mano::stats
