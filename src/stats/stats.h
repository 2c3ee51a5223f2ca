// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers → estimates, intervals, tests, verdicts. Knows no names: no metric, no kernel, no trial.
// Called by the report (and by whoever decides when to stop). All values handed in must be finite.
// Everything here is a pure function of its arguments, seeds included, and thread-safe.
// Sources of each rule: docs/methods.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
    std::optional<double> half_range_pct;  // (max-min)/2 in % of |median|; null at median 0
    std::optional<Interval> ci95;          // of the median, order statistics; null below n = 6
    double ci95_coverage = 0;              // what that interval really covers; 0 without one
};
Summary summarize(std::span<const double> values);
std::optional<double> median(std::span<const double> values);

struct Test {
    std::string name;              // "exact Mann-Whitney", "… (ties)", "Monte Carlo …"
    double p = 1;                  // two-sided
    double best_attainable_p = 1;  // smallest p that these sizes (and ties) allow
    std::uint64_t resamples = 0;   // 0: no resampling
};

// P(U ≤ u) for u = 0 … n·m of untied samples of n and m values. Exact in doubles; kept in a bounded
// cache. nullptr when n·m is beyond kExactPairs (use the normal approximation there) or 0.
constexpr std::size_t kExactPairs = 4096;
std::shared_ptr<const std::vector<double>> null_distribution(std::size_t n, std::size_t m);

// Two-sided: the probability of a rank sum at least as far from its expectation. Without ties from
// the cached exact distribution of U (n·m ≤ kExactPairs). With ties exact too, by counting the
// subsets of the midranks with each sum, without listing them; where that takes longer than
// resampling (about 60 values an arm), by Monte Carlo from `seed`. Above 400 values the normal
// approximation with continuity and tie correction. Test::name says which. An empty sample: p = 1
// and name "none".
Test mann_whitney(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 1);
// Two-sided Fisher's exact test of k1 of n1 against k2 of n2 (sum of tables no likelier, with a
// relative tolerance of 1e-7, as R does). k > n is clamped to n.
Test fisher_exact(std::uint64_t k1, std::uint64_t n1, std::uint64_t k2, std::uint64_t n2);

// Median of all pairwise differences b - a, and its interval from the exact U distribution
// (conservative with ties). nullopt when a sample is empty; no interval when n is too small for 95
// %.
struct Shift {
    double estimate = 0;
    std::optional<Interval> ci95;
    double coverage = 0;
};
std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b);

// Adjusted p-values in the order given, each at most 1.
std::vector<double> holm(std::span<const double> p);
std::vector<double> benjamini_hochberg(std::span<const double> p);

enum class Verdict : std::uint8_t {
    better,
    worse,
    no_change,
    inconclusive,
    too_few,
    not_comparable,
    mixed
};
std::string_view name_of(Verdict verdict);  // "no-change" …

// Why there is no interval, where there is none.
enum class Gap : std::uint8_t {
    none,         // there is one
    too_few,      // fewer values than the method needs
    zero_base,    // resamples of the base may be 0: the ratio has no upper bound
    mostly_zero,  // too few values that aren't 0 to know how the others would come out
    constant,     // all values equal: nothing to resample
};
std::string_view sentence_of(Gap gap);  // "" for none
struct Bootstrap {
    std::optional<Interval> ci95;
    Gap gap = Gap::none;
    std::uint32_t resamples = 0;  // 0 without an interval
};

// Two samples whose values belong together one by one (equal seeds).
struct Paired {
    std::size_t pairs = 0;
    std::optional<double>
        correlation;  // Spearman's, between the two sides; null: a side is constant
    Test test;
    // Hodges and Lehmann's: the median of the averages of every two differences.
    double shift = 0;
    std::optional<Interval> shift_ci95;
};

