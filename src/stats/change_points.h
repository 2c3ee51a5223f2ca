// SPDX-License-Identifier: GPL-2.0-or-later
// Groups of values in an order (the kernels of a history) → the places between groups where the
// values change. Called by the report. Knows no names. Pure and thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "stats/stats.h"

namespace mano::stats {

struct ChangePoint {
    std::size_t before = 0;        // the change lies between groups `before` and `before` + 1
    double p = 1;                  // of the step in which it was found, see below
    std::size_t from = 0, to = 0;  // first and last group of the stretch that was cut there
    // Of the values right of the cut against those left of it, within the stretch.
    std::optional<Shift> shift;
    std::optional<double> left_median, right_median;
};

// Cuts the row of groups in two where the ranks of left and right differ most (the standardised
// Mann-Whitney statistic, ties allowed for), if that is more than chance, and goes on with both
// halves. Chance: all values of the stretch are dealt anew to its groups `permutations` times (from
// `seed`), and the largest statistic over all cuts is compared, so the p-value pays for the choice
// of the place. Each stretch is tested at `alpha`; a row without a change is cut with at most that
// probability. Empty groups are passed over. In ascending order of place.
// Source: binary segmentation (Scott and Knott 1974) with a permutation test of the maximal rank
// statistic, as for single change points in Pettitt 1979.
std::vector<ChangePoint> change_points(const std::vector<std::vector<double>>& groups, double alpha,
                                       std::uint64_t seed = 1, std::size_t permutations = 9999);

}  // namespace mano::stats
