// SPDX-License-Identifier: GPL-2.0-or-later
// The rank test of two samples and the shift between them. docs/methods.md, "Two samples".
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>

#include "base/rng.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

constexpr std::size_t kCacheEntries = 256;
constexpr std::uint64_t kSubsetSteps = 40'000'000;  // about 40 ms
constexpr std::size_t kResamplingValues = 400;
constexpr std::uint64_t kResamples = 100'000;
constexpr std::size_t kMaxDifferences = std::size_t{1} << 24;

// 1 / C(n, k), by ratios: never overflows, underflows to 0 at worst.
double one_over_choose(std::size_t n, std::size_t k) {
    k = std::min(k, n - k);
    double share = 1;
    for (std::size_t i = 1; i <= k; ++i) {
        share *= static_cast<double>(i) / static_cast<double>(n - k + i);
    }
    return share;
}

double choose(std::size_t n, std::size_t k) {
    return 1 / one_over_choose(n, k);
}

// Counts of arrangements with each U by Mann and Whitney's own recurrence (1947): the largest value
// is one of the first sample (and then exceeds all m of the second) or not.
std::vector<double> cumulative_u(std::size_t n, std::size_t m) {
    std::vector<std::vector<double>> counts(m + 1);  // counts[j] = of (i, j), i growing
    for (auto& row : counts)
        row.assign(1, 1.0);
    for (std::size_t i = 1; i <= n; ++i) {
        for (std::size_t j = 1; j <= m; ++j) {
            std::vector<double> next(i * j + 1, 0.0);
            const std::vector<double>& shorter_first = counts[j];       // (i - 1, j)
            const std::vector<double>& shorter_second = counts[j - 1];  // (i, j - 1)
            for (std::size_t u = 0; u < shorter_first.size(); ++u)
                next[u + j] += shorter_first[u];
            for (std::size_t u = 0; u < shorter_second.size(); ++u)
                next[u] += shorter_second[u];
            counts[j] = std::move(next);
        }
    }
    std::vector<double> cumulative = std::move(counts[m]);
    std::partial_sum(cumulative.begin(), cumulative.end(), cumulative.begin());
    const double all = cumulative.back();
    for (double& value : cumulative)
        value /= all;
    return cumulative;
}

struct Ranked {
    std::vector<std::uint64_t> doubled;  // twice the midrank of each pooled value, a's first
    std::vector<std::uint64_t> sorted;   // the same, ascending
    double tie_term = 0;                 // Σ (t³ - t) over groups of equal values
    bool tied = false;
};

Ranked rank(std::span<const double> a, std::span<const double> b) {
    std::vector<double> pooled(a.begin(), a.end());
    pooled.insert(pooled.end(), b.begin(), b.end());
    std::vector<std::size_t> order(pooled.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t x, std::size_t y) { return pooled[x] < pooled[y]; });
    Ranked ranked;
    ranked.doubled.resize(pooled.size());
    ranked.sorted.resize(pooled.size());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first;  // one past the group of equals
        while (last < order.size() && pooled[order[last]] == pooled[order[first]])
            ++last;
        for (std::size_t i = first; i < last; ++i) {
            ranked.doubled[order[i]] = first + last + 1;  // 2 · ((first+1) + last) / 2
            ranked.sorted[i] = first + last + 1;
        }
        const auto group = static_cast<double>(last - first);
        ranked.tie_term += group * group * group - group;
        ranked.tied = ranked.tied || last - first > 1;
        first = last;
    }
    return ranked;
}

std::uint64_t distance(std::uint64_t x, std::uint64_t y) {
    return x > y ? x - y : y - x;
}