struct Comparison {
    std::optional<double> mean_pct, median_pct;  // null when the base is 0
    std::optional<double> total_pct;             // also null when the sizes differ
    std::optional<double> mean_difference;       // other - base, in the unit
    // BCa; only at full depth, null where bootstrap.h says that there is none.
    std::optional<Interval> mean_difference_ci95;
    std::optional<Shift> shift;
    // nullopt: a sample is empty, or each arm is constant (no p-value is made from that alone).
    std::optional<Test> test;
    std::optional<double> p_adjusted;
    std::string family;                    // "primary", "secondary (Holm)", "others (BH)"
    std::optional<double> detectable_pct;  // smallest change that n would have shown, key metrics
    std::optional<double> detectable;      // the same in the unit; also where the base is 0
    bool from_zero = false;  // every value of the base is 0, not every one of the other: "new"
    // Of zero-inflated values: their permutation test on totals and Fisher's on numbers of zeros;
    // `test` is then made of both.
    std::optional<Test> totals_test, zeros_test;
    // BCa, of the changes in % of median and total; nullopt: not asked for (key metrics only).
    std::optional<Bootstrap> median_pct_ci95, total_pct_ci95;
    std::optional<Paired> paired;  // where pairs were planned; `test` and `shift` are then its
    bool identical = false;        // all values of both arms equal
    bool base_constant = false, other_constant = false;  // all (at least two) values equal
    bool zero_inflated = false;  // no value negative, at least a quarter of all zero, not all
};
// Estimates and the test; p_adjusted, family, detectable and paired are the caller's (they need the
// whole family or plan). `quick` for the hundreds of rows beside the key metrics: fewer
// resamplings, no bootstrap intervals.
enum class Depth : std::uint8_t { quick, full };
Comparison compare(std::span<const double> base, std::span<const double> other,
                   std::uint64_t seed = 1, Depth depth = Depth::quick);
// Smallest shift, in % of the base's |median|, that the rank test would have found with 80 % power
// at alpha with these sizes, by simulation on the pooled centred data from `seed`. nullopt when the
// sizes can't reach alpha, the base's median is 0, or no value differs from another.
std::optional<double> detectable_pct(std::span<const double> base, std::span<const double> other,
                                     double alpha, std::uint64_t seed = 1);

// What makes a verdict out of a comparison (docs/methods.md has the table).
struct Judgement {
    double alpha = 0.05;
    int direction = 0;   // +1: higher is better, -1: lower is better, 0: neither
    double margin = 0;   // absolute equivalence margin, in the unit
    double floor = 0;    // absolute: shifts up to it aren't news
    double placebo = 0;  // absolute: how far the base lies from itself in another layout
};
// Why a verdict is what it is; several may be true, the first that decides is given.
enum class Reason : std::uint8_t {
    significant,         // p ≤ alpha, beyond the floor, with a direction
    significant_inside,  // the same, but the whole interval lies inside the margin
    inside_margin,       // no-change: the interval lies inside ±margin or ±floor
    below_floor,         // p ≤ alpha, but the shift is no more than the floor
    below_placebo,       // the same, but equal kernels of two layouts lie as far apart
    no_direction,        // p ≤ alpha, but neither direction is better
    identical_outcomes,  // each arm gave one value only, and they differ: no p-value
    totals_differ,       // zero-inflated: medians agree; means don't, or it can't be known
    not_significant,     // p > alpha and the interval is wider than the margin
    sizes_too_small,     // no arrangement of these values could reach alpha
    no_values,           // an arm has no known value
};
std::string_view code_of(Reason reason);  // "significant", "below-floor" …
struct Ruling {
    Verdict verdict = Verdict::inconclusive;
    Reason reason = Reason::not_significant;
};
// Uses comparison.p_adjusted, or test->p where that isn't set.
Ruling judge(const Comparison& comparison, double adjusted_best_attainable_p, const Summary& base,
             const Summary& other, const Judgement& judgement);

// One verdict out of several (cases, arms): mixed when one is better and another worse; else worse
// or better if any is; else no-change if all are; else what kept an answer from being had, first
// not-comparable, then too-few, then inconclusive. Nothing at all is too-few.
Verdict combine(std::span<const Verdict> verdicts);

// Trials per arm from which the rank test can reach p ≤ alpha with equal sizes. alpha ≤ 0 gives 0.
std::size_t trials_needed(double alpha);

}  // namespace mano::stats
