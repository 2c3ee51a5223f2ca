// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace mano::stats {
namespace {

// The pooled values, and how far an arrangement's total and number of zeros lie from what is
// expected of `n` of them.
struct Pool {
    std::vector<double> values;
    std::size_t n = 0;
    double expected_total = 0, scale_total = 0;  // scale: standard deviation; 0: all are equal
    double expected_zeros = 0, scale_zeros = 0;

    double total_off(double total) const { return std::fabs(total - expected_total); }
    double off(double total, double zeros) const {
        const double of_total = scale_total > 0 ? total_off(total) / scale_total : 0;
        const double of_zeros =
            scale_zeros > 0 ? std::fabs(zeros - expected_zeros) / scale_zeros : 0;
        return std::max(of_total, of_zeros);
    }
};

Pool pool_of(std::span<const double> a, std::span<const double> b) {
    Pool pool;
    pool.values.assign(a.begin(), a.end());
    pool.values.insert(pool.values.end(), b.begin(), b.end());
    pool.n = a.size();
    const auto all = static_cast<double>(pool.values.size());
    const auto n = static_cast<double>(a.size());
    const double mean = std::accumulate(pool.values.begin(), pool.values.end(), 0.0) / all;
    double squares = 0;
    for (const double value : pool.values)
        squares += (value - mean) * (value - mean);
    const double zeros =
        static_cast<double>(std::count(pool.values.begin(), pool.values.end(), 0.0));
    // Of a sum of n out of N without putting back: n·(N - n)/(N - 1) times the population variance.
    const double factor = n * (all - n) / (all - 1);
    pool.expected_total = n * mean;
    pool.scale_total = std::sqrt(factor * squares / all);
    pool.expected_zeros = n * zeros / all;
    pool.scale_zeros = std::sqrt(factor * zeros / all * (1 - zeros / all));
    return pool;
}

// What counts as extreme: at least as far off as what was seen, but for rounding.
struct Bar {
    double total, both;
};
constexpr double kSlack = 1 - 1e-10;

struct Counted {
    double arrangements = 0, total = 0, both = 0;  // of these, as extreme
    double most_total = 0, most_both = 0;          // the farthest, and how many are as far
    double farthest_total = -1, farthest_both = -1;
};

void count(const Pool& pool, const Bar& bar, double total, double zeros, Counted& counted) {
    const auto see = [](double off, double& farthest, double& number) {
        if (off > farthest * (2 - kSlack)) {
            farthest = off;
            number = 1;
        } else if (off >= farthest * kSlack) {
            number += 1;
        }
    };
    counted.arrangements += 1;
    const double off_total = pool.total_off(total);
    const double off = pool.off(total, zeros);
    if (off_total >= bar.total) counted.total += 1;
    if (off >= bar.both) counted.both += 1;
    see(off_total, counted.farthest_total, counted.most_total);
    see(off, counted.farthest_both, counted.most_both);
}

// Every choice of `left` more values from `from` on.
void list(const Pool& pool, const Bar& bar, std::size_t from, std::size_t left, double total,
          double zeros, Counted& counted) {
    if (left == 0) return count(pool, bar, total, zeros, counted);
    for (std::size_t i = from; i + left <= pool.values.size(); ++i) {
        const double value = pool.values[i];
        list(pool, bar, i + 1, left - 1, total + value, zeros + (value == 0 ? 1 : 0), counted);
    }
}

void by_listing(const Pool& pool, const Bar& bar, CountTests& tests) {
    Counted counted;
    list(pool, bar, 0, pool.n, 0, 0, counted);
    tests.totals.name = "exact permutation of totals";
    tests.totals.p = counted.total / counted.arrangements;
    tests.totals.best_attainable_p = counted.most_total / counted.arrangements;
    tests.both.name = "exact permutation of totals and zeros";
    tests.both.p = counted.both / counted.arrangements;
    tests.both.best_attainable_p = counted.most_both / counted.arrangements;
}

void by_resampling(const Pool& pool, const Bar& bar, std::uint64_t seed, const Effort& effort,
                   CountTests& tests) {
    std::vector<double> values = pool.values;
    // The smaller sample is drawn; its deviations are the other's with the opposite sign.
    const std::size_t drawn = std::min(pool.n, values.size() - pool.n);
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const double zeros_of_all = static_cast<double>(std::count(values.begin(), values.end(), 0.0));
    const auto extreme = [&](Rng& rng, bool both) {
        double total = 0;
        double zeros = 0;
        for (std::size_t i = 0; i < drawn; ++i) {
            std::swap(values[i], values[i + rng.below(values.size() - i)]);
            total += values[i];
            zeros += values[i] == 0 ? 1 : 0;
        }
        if (drawn != pool.n) {
            total = sum - total;
            zeros = zeros_of_all - zeros;
        }
        return both ? pool.off(total, zeros) >= bar.both : pool.total_off(total) >= bar.total;
    };
    const double best = std::max(1.0 / static_cast<double>(effort.most + 1),
                                 2 * one_over_choose(values.size(), drawn));
    for (Test* test : {&tests.totals, &tests.both}) {
        Rng rng(seed);
        const bool both = test == &tests.both;
        std::tie(test->p, test->resamples) = resampled(effort, [&] { return extreme(rng, both); });
        test->best_attainable_p = best;
    }
    tests.totals.name = "Monte Carlo permutation of totals";
    tests.both.name = "Monte Carlo permutation of totals and zeros";
}

std::uint64_t zeros_of(std::span<const double> values) {
    return static_cast<std::uint64_t>(std::count(values.begin(), values.end(), 0.0));
}

}  // namespace

CountTests count_tests(std::span<const double> a, std::span<const double> b, std::uint64_t seed,
                       const Effort& effort) {
    CountTests tests;
    for (Test* test : {&tests.totals, &tests.zeros, &tests.both})
        test->name = "none";
    if (a.empty() || b.empty()) return tests;
    tests.zeros = fisher_exact(zeros_of(a), a.size(), zeros_of(b), b.size());
    const Pool pool = pool_of(a, b);
    const double total = std::accumulate(a.begin(), a.end(), 0.0);
    const Bar bar{pool.total_off(total) * kSlack,
                  pool.off(total, static_cast<double>(zeros_of(a))) * kSlack};
    if (choose(pool.values.size(), pool.n) <= static_cast<double>(effort.listed) * (2 - kSlack)) {
        by_listing(pool, bar, tests);
    } else {
        by_resampling(pool, bar, seed, effort, tests);
    }
    return tests;
}

}  // namespace mano::stats
