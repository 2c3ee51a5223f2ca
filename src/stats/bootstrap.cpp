// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/bootstrap.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "base/rng.h"
#include "stats/sorted.h"

namespace mano::stats {
namespace {

// A number drawn with given weights in one step (Walker 1977, Vose 1991).
class Alias {
  public:
    explicit Alias(const std::vector<double>& weights)
        : keep_(weights.size(), ~std::uint64_t{0}), other_(weights.size()) {
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        const auto n = static_cast<double>(weights.size());
        std::vector<double> scaled(weights.size());
        std::vector<std::size_t> small;
        std::vector<std::size_t> large;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            scaled[i] = weights[i] / sum * n;
            other_[i] = static_cast<std::uint32_t>(i);
            (scaled[i] < 1 ? small : large).push_back(i);
        }
        while (!small.empty() && !large.empty()) {
            const std::size_t low = small.back();
            const std::size_t high = large.back();
            small.pop_back();
            keep_[low] = static_cast<std::uint64_t>(std::max(0.0, scaled[low]) * 0x1.0p32) << 32;
            other_[low] = static_cast<std::uint32_t>(high);
            scaled[high] -= 1 - scaled[low];
            if (scaled[high] < 1) {
                large.pop_back();
                small.push_back(high);
            }
        }
    }
    std::uint32_t draw(Rng& rng) const {
        const std::uint64_t bits = rng.next();
        const auto at = static_cast<std::uint32_t>((bits >> 32) * keep_.size() >> 32);
        return bits << 32 < keep_[at] ? at : other_[at];
    }

  private:
    std::vector<std::uint64_t> keep_;
    std::vector<std::uint32_t> other_;
};

// The median of n values drawn with putting back from n sorted ones is the mean of the i-th and
// j-th of them (i = j for odd n), and how likely each pair is depends on n alone. So a resample's
// median takes one draw instead of n and a selection.
struct MedianDraw {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    Alias alias;
};

double power(double base, std::size_t exponent) {
    return std::pow(base, static_cast<double>(exponent));
}

// P(at least k of n draws are among the first i of n).
double at_least(std::size_t n, std::size_t k, std::size_t i) {
    const double p = static_cast<double>(i) / static_cast<double>(n);
    double sum = 0;
    for (std::size_t j = k; j <= n; ++j)
        sum += choose(n, j) * power(p, j) * power(1 - p, n - j);
    return sum;
}

std::shared_ptr<const MedianDraw> make_median_draw(std::size_t n) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::vector<double> weights;
    const std::size_t k = (n + 1) / 2;  // the (lower) middle one of n
    const auto whole = static_cast<double>(n);
    for (std::size_t i = 1; i <= n; ++i) {
        const double here = at_least(n, k, i) - at_least(n, k, i - 1);
        double apart = 0;
        for (std::size_t j = i + 1; n % 2 == 0 && j <= n; ++j) {
            // Half of the draws at i or below, one at least at i; the others likewise at j or
            // above.
            const auto step = [&](std::size_t from) {
                return power(static_cast<double>(from) / whole, k) -
                       power(static_cast<double>(from - 1) / whole, k);
            };
            const double share = choose(n, k) * step(i) * step(n - j + 1);
            pairs.emplace_back(i - 1, j - 1);
            weights.push_back(share);
            apart += share;
        }
        pairs.emplace_back(i - 1, i - 1);
        weights.push_back(std::max(0.0, here - apart));
    }
    return std::make_shared<const MedianDraw>(MedianDraw{std::move(pairs), Alias(weights)});
}

constexpr std::size_t kDrawnByTable = 64;
std::shared_ptr<const MedianDraw> median_draw(std::size_t n) {
    static std::mutex mutex;
    static std::map<std::size_t, std::shared_ptr<const MedianDraw>> cache;
    const std::lock_guard lock(mutex);
    auto& entry = cache[n];
    if (!entry) entry = make_median_draw(n);
    return entry;
}

double median_of(std::span<const double> sorted) {
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : sorted[half - 1] / 2 + sorted[half] / 2;
}

// Medians of resamples of the sorted values.
std::vector<double> resampled_medians(std::span<const double> values, Rng& rng,
                                      std::uint32_t count) {
    std::vector<double> medians(count);
    const std::size_t n = values.size();
    if (n <= kDrawnByTable) {
        const auto draw = median_draw(n);
        std::vector<double> of_pair;
        for (const auto& [i, j] : draw->pairs)
            of_pair.push_back(values[i] / 2 + values[j] / 2);
        for (double& median : medians)
            median = of_pair[draw->alias.draw(rng)];
        return medians;
    }
    std::vector<std::uint32_t> times(n);  // how often each value was drawn
    for (double& median : medians) {
        std::fill(times.begin(), times.end(), 0U);
        for (std::size_t i = 0; i < n; ++i)
            ++times[rng.below(n)];
        const auto at = [&](std::size_t rank) {  // 0-based
            std::size_t index = 0;
            for (std::size_t seen = times[0]; seen <= rank; seen += times[++index]) {
            }
            return values[index];
        };
        median = n % 2 == 1 ? at(n / 2) : at(n / 2 - 1) / 2 + at(n / 2) / 2;
    }
    return medians;
}

