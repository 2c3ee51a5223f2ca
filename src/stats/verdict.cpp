// SPDX-License-Identifier: GPL-2.0-or-later
// Comparison and verdict. docs/methods.md has the table of verdicts that judge() implements.
#include <algorithm>
#include <array>
#include <cmath>

#include "stats/bootstrap.h"
#include "stats/permutation.h"
#include "stats/power.h"
#include "stats/sorted.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

bool constant(std::span<const double> values) {
    return values.size() > 1 && std::all_of(values.begin(), values.end(),
                                            [&](double value) { return value == values[0]; });
}

std::optional<double> percent(std::optional<double> base, std::optional<double> other) {
    if (!base || !other || *base == 0) return std::nullopt;
    const double change = 100 * (*other - *base) / std::fabs(*base);
    return std::isfinite(change) ? std::optional(change) : std::nullopt;
}

bool zero_inflated(const Summary& base, const Summary& other) {
    if (base.n == 0 || other.n == 0 || *base.minimum < 0 || *other.minimum < 0) return false;
    const std::size_t zeros = base.zeros + other.zeros;
    const std::size_t all = base.n + other.n;
    return zeros < all && zeros * 4 >= all;
}

bool inside(const Interval& interval, double bound) {
    return interval.first >= -bound && interval.second <= bound;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::better:
            return "better";
        case Verdict::worse:
            return "worse";
        case Verdict::no_change:
            return "no-change";
        case Verdict::inconclusive:
            return "inconclusive";
        case Verdict::too_few:
            return "too-few";
        case Verdict::not_comparable:
            return "not-comparable";
        case Verdict::mixed:
            return "mixed";
    }
    return "inconclusive";
}

std::string_view sentence_of(Gap gap) {
    switch (gap) {
        case Gap::none:
            return "";
        case Gap::too_few:
            return "too few values for an interval";
        case Gap::zero_base:
            return "the base may be 0, so that a ratio has no bound";
        case Gap::mostly_zero:
            return "too few values that aren't 0";
        case Gap::constant:
            return "all values are equal";
    }
    return "";
}

Comparison compare(std::span<const double> base, std::span<const double> other, std::uint64_t seed,
                   Depth depth) {
    Comparison result;
    const std::vector<double> a = sorted(base);
    const std::vector<double> b = sorted(other);
    const Summary from = summarize_sorted(a);
    const Summary to = summarize_sorted(b);
    result.mean_pct = percent(from.mean, to.mean);
    result.median_pct = percent(from.median, to.median);
    // Totals of different numbers of trials differ by that alone.
    if (from.n == to.n) result.total_pct = percent(from.total, to.total);
    if (from.mean && to.mean) result.mean_difference = *to.mean - *from.mean;
    result.shift = hodges_lehmann_sorted(a, b);
    result.base_constant = constant(a);
    result.other_constant = constant(b);
    result.identical = !base.empty() && !other.empty() && *from.minimum == *from.maximum &&
                       *to.minimum == *to.maximum && *from.minimum == *to.minimum;
    result.from_zero = from.n > 0 && to.n > 0 && from.zeros == from.n && to.zeros < to.n;
    result.zero_inflated = zero_inflated(from, to);
    const bool both_constant = result.base_constant && result.other_constant;
    if (!base.empty() && !other.empty() && !both_constant) {
        const Effort effort = depth == Depth::full ? Effort{} : kQuick;
        if (result.zero_inflated) {
            CountTests tests = count_tests(a, b, seed, effort);
            result.totals_test = std::move(tests.totals);
            result.zeros_test = std::move(tests.zeros);
            result.test = std::move(tests.both);
        } else {
            result.test = mann_whitney_sorted(a, b, seed);
        }
    }
    if (depth == Depth::full) {
        result.median_pct_ci95 = median_change_pct(a, b, seed);
        result.total_pct_ci95 = mean_change_pct(a, b, seed);
        result.mean_difference_ci95 = mean_difference(a, b, seed).ci95;
    }
    return result;
}

std::optional<double> detectable_pct(std::span<const double> base, std::span<const double> other,
                                     double alpha, std::uint64_t seed) {
    if (base.empty() || other.empty()) return std::nullopt;
    const double scale = std::fabs(*median(base));
    const std::array samples = {std::vector<double>(base.begin(), base.end()),
                                std::vector<double>(other.begin(), other.end())};
    const auto shift =
        detectable_shift(pooled_spread(samples), base.size(), other.size(), alpha, seed);
    if (!shift || scale == 0) return std::nullopt;
    return 100 * *shift / scale;
}