// Probability of the arrangements whose rank sum lies farthest from its expectation: the n largest
// (or smallest) values in one sample; equals at the border can be chosen in several ways.
double farthest_share(const std::vector<std::uint64_t>& sorted, std::size_t n) {
    const std::size_t all = sorted.size();
    const std::uint64_t expected = n * (all + 1);  // of the doubled sum
    const auto sum = [&](std::size_t from) {
        return std::accumulate(sorted.begin() + static_cast<std::ptrdiff_t>(from),
                               sorted.begin() + static_cast<std::ptrdiff_t>(from + n),
                               std::uint64_t{0});
    };
    const std::uint64_t low = distance(sum(0), expected);
    const std::uint64_t high = distance(sum(all - n), expected);
    const auto ways = [&](std::uint64_t border, std::size_t from) {
        std::size_t equal = 0;
        std::size_t taken = 0;
        for (std::size_t i = 0; i < all; ++i) {
            if (sorted[i] != border) continue;
            ++equal;
            if (i >= from && i < from + n) ++taken;
        }
        return choose(equal, taken);
    };
    if (std::max(low, high) == 0) return 1;  // all values equal: one rank sum only
    double share = 0;
    if (low >= high) share += ways(sorted[n - 1], 0);
    if (high >= low) share += ways(sorted[all - n], all - n);
    return std::min(1.0, share * one_over_choose(all, n));
}

// Steps that subset_p takes; the smaller sample is the one that is counted.
std::uint64_t subset_steps(const std::vector<std::uint64_t>& sorted, std::size_t n) {
    const std::uint64_t most = std::accumulate(sorted.end() - static_cast<std::ptrdiff_t>(n),
                                               sorted.end(), std::uint64_t{0});
    return sorted.size() * n * (most + 1);
}

// P(|sum - expectation| ≥ `deviation`) over all choices of n of the doubled midranks, by counting
// the choices for each sum (the shift algorithm of Streitberg and Röhmel, 1986).
double subset_p(const std::vector<std::uint64_t>& sorted, std::size_t n, std::uint64_t deviation) {
    const std::uint64_t most = std::accumulate(sorted.end() - static_cast<std::ptrdiff_t>(n),
                                               sorted.end(), std::uint64_t{0});
    std::vector<std::vector<double>> counts(n + 1, std::vector<double>(most + 1, 0.0));
    counts[0][0] = 1;
    std::uint64_t reached = 0;
    std::size_t seen = 0;
    for (const std::uint64_t value : sorted) {
        reached = std::min(most, reached + value);
        ++seen;
        for (std::size_t size = std::min(seen, n); size > 0; --size) {
            for (std::uint64_t sum = reached; sum >= value; --sum) {
                counts[size][sum] += counts[size - 1][sum - value];
            }
        }
    }
    const std::uint64_t expected = n * (sorted.size() + 1);
    double far = 0;
    double all = 0;
    for (std::uint64_t sum = 0; sum <= most; ++sum) {
        all += counts[n][sum];
        if (distance(sum, expected) >= deviation) far += counts[n][sum];
    }
    return std::min(1.0, far / all);
}

double resampled_p(std::vector<std::uint64_t> values, std::size_t n, std::uint64_t deviation,
                   std::uint64_t seed) {
    const std::uint64_t expected = n * (values.size() + 1);
    Rng rng(seed);
    std::uint64_t far = 0;
    for (std::uint64_t round = 0; round < kResamples; ++round) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            std::swap(values[i], values[i + rng.below(values.size() - i)]);
            sum += values[i];
        }
        if (distance(sum, expected) >= deviation) ++far;
    }
    // The observed arrangement is one of those possible, so p is never 0 (Phipson and Smyth, 2010).
    return static_cast<double>(far + 1) / static_cast<double>(kResamples + 1);
}

double normal_p(double n, double m, double doubled_deviation, double tie_term) {
    const double all = n + m;
    const double variance = n * m / 12 * (all + 1 - tie_term / (all * (all - 1)));
    if (variance <= 0) return 1;
    const double off = std::max(0.0, doubled_deviation / 2 - 0.5);
    return std::min(1.0, std::erfc(off / std::sqrt(variance) / std::sqrt(2.0)));
}

}  // namespace

std::shared_ptr<const std::vector<double>> null_distribution(std::size_t n, std::size_t m) {
    if (n == 0 || m == 0 || n > kExactPairs || m > kExactPairs || n * m > kExactPairs) {
        return nullptr;
    }
    if (n < m) std::swap(n, m);  // symmetric; the recurrence keeps m + 1 rows
    static std::mutex mutex;
    static std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<const std::vector<double>>>
        cache;
    {
        const std::lock_guard lock(mutex);
        if (const auto found = cache.find({n, m}); found != cache.end()) return found->second;
    }
    auto made = std::make_shared<const std::vector<double>>(cumulative_u(n, m));
    const std::lock_guard lock(mutex);
    if (cache.size() < kCacheEntries) cache.emplace(std::pair{n, m}, made);
    return made;
}