std::vector<double> resampled_means(std::span<const double> values, Rng& rng, std::uint32_t count) {
    std::vector<double> means(count);
    const std::uint64_t n = values.size();
    for (double& mean : means) {
        double sum = 0;
        std::size_t i = 0;
        // Two draws from one number: with 32 bits each a value's share is off by n/2^32.
        for (; i + 1 < n; i += 2) {
            const std::uint64_t bits = rng.next();
            sum += values[(bits >> 32) * n >> 32] + values[(bits & 0xffffffffU) * n >> 32];
        }
        if (i < n) sum += values[rng.below(n)];
        mean = sum / static_cast<double>(n);
    }
    return means;
}

double change(double base, double other) {
    return 100 * (other - base) / std::fabs(base);
}

bool constant(std::span<const double> sorted) {
    return sorted.front() == sorted.back();
}

using Statistic = double (*)(std::span<const double>);
double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The statistic with each value left out in turn.
std::vector<double> jackknife(std::span<const double> values, Statistic statistic) {
    std::vector<double> results;
    std::vector<double> rest(values.begin() + 1, values.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
        results.push_back(statistic(rest));
        if (i < rest.size()) rest[i] = values[i];
    }
    return results;
}

// Resampled means of few values spread too little, by the factor (n - 1)/n in their variance, and
// quantiles of a normal distribution are too narrow where the spread itself is estimated. The level
// that makes up for both (Hesterberg 2015, "expanded percentile interval"; degrees of freedom by
// Welch and Satterthwaite, from the influence of each value).
double widened_level(std::span<const std::vector<double>> left_out) {
    double variance = 0;
    double of_freedom = 0;  // 1 / degrees
    double shortfall = 0;
    for (const std::vector<double>& values : left_out) {
        const auto n = static_cast<double>(values.size());
        const double mean = mean_of(values);
        double squares = 0;
        for (const double value : values)
            squares += (mean - value) * (mean - value);
        const double own = squares * (n - 1) / n;
        variance += own;
        of_freedom += own * own / (n - 1);
        shortfall += own * (n - 1) / n;
    }
    if (!(variance > 0) || !std::isfinite(of_freedom) || !(of_freedom > 0)) return 0.95;
    const boost::math::students_t student(variance * variance / of_freedom);
    const double t = boost::math::quantile(student, 0.975) * std::sqrt(variance / shortfall);
    return 2 * boost::math::cdf(boost::math::normal(), t) - 1;
}

Bootstrap interval_of(std::span<const double> base, std::span<const double> other,
                      Statistic statistic, const std::vector<double>& of_base,
                      const std::vector<double>& of_other) {
    // A base that comes out as 0, or on the other side of 0, in more than 1 % of the resamples: the
    // ratio says nothing.
    constexpr double kMostZero = 0.01;
    const double estimate_base = statistic(base);
    const double estimate_other = statistic(other);
    std::size_t bad = 0;
    std::vector<double> changes;
    changes.reserve(of_base.size());
    for (std::size_t i = 0; i < of_base.size(); ++i) {
        if (of_base[i] * estimate_base > 0) {
            changes.push_back(change(of_base[i], of_other[i]));
        } else {
            ++bad;
        }
    }
    if (static_cast<double>(bad) > kMostZero * static_cast<double>(of_base.size())) {
        return {std::nullopt, Gap::zero_base, 0};
    }
    std::vector<std::vector<double>> left_out(2);
    for (const double without : jackknife(base, statistic)) {
        if (without * estimate_base <= 0) return {std::nullopt, Gap::zero_base, 0};
        left_out[0].push_back(change(without, estimate_other));
    }
    for (const double without : jackknife(other, statistic))
        left_out[1].push_back(change(estimate_base, without));
    Bootstrap result;
    result.resamples = static_cast<std::uint32_t>(changes.size());
    const double level = statistic == mean_of ? widened_level(left_out) : 0.95;
    result.ci95 =
        bca_interval(std::move(changes), change(estimate_base, estimate_other), left_out, level);
    if (!result.ci95) return {std::nullopt, Gap::constant, 0};
    return result;
}

std::size_t non_zero(std::span<const double> values) {
    return values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0));
}

// Of ascending values, between the neighbours of the place that `share` falls on; `values` is
// reordered.
double quantile(std::vector<double>& values, double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(std::floor(place));
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(low);
    std::nth_element(values.begin(), at, values.end());
    if (low + 1 >= values.size()) return *at;
    const double next = *std::min_element(at + 1, values.end());
    return *at + (next - *at) * (place - static_cast<double>(low));
}

