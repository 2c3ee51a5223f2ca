// SPDX-License-Identifier: GPL-2.0-or-later
// Comparison and verdict. docs/methods.md has the table of verdicts that judge() implements.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/rng.h"
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

// Smallest c with P(U ≥ c) ≤ alpha / 2; 0: not even the farthest U is that rare.
std::size_t critical_u(std::size_t n, std::size_t m, double alpha) {
    const std::size_t pairs = n * m;
    if (const auto null = null_distribution(n, m)) {
        std::size_t below = 0;  // number of u with P(U ≤ u) ≤ alpha / 2; the tails are alike
        while (below < null->size() && (*null)[below] <= alpha / 2)
            ++below;
        return below == 0 ? 0 : pairs - (below - 1);
    }
    const double sigma =
        std::sqrt(static_cast<double>(pairs) * static_cast<double>(n + m + 1) / 12);
    // Upper normal quantile by bisection: called for huge samples only.
    double low = 0;
    double high = 40;
    for (int step = 0; step < 100; ++step) {
        const double middle = (low + high) / 2;
        (std::erfc(middle / std::sqrt(2.0)) > alpha ? low : high) = middle;
    }
    const double c = std::ceil(static_cast<double>(pairs) / 2 + high * sigma + 0.5);
    return c > static_cast<double>(pairs) ? 0 : static_cast<std::size_t>(c);
}

std::vector<double> centred(std::span<const double> base, std::span<const double> other) {
    std::vector<double> pool;
    pool.reserve(base.size() + other.size());
    const double base_median = *median(base);
    const double other_median = *median(other);
    for (const double value : base)
        pool.push_back(value - base_median);
    for (const double value : other)
        pool.push_back(value - other_median);
    return pool;
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

Comparison compare(std::span<const double> base, std::span<const double> other,
                   std::uint64_t seed) {
    Comparison result;
    const Summary from = summarize(base);
    const Summary to = summarize(other);
    result.mean_pct = percent(from.mean, to.mean);
    result.median_pct = percent(from.median, to.median);
    // Totals of different numbers of trials differ by that alone.
    if (from.n == to.n) result.total_pct = percent(from.total, to.total);
    if (from.mean && to.mean) result.mean_difference = *to.mean - *from.mean;
    result.shift = hodges_lehmann(base, other);
    result.base_constant = constant(base);
    result.other_constant = constant(other);
    result.identical = !base.empty() && !other.empty() && *from.minimum == *from.maximum &&
                       *to.minimum == *to.maximum && *from.minimum == *to.minimum;
    result.zero_inflated = zero_inflated(from, to);
    const bool both_constant = result.base_constant && result.other_constant;
    if (!base.empty() && !other.empty() && !both_constant) {
        result.test = mann_whitney(base, other, seed);
    }
    return result;
}

std::optional<double> detectable_pct(std::span<const double> base, std::span<const double> other,
                                     double alpha, std::uint64_t seed) {
    constexpr std::size_t kRounds = 1000;
    constexpr double kPower = 0.8;
    if (base.empty() || other.empty() || base.size() > kExactPairs / other.size()) {
        return std::nullopt;
    }
    const double scale = std::fabs(*median(base));
    const std::size_t c = critical_u(base.size(), other.size(), alpha);
    if (scale == 0 || c == 0) return std::nullopt;
    const std::vector<double> pool = centred(base, other);
    if (std::all_of(pool.begin(), pool.end(), [&](double value) { return value == pool[0]; })) {
        return std::nullopt;
    }
    // In each simulated pair of samples the test says yes from that shift on at which U reaches c:
    // the c-th smallest difference. No search over shifts is needed.
    Rng rng(seed);
    std::vector<double> a(base.size());
    std::vector<double> b(other.size());
    std::vector<double> differences(base.size() * other.size());
    std::vector<double> needed(kRounds);
    for (double& shift : needed) {
        for (double& value : a)
            value = pool[rng.below(pool.size())];
        for (double& value : b)
            value = pool[rng.below(pool.size())];
        std::size_t next = 0;
        for (const double x : a) {
            for (const double y : b)
                differences[next++] = x - y;
        }
        const auto nth = differences.begin() + static_cast<std::ptrdiff_t>(c - 1);
        std::nth_element(differences.begin(), nth, differences.end());
        shift = std::max(0.0, *nth);
    }
    const auto at = needed.begin() + static_cast<std::ptrdiff_t>(kPower * kRounds) - 1;
    std::nth_element(needed.begin(), at, needed.end());
    return 100 * *at / scale;
}

Ruling judge(const Comparison& comparison, double adjusted_best_attainable_p, const Summary& base,
             const Summary& other, const Judgement& judgement) {
    if (base.n == 0 || other.n == 0 || !comparison.shift) {
        return {Verdict::too_few, Reason::no_values};
    }
    const double bound = std::max(judgement.margin, judgement.floor);
    const double shift = comparison.shift->estimate;
    const bool interval_inside = comparison.shift->ci95 && inside(*comparison.shift->ci95, bound);
    const bool means_agree =
        !comparison.zero_inflated || std::fabs(comparison.mean_difference.value_or(0)) <= bound;
    bool below_floor = false;
    if (comparison.test) {
        const double p = comparison.p_adjusted.value_or(comparison.test->p);
        // Of zero-inflated values the shift's estimate can be 0 although the samples differ: then
        // the means say which way.
        const double effect =
            shift == 0 && comparison.zero_inflated ? comparison.mean_difference.value_or(0) : shift;
        if (p <= judgement.alpha && effect != 0) {
            below_floor = std::fabs(effect) <= judgement.floor;
            if (!below_floor && judgement.direction == 0) {
                return {Verdict::inconclusive, Reason::no_direction};
            }
            if (!below_floor) {
                const bool good = (effect > 0) == (judgement.direction > 0);
                return {good ? Verdict::better : Verdict::worse,
                        interval_inside ? Reason::significant_inside : Reason::significant};
            }
        }
    }
    if (interval_inside && means_agree) return {Verdict::no_change, Reason::inside_margin};
    if (interval_inside) return {Verdict::inconclusive, Reason::totals_differ};
    if (below_floor) return {Verdict::inconclusive, Reason::below_floor};
    if (!comparison.shift->ci95) return {Verdict::too_few, Reason::sizes_too_small};
    if (!comparison.test) return {Verdict::inconclusive, Reason::identical_outcomes};
    if (adjusted_best_attainable_p > judgement.alpha) {
        return {Verdict::too_few, Reason::sizes_too_small};
    }
    return {Verdict::inconclusive, Reason::not_significant};
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