Test mann_whitney(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
    Test test;
    test.name = "none";
    if (a.empty() || b.empty()) return test;
    const Ranked ranked = rank(a, b);
    // Counting the smaller sample is cheaper; its deviation is the other's with the opposite sign.
    const std::size_t n = std::min(a.size(), b.size());
    const std::size_t all = ranked.sorted.size();
    const std::uint64_t sum = std::accumulate(
        ranked.doubled.begin(), ranked.doubled.begin() + static_cast<std::ptrdiff_t>(a.size()),
        std::uint64_t{0});
    const std::uint64_t deviation = distance(sum, a.size() * (all + 1));
    test.best_attainable_p = farthest_share(ranked.sorted, n);
    if (!ranked.tied) {
        if (const auto null = null_distribution(a.size(), b.size())) {
            test.name = "exact Mann-Whitney";
            // Twice U lies `deviation` from n·m; the tail below n·m/2 is the tail above it.
            const std::uint64_t pairs = a.size() * b.size();
            const std::uint64_t u = (pairs - deviation) / 2;
            test.p = std::min(1.0, 2 * (*null)[u]);
            return test;
        }
    } else if (subset_steps(ranked.sorted, n) <= kSubsetSteps) {
        test.name = "exact permutation (ties)";
        test.p = subset_p(ranked.sorted, n, deviation);
        return test;
    } else if (all <= kResamplingValues) {
        test.name = "Monte Carlo permutation (ties)";
        test.resamples = kResamples;
        test.p = resampled_p(ranked.sorted, n, deviation, seed);
        test.best_attainable_p =
            std::max(test.best_attainable_p, 1.0 / static_cast<double>(kResamples + 1));
        return test;
    }
    test.name = "Mann-Whitney, normal approximation";
    test.p = normal_p(static_cast<double>(a.size()), static_cast<double>(b.size()),
                      static_cast<double>(deviation), ranked.tie_term);
    return test;
}

namespace {

// The rank k such that the k-th smallest and k-th largest difference enclose the shift with at
// least 95 %; 0: the sizes are too small.
std::pair<std::size_t, double> shift_rank(std::size_t n, std::size_t m) {
    constexpr double kTail = 0.025;
    if (const auto null = null_distribution(n, m)) {
        // Smallest q with P(U ≤ q) ≥ 2.5 %, as R's qwilcox, with its guard against rounding.
        constexpr double kGuard = 1e-14;
        std::size_t q = 0;
        while (q < null->size() && (*null)[q] < kTail - kGuard)
            ++q;
        if (q == 0) return {0, 0};
        return {q, 1 - 2 * (*null)[q - 1]};
    }
    const double pairs = static_cast<double>(n) * static_cast<double>(m);
    const double sigma = std::sqrt(pairs * static_cast<double>(n + m + 1) / 12);
    const double q = std::floor(pairs / 2 - 1.959963984540054 * sigma);
    if (q < 1) return {0, 0};
    return {static_cast<std::size_t>(q), 0.95};
}

}  // namespace

std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b) {
    if (a.empty() || b.empty() || a.size() > kMaxDifferences / b.size()) return std::nullopt;
    std::vector<double> differences;
    differences.reserve(a.size() * b.size());
    for (const double from : a) {
        for (const double to : b)
            differences.push_back(to - from);
    }
    std::sort(differences.begin(), differences.end());
    Shift shift;
    const std::size_t half = differences.size() / 2;
    shift.estimate = differences.size() % 2 == 1
                         ? differences[half]
                         : differences[half - 1] / 2 + differences[half] / 2;
    const auto [k, coverage] = shift_rank(a.size(), b.size());
    if (k > 0) {
        shift.ci95 = Interval{differences[k - 1], differences[differences.size() - k]};
        shift.coverage = coverage;
    }
    return shift;
}

}  // namespace mano::stats
