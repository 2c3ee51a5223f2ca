// SPDX-License-Identifier: GPL-2.0-or-later
// The rank test of two samples. docs/methods.md, "Two samples".
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>

#include "base/rng.h"
#include "stats/sorted.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

constexpr std::size_t kCacheEntries = 256;
constexpr std::uint64_t kSubsetSteps = 20'000'000;  // about as long as the resamplings take
constexpr std::size_t kResamplingValues = 400;

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

std::uint64_t distance(std::uint64_t x, std::uint64_t y) {
    return x > y ? x - y : y - x;
}

struct Ranked {
    std::uint64_t sum = 0;  // of twice the midranks of a's values
    double tie_term = 0;    // Σ (t³ - t) over groups of equal values
    bool tied = false;
};

// One pass over both sorted samples. `midranks`, if given, gets twice the midrank of each pooled
// value, ascending.
Ranked rank(std::span<const double> a, std::span<const double> b,
            std::vector<std::uint64_t>* midranks) {
    Ranked ranked;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
        const std::size_t first = i + j;
        const double value = j == b.size() || (i < a.size() && a[i] <= b[j]) ? a[i] : b[j];
        const std::size_t of_a = i;
        while (i < a.size() && a[i] == value)
            ++i;
        while (j < b.size() && b[j] == value)
            ++j;
        const std::size_t last = i + j;  // one past the group of equals
        const std::size_t doubled = first + last + 1;
        ranked.sum += doubled * (i - of_a);
        if (last - first > 1) {
            const auto group = static_cast<double>(last - first);
            ranked.tie_term += group * group * group - group;
            ranked.tied = true;
        }
        if (midranks != nullptr) midranks->insert(midranks->end(), last - first, doubled);
    }
    return ranked;
}

// Probability of the arrangements whose rank sum lies farthest from its expectation: the n largest
// (or smallest) values in one sample; equals at the border can be chosen in several ways.
double farthest_share(std::span<const std::uint64_t> sorted, std::size_t n) {
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

double normal_p(double n, double m, double doubled_deviation, double tie_term) {
    const double all = n + m;
    const double variance = n * m / 12 * (all + 1 - tie_term / (all * (all - 1)));
    if (variance <= 0) return 1;
    const double off = std::max(0.0, doubled_deviation / 2 - 0.5);
    return std::min(1.0, std::erfc(off / std::sqrt(variance) / std::sqrt(2.0)));
}

Test untied_test(std::size_t n, std::size_t m, std::uint64_t deviation,
                 const std::vector<double>& null) {
    Test test;
    test.name = "exact Mann-Whitney";
    // Twice U lies `deviation` from n·m; the tail below n·m/2 is the tail above it.
    test.p = std::min(1.0, 2 * null[(n * m - deviation) / 2]);
    test.best_attainable_p = std::min(1.0, 2 * null[0]);
    return test;
}

// nullopt: too many values to count or to resample.
std::optional<Test> tied_test(std::vector<std::uint64_t> midranks, std::size_t n,
                              std::uint64_t deviation, std::uint64_t seed) {
    Test test;
    test.best_attainable_p = farthest_share(midranks, n);
    if (subset_steps(midranks, n) <= kSubsetSteps) {
        test.name = "exact permutation (ties)";
        test.p = subset_p(midranks, n, deviation);
        return test;
    }
    if (midranks.size() > kResamplingValues) return std::nullopt;
    test.name = "Monte Carlo permutation (ties)";
    const std::uint64_t expected = n * (midranks.size() + 1);
    constexpr Effort kEffort;
    Rng rng(seed);
    std::tie(test.p, test.resamples) = resampled(kEffort, [&] {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            std::swap(midranks[i], midranks[i + rng.below(midranks.size() - i)]);
            sum += midranks[i];
        }
        return distance(sum, expected) >= deviation;
    });
    test.best_attainable_p =
        std::max(test.best_attainable_p, 1.0 / static_cast<double>(kEffort.most + 1));
    return test;
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

Test mann_whitney_sorted(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
    Test test;
    test.name = "none";
    if (a.empty() || b.empty()) return test;
    const std::size_t all = a.size() + b.size();
    const Ranked ranked = rank(a, b, nullptr);
    const std::uint64_t deviation = distance(ranked.sum, a.size() * (all + 1));
    // Counting the smaller sample is cheaper; its deviation is the other's with the opposite sign.
    const std::size_t n = std::min(a.size(), b.size());
    if (!ranked.tied) {
        if (const auto null = null_distribution(a.size(), b.size())) {
            return untied_test(a.size(), b.size(), deviation, *null);
        }
        test.best_attainable_p = std::min(1.0, 2 * one_over_choose(all, n));
    } else {
        std::vector<std::uint64_t> midranks;
        midranks.reserve(all);
        rank(a, b, &midranks);
        test.best_attainable_p = farthest_share(midranks, n);
        if (auto tied = tied_test(std::move(midranks), n, deviation, seed)) return *tied;
    }
    test.name = "Mann-Whitney, normal approximation";
    test.p = normal_p(static_cast<double>(a.size()), static_cast<double>(b.size()),
                      static_cast<double>(deviation), ranked.tie_term);
    return test;
}

Test mann_whitney(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
    return mann_whitney_sorted(sorted(a), sorted(b), seed);
}

}  // namespace mano::stats
