// SPDX-License-Identifier: GPL-2.0-or-later
// Two samples of counts of which many are 0 → a test of their totals and of their numbers of zeros.
// Called by compare().
#pragma once

#include "stats/sorted.h"
#include "stats/stats.h"

namespace mano::stats {

// Every arrangement of the pooled values over the two samples is as likely as any other. `totals`:
// the probability of totals at least as far from their expectation as those seen. `zeros`: Fisher's
// exact test of the numbers of zeros. `both`: of the larger of the two deviations, each in units of
// its own standard deviation over the arrangements (Westfall and Young's max-T): one p-value that
// both questions share without a penalty for asking two. Exact up to 2^16 arrangements, else by
// resampling from `seed` as far as `effort` goes. Values must be finite; empty samples: p = 1.
struct CountTests {
    Test totals, zeros, both;
};
CountTests count_tests(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 1,
                       const Effort& effort = {});

}  // namespace mano::stats
