// SPDX-License-Identifier: GPL-2.0-or-later
// What a number of trials can show: the smallest change that would have been found, how far equal
// kernels lie apart, how many trials a wanted precision takes, when to look. By simulation on
// values that were seen, from given seeds. Called by the report, by `plan`, by `aa` and by
// sequential runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/stats.h"

namespace mano::stats {

// Values of all samples together, each with its own median taken off and stretched by sqrt(n/(n -
// 1)) for having been measured from there: how trials spread where nothing changes.
std::vector<double> pooled_spread(std::span<const std::vector<double>> samples);

// Smallest shift, in the unit, that the rank test would have found with 80 % power at alpha with n
// and m trials that spread like `pool`. Above kSimulated trials an arm by the square-root law from
// as many. nullopt when the sizes can't reach alpha, or no value of the pool differs from another.
// `rounds`: pairs of samples that are simulated; the power reached is 80 % +- 40 % / sqrt(rounds).
constexpr std::size_t kSimulated = 48;
constexpr std::size_t kPowerRounds = 1000;
std::optional<double> detectable_shift(std::span<const double> pool, std::size_t n, std::size_t m,
                                       double alpha, std::uint64_t seed = 1,
                                       std::size_t rounds = kPowerRounds);

// 95 % of the shifts (Hodges–Lehmann) between n and m trials of one and the same kernel are no
// larger. 0 for a constant pool; nullopt for none.
std::optional<double> noise_floor(std::span<const double> pool, std::size_t n, std::size_t m,
                                  std::uint64_t seed = 1);

// Trials an arm, from which a shift of this size is found with 80 % power at alpha; from which the
// 95 % interval of the shift is no wider than ±half_width in four of five runs. nullopt: more than
// kMostTrials, or the pool is empty or the aim not above 0. A constant pool needs the fewest that
// the test allows.
constexpr std::size_t kMostTrials = 10'000;
std::optional<std::size_t> trials_to_detect(std::span<const double> pool, double shift,
                                            double alpha, std::uint64_t seed = 1);
std::optional<std::size_t> trials_for_width(std::span<const double> pool, double half_width,
                                            std::uint64_t seed = 1);

// Sequential stopping: after how many trials of each arm the run may end, half as many again from
// look to look, the last being `most`, none within a quarter before it. first ≥ most gives {most}.
std::vector<std::uint32_t> looks(std::uint32_t first, std::uint32_t most);
// A test that may be made at any of `looks` looks, whatever decides which: p times the looks
// (Bonferroni), at most 1. The chance of a false alarm stays below alpha under every stopping rule.
double adjusted_for_looks(double p, std::size_t looks);

}  // namespace mano::stats