// How the spread of the estimate grows with the estimate, from the influence of each value (Efron
// 1987); 0: none of them has any.
double acceleration_of(std::span<const std::vector<double>> left_out) {
    std::vector<double> influences;  // each by its sample's size
    double largest = 0;
    for (const std::vector<double>& values : left_out) {
        const auto n = static_cast<double>(values.size());
        const double mean = mean_of(values);
        for (const double value : values) {
            influences.push_back((n - 1) / n * (mean - value));
            largest = std::max(largest, std::fabs(influences.back()));
        }
    }
    if (largest == 0) return 0;
    double cubes = 0;
    double squares = 0;
    for (const double influence : influences) {
        // Relative to the largest: cubes of huge values would overflow.
        const double share = influence / largest;
        cubes += share * share * share;
        squares += share * share;
    }
    return cubes / std::pow(squares, 1.5) / 6;
}

}  // namespace

std::optional<Interval> bca_interval(std::vector<double> resampled, double estimate,
                                     std::span<const std::vector<double>> left_out, double level) {
    if (resampled.empty()) return std::nullopt;
    double below = 0;
    bool finite = std::isfinite(estimate);
    for (const double value : resampled) {
        below += value < estimate ? 1 : value == estimate ? 0.5 : 0;
        finite = finite && std::isfinite(value);
    }
    const double share = below / static_cast<double>(resampled.size());
    if (!finite || share <= 0 || share >= 1) return std::nullopt;
    const double acceleration = acceleration_of(left_out);
    const boost::math::normal normal;
    const double bias = boost::math::quantile(normal, share);
    const auto corrected = [&](double tail) {
        const double z = bias + boost::math::quantile(normal, tail);
        const double at = bias + z / (1 - acceleration * z);
        // The library throws at what isn't finite.
        return std::isfinite(at) ? boost::math::cdf(normal, at) : std::nan("");
    };
    const double low = corrected((1 - level) / 2);
    const double high = corrected((1 + level) / 2);
    if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
    const Interval interval{quantile(resampled, low), quantile(resampled, high)};
    if (interval.first == interval.second) return std::nullopt;
    return interval;
}

Bootstrap median_change_pct(std::span<const double> base, std::span<const double> other,
                            std::uint64_t seed, std::uint32_t resamples) {
    if (base.size() < kFewestForMedian || other.size() < kFewestForMedian) {
        return {std::nullopt, Gap::too_few, 0};
    }
    const std::vector<double> a = sorted(base);
    const std::vector<double> b = sorted(other);
    if (median_of(a) == 0) return {std::nullopt, Gap::zero_base, 0};
    if (constant(a) && constant(b)) return {std::nullopt, Gap::constant, 0};
    Rng of_base = Rng(seed).split(0);
    Rng of_other = Rng(seed).split(1);
    return interval_of(a, b, median_of, resampled_medians(a, of_base, resamples),
                       resampled_medians(b, of_other, resamples));
}

Bootstrap mean_change_pct(std::span<const double> base, std::span<const double> other,
                          std::uint64_t seed, std::uint32_t resamples) {
    if (base.size() < kFewestForMean || other.size() < kFewestForMean) {
        return {std::nullopt, Gap::too_few, 0};
    }
    if (mean_of(base) == 0) return {std::nullopt, Gap::zero_base, 0};
    const std::vector<double> a = sorted(base);
    const std::vector<double> b = sorted(other);
    if (constant(a) && constant(b)) return {std::nullopt, Gap::constant, 0};
    if (std::min(non_zero(a), non_zero(b)) < kFewestNonZero) {
        return {std::nullopt, Gap::mostly_zero, 0};
    }
    Rng of_base = Rng(seed).split(0);
    Rng of_other = Rng(seed).split(1);
    return interval_of(a, b, mean_of, resampled_means(a, of_base, resamples),
                       resampled_means(b, of_other, resamples));
}

Bootstrap mean_difference(std::span<const double> base, std::span<const double> other,
                          std::uint64_t seed, std::uint32_t resamples) {
    if (base.size() < kFewestForMean || other.size() < kFewestForMean) {
        return {std::nullopt, Gap::too_few, 0};
    }
    const std::vector<double> a = sorted(base);
    const std::vector<double> b = sorted(other);
    if (constant(a) && constant(b)) return {std::nullopt, Gap::constant, 0};
    if (std::min(non_zero(a), non_zero(b)) < kFewestNonZero) {
        return {std::nullopt, Gap::mostly_zero, 0};
    }
    Rng of_base = Rng(seed).split(0);
    Rng of_other = Rng(seed).split(1);
    std::vector<double> differences = resampled_means(b, of_other, resamples);
    const std::vector<double> from = resampled_means(a, of_base, resamples);
    for (std::size_t i = 0; i < differences.size(); ++i)
        differences[i] -= from[i];
    std::vector<std::vector<double>> left_out(2);
    for (const double without : jackknife(a, mean_of))
        left_out[0].push_back(mean_of(b) - without);
    for (const double without : jackknife(b, mean_of))
        left_out[1].push_back(without - mean_of(a));
    Bootstrap result;
    result.resamples = resamples;
    result.ci95 = bca_interval(std::move(differences), mean_of(b) - mean_of(a), left_out,
                               widened_level(left_out));
    if (!result.ci95) return {std::nullopt, Gap::constant, 0};
    return result;
}

}  // namespace mano::stats