Ruling judge(const Comparison& comparison, double adjusted_best_attainable_p, const Summary& base,
             const Summary& other, const Judgement& judgement) {
    if (base.n == 0 || other.n == 0 || !comparison.shift) {
        return {Verdict::too_few, Reason::no_values};
    }
    const double bound = std::max(judgement.margin, judgement.floor);
    const double shift = comparison.shift->estimate;
    const bool interval_inside = comparison.shift->ci95 && inside(*comparison.shift->ci95, bound);
    // Of zero-inflated values the medians say little: their means must be known to agree.
    const bool means_agree =
        !comparison.zero_inflated ||
        (comparison.mean_difference_ci95 && inside(*comparison.mean_difference_ci95, bound)) ||
        (!comparison.mean_difference_ci95 && judgement.floor > 0 &&
         std::max(*base.maximum, *other.maximum) <= judgement.floor);
    bool below_floor = false;
    bool below_placebo = false;
    if (comparison.test) {
        const double p = comparison.p_adjusted.value_or(comparison.test->p);
        // Of zero-inflated values the shift's estimate can be 0 although the samples differ: then
        // the means say which way.
        const double effect =
            shift == 0 && comparison.zero_inflated ? comparison.mean_difference.value_or(0) : shift;
        if (p <= judgement.alpha && effect != 0) {
            below_floor = std::fabs(effect) <= judgement.floor;
            below_placebo = !below_floor && std::fabs(effect) <= judgement.placebo;
            const bool news = !below_floor && !below_placebo;
            if (news && judgement.direction == 0) {
                return {Verdict::inconclusive, Reason::no_direction};
            }
            if (news) {
                const bool good = (effect > 0) == (judgement.direction > 0);
                return {good ? Verdict::better : Verdict::worse,
                        interval_inside ? Reason::significant_inside : Reason::significant};
            }
        }
    }
    if (interval_inside && means_agree) return {Verdict::no_change, Reason::inside_margin};
    if (interval_inside) return {Verdict::inconclusive, Reason::totals_differ};
    if (below_floor) return {Verdict::inconclusive, Reason::below_floor};
    if (below_placebo) return {Verdict::inconclusive, Reason::below_placebo};
    if (!comparison.shift->ci95) return {Verdict::too_few, Reason::sizes_too_small};
    if (!comparison.test) return {Verdict::inconclusive, Reason::identical_outcomes};
    if (adjusted_best_attainable_p > judgement.alpha) {
        return {Verdict::too_few, Reason::sizes_too_small};
    }
    return {Verdict::inconclusive, Reason::not_significant};
}

std::string_view code_of(Reason reason) {
    switch (reason) {
        case Reason::significant:
            return "significant";
        case Reason::significant_inside:
            return "inside-margin";
        case Reason::inside_margin:
            return "within-margin";
        case Reason::below_floor:
            return "below-floor";
        case Reason::below_placebo:
            return "below-placebo";
        case Reason::no_direction:
            return "no-direction";
        case Reason::identical_outcomes:
            return "identical-outcomes";
        case Reason::totals_differ:
            return "totals-differ";
        case Reason::not_significant:
            return "not-significant";
        case Reason::sizes_too_small:
            return "too-few";
        case Reason::no_values:
            return "no-values";
    }
    return "not-significant";
}

Verdict combine(std::span<const Verdict> verdicts) {
    const auto any = [&](Verdict wanted) {
        return std::find(verdicts.begin(), verdicts.end(), wanted) != verdicts.end();
    };
    if (verdicts.empty()) return Verdict::too_few;
    if (any(Verdict::mixed) || (any(Verdict::better) && any(Verdict::worse))) {
        return Verdict::mixed;
    }
    constexpr std::array kOrder = {Verdict::worse,   Verdict::better,       Verdict::not_comparable,
                                   Verdict::too_few, Verdict::inconclusive, Verdict::no_change};
    for (const Verdict verdict : kOrder) {
        if (any(verdict)) return verdict;
    }
    return Verdict::inconclusive;
}

std::size_t trials_needed(double alpha) {
    if (!(alpha > 0)) return 0;
    double best = 1;  // 2 / C(2n, n)
    std::size_t n = 1;
    for (; best > alpha && n < 1000; ++n) {
        // C(2n+2, n+1) = C(2n, n) · 2 (2n + 1) / (n + 1)
        best *= static_cast<double>(n + 1) / (2 * (2 * static_cast<double>(n) + 1));
    }
    return n;
}

}  // namespace mano::stats
