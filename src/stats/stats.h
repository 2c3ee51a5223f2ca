// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers → estimates, intervals, tests, verdicts. Knows no names: no metric, no kernel, no trial.
// Sources of each rule: docs/methods.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace mano::stats {

using Interval = std::pair<double, double>;

// Of one sample. What can't be computed is nullopt (mean of nothing, stddev of one value …).
struct Summary {
    std::size_t n = 0;
    std::optional<double> total, mean, median, minimum, maximum;
    std::size_t zeros = 0;
    std::optional<double> stddev_sample, stddev_population;  // in the unit
    std::optional<double> stddev_pct;                        // sample, % of |mean|; null at mean 0
    std::optional<double> half_range_pct;                    // (max-min)/2 in % of |median|
    std::optional<Interval> ci95;                            // of the median, order statistics
    double ci95_coverage = 0;                                // what that interval really covers
};
Summary summarize(std::span<const double> values);

struct Test {
    std::string name;      // "exact Mann-Whitney", "exact permutation (ties)", "Monte Carlo …"
    double p = 1;
    double best_attainable_p = 1;  // smallest p that these sizes (and ties) allow
    std::uint64_t resamples = 0;   // 0: exact
};
// Two-sided. Without ties from the cached exact null distribution of U; with ties by exact
// permutation of midranks, beyond 2^16 arrangements by Monte Carlo from `seed`.
Test mann_whitney(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 1);
// Two-sided Fisher's exact test of k1 of n1 against k2 of n2 (sum of tables no likelier).
Test fisher_exact(std::uint64_t k1, std::uint64_t n1, std::uint64_t k2, std::uint64_t n2);

// Median of all pairwise differences b - a, and its interval from the exact U distribution.
struct Shift {
    double estimate = 0;
    std::optional<Interval> ci95;
    double coverage = 0;
};
std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b);

std::vector<double> holm(std::span<const double> p);
std::vector<double> benjamini_hochberg(std::span<const double> p);

enum class Verdict : std::uint8_t {
    better, worse, no_change, inconclusive, too_few, not_comparable, mixed
};
std::string_view name_of(Verdict verdict);  // "no-change" …

struct Comparison {
    std::optional<double> mean_pct, median_pct, total_pct;  // null when the base is 0
    std::optional<Shift> shift;
    Test test;
    std::optional<double> p_adjusted;
    std::string family;                      // "primary", "secondary (Holm)", "others (BH)"
    std::optional<double> detectable_pct;    // smallest change that n would have shown, key metrics
    bool identical = false;                  // all values of both arms equal
    bool base_constant = false, other_constant = false;
};
// Estimates and the test; p_adjusted and family are the caller's (they need the whole family).
Comparison compare(std::span<const double> base, std::span<const double> other,
                   std::uint64_t seed = 1);
// Smallest shift, in % of the base's median, that the rank test would have found with 80 % power at
// alpha with these sizes, by simulation on the pooled centred data from `seed`.
std::optional<double> detectable_pct(std::span<const double> base, std::span<const double> other,
                                     double alpha, std::uint64_t seed = 1);

// What makes a verdict out of a comparison (docs/methods.md has the table).
struct Judgement {
    double alpha = 0.05;
    int direction = 0;       // +1: higher is better, -1: lower is better, 0: neither
    double margin = 0;       // absolute equivalence margin, in the unit
    double floor = 0;        // absolute: shifts below it aren't news
};
Verdict judge(const Comparison& comparison, double adjusted_best_attainable_p,
              const Summary& base, const Summary& other, const Judgement& judgement);

// Trials per arm from which the rank test can reach p ≤ alpha with equal sizes.
std::size_t trials_needed(double alpha);

}  // namespace mano::stats
