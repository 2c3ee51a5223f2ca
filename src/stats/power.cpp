// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/power.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/rng.h"
#include "stats/sorted.h"

namespace mano::stats {
namespace {

constexpr double kPower = 0.8;

// Smallest c with P(U ≥ c) ≤ alpha / 2; 0: not even the farthest U is that rare.
std::size_t critical_u(std::size_t n, std::size_t m, double alpha) {
    const auto null = null_distribution(n, m);
    if (!null) return 0;
    // Number of u with P(U ≤ u) ≤ alpha / 2; the tails are alike.
    const auto below = static_cast<std::size_t>(
        std::upper_bound(null->begin(), null->end(), alpha / 2) - null->begin());
    return below == 0 ? 0 : n * m - (below - 1);
}

bool constant(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(),
                       [&](double value) { return value == values[0]; });
}

// The `share` quantile of what `measure` says of simulated pairs of samples.
double simulate(std::span<const double> pool, std::size_t n, std::size_t m, double share,
                std::uint64_t seed, std::size_t rounds,
                const std::function<double(std::vector<double>&, std::vector<double>&)>& measure) {
    Rng rng(seed);
    std::vector<double> a(n);
    std::vector<double> b(m);
    std::vector<double> results(rounds);
    for (double& result : results) {
        for (double& value : a)
            value = pool[rng.below(pool.size())];
        for (double& value : b)
            value = pool[rng.below(pool.size())];
        result = measure(a, b);
    }
    const auto at = results.begin() +
                    static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(rounds))) - 1;
    std::nth_element(results.begin(), at, results.end());
    return *at;
}

// Beyond kSimulated the spread of an estimate shrinks with the root of the numbers.
struct Sizes {
    std::size_t n, m;
    double factor;
};
Sizes simulated_sizes(std::size_t n, std::size_t m) {
    const std::size_t a = std::min(n, kSimulated);
    const std::size_t b = std::min(m, kSimulated);
    const auto variance = [](std::size_t x, std::size_t y) {
        return 1 / static_cast<double>(x) + 1 / static_cast<double>(y);
    };
    return {a, b, std::sqrt(variance(n, m) / variance(a, b))};
}

// The smallest n from `fewest` on that is good enough: doubling, then halving the gap.
std::optional<std::size_t> smallest(std::size_t fewest,
                                    const std::function<bool(std::size_t)>& enough) {
    std::size_t high = fewest;
    while (!enough(high)) {
        if (high >= kMostTrials) return std::nullopt;
        high = std::min(2 * high, kMostTrials);
    }
    std::size_t low = std::max(fewest, high / 2);
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (enough(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

}  // namespace

std::vector<double> pooled_spread(std::span<const std::vector<double>> samples) {
    std::vector<double> pool;
    for (const std::vector<double>& sample : samples) {
        const double middle = median(sample).value_or(0);
        const auto n = static_cast<double>(sample.size());
        // Few values lie nearer to their own middle than to the true one.
        const double factor = n > 1 ? std::sqrt(n / (n - 1)) : 1;
        for (const double value : sample)
            pool.push_back((value - middle) * factor);
    }
    return pool;
}

std::optional<double> detectable_shift(std::span<const double> pool, std::size_t n, std::size_t m,
                                       double alpha, std::uint64_t seed, std::size_t rounds) {
    if (pool.empty() || n == 0 || m == 0 || constant(pool)) return std::nullopt;
    const Sizes sizes = simulated_sizes(n, m);
    const std::size_t c = critical_u(sizes.n, sizes.m, alpha);
    if (c == 0) return std::nullopt;
    // In each simulated pair of samples the test says yes from that shift on at which U reaches c:
    // the c-th smallest difference. No search over shifts is needed.
    std::vector<double> differences(sizes.n * sizes.m);
    const auto needed = [&](std::vector<double>& a, std::vector<double>& b) {
        std::size_t next = 0;
        for (const double x : a) {
            for (const double y : b)
                differences[next++] = x - y;
        }
        const auto nth = differences.begin() + static_cast<std::ptrdiff_t>(c - 1);
        std::nth_element(differences.begin(), nth, differences.end());
        return std::max(0.0, *nth);
    };
    return sizes.factor * simulate(pool, sizes.n, sizes.m, kPower, seed, rounds, needed);
}

std::optional<double> noise_floor(std::span<const double> pool, std::size_t n, std::size_t m,
                                  std::uint64_t seed) {
    if (pool.empty() || n == 0 || m == 0) return std::nullopt;
    if (constant(pool)) return 0;
    const Sizes sizes = simulated_sizes(n, m);
    const auto shift = [](std::vector<double>& a, std::vector<double>& b) {
        return std::fabs(hodges_lehmann_sorted(a, b)->estimate);
    };
    return sizes.factor * simulate(pool, sizes.n, sizes.m, 0.95, seed, kPowerRounds, shift);
}

std::optional<std::size_t> trials_to_detect(std::span<const double> pool, double shift,
                                            double alpha, std::uint64_t seed) {
    if (pool.empty() || !(shift > 0) || !(alpha > 0)) return std::nullopt;
    const std::size_t fewest = trials_needed(alpha);
    if (constant(pool)) return fewest;
    return smallest(fewest, [&](std::size_t n) {
        const auto detectable = detectable_shift(pool, n, n, alpha, seed);
        return detectable && *detectable <= shift;
    });
}

std::optional<std::size_t> trials_for_width(std::span<const double> pool, double half_width,
                                            std::uint64_t seed) {
    if (pool.empty() || !(half_width > 0)) return std::nullopt;
    const std::size_t fewest = trials_needed(0.05);
    if (constant(pool)) return fewest;
    const auto width = [](std::vector<double>& a, std::vector<double>& b) {
        const auto shift = hodges_lehmann_sorted(a, b);
        return shift->ci95 ? (shift->ci95->second - shift->ci95->first) / 2 : HUGE_VAL;
    };
    return smallest(fewest, [&](std::size_t n) {
        const Sizes sizes = simulated_sizes(n, n);
        constexpr std::size_t kFewRounds = 300;
        return sizes.factor * simulate(pool, sizes.n, sizes.m, kPower, seed, kFewRounds, width) <=
               half_width;
    });
}

std::vector<std::uint32_t> looks(std::uint32_t first, std::uint32_t most) {
    std::vector<std::uint32_t> result;
    // A look shortly before the last costs every p-value something and saves few trials.
    for (std::uint32_t n = std::max(1U, first); n < most && most - n >= n / 4;
         n += std::max(1U, n / 2)) {
        result.push_back(n);
    }
    result.push_back(most);
    return result;
}

double adjusted_for_looks(double p, std::size_t looks) {
    return std::min(1.0, p * static_cast<double>(std::max<std::size_t>(1, looks)));
}

}  // namespace mano::stats
