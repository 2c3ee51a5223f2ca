// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

// The definition, by listing every arrangement.
std::pair<double, double> brute_force(const Values& a, const Values& b) {
    Values pooled = a;
    pooled.insert(pooled.end(), b.begin(), b.end());
    const auto all = static_cast<unsigned>(pooled.size());
    Values ranks;
    for (const double value : pooled) {
        double rank = 0.5;
        for (const double other : pooled)
            rank += other < value ? 1 : other == value ? 0.5 : 0;
        ranks.push_back(rank);
    }
    const double expected = static_cast<double>(a.size()) * (all + 1) / 2;
    const auto deviation = [&](unsigned choice) {
        double sum = 0;
        for (unsigned i = 0; i < all; ++i) {
            if ((choice >> i & 1U) != 0) sum += ranks[i];
        }
        return std::fabs(sum - expected);
    };
    const double observed = deviation((1U << a.size()) - 1);
    double far = 0;
    double total = 0;
    double farthest = 0;
    double at_farthest = 0;
    for (unsigned choice = 0; choice < 1U << all; ++choice) {
        if (static_cast<std::size_t>(std::popcount(choice)) != a.size()) continue;
        const double here = deviation(choice);
        ++total;
        if (here >= observed - 1e-9) ++far;
        if (here > farthest + 1e-9) {
            farthest = here;
            at_farthest = 0;
        }
        if (here >= farthest - 1e-9) ++at_farthest;
    }
    return {far / total, at_farthest / total};
}

TEST(MannWhitney, AgreesWithEveryArrangement) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Rng rng(seed);
        Values a(1 + rng.below(7));
        Values b(1 + rng.below(7));
        const std::uint64_t levels = seed % 3 == 0 ? 1'000'000'000 : 1 + rng.below(8);
        for (double& value : a)
            value = static_cast<double>(rng.below(levels));
        for (double& value : b)
            value = static_cast<double>(rng.below(levels));
        const auto [p, best] = brute_force(a, b);
        const stats::Test test = mann_whitney(a, b);
        EXPECT_NEAR(test.p, p, 1e-12) << "seed " << seed << ' ' << test.name;
        EXPECT_NEAR(test.best_attainable_p, best, 1e-12) << "seed " << seed;
        EXPECT_NEAR(mann_whitney(b, a).p, p, 1e-12) << "seed " << seed;
    }
}

TEST(MannWhitney, KnownFigures) {
    EXPECT_NEAR(mann_whitney(Values{1, 2, 3, 4, 5, 6}, Values{7, 8, 9, 10, 11, 12}).p, 2.0 / 924,
                1e-15);
    EXPECT_EQ(mann_whitney(Values{1, 2, 3}, Values{4, 5, 6}).p, 0.1);
    EXPECT_EQ(mann_whitney(Values{3, 3}, Values{3, 3, 3}).p, 1);
    EXPECT_EQ(mann_whitney(Values{3, 3}, Values{3, 3, 3}).best_attainable_p, 1);
    EXPECT_EQ(mann_whitney({}, Values{3}).p, 1);
}

TEST(MannWhitney, SaysHowItWasDone) {
    Rng rng(3);
    const auto draw = [&](std::size_t n, std::uint64_t levels) {
        Values values(n);
        for (double& value : values)
            value = static_cast<double>(rng.below(levels));
        return values;
    };
    constexpr std::uint64_t kUntied = std::uint64_t{1} << 50;
    EXPECT_EQ(mann_whitney(draw(20, kUntied), draw(20, kUntied)).name, "exact Mann-Whitney");
    EXPECT_EQ(mann_whitney(draw(20, 5), draw(20, 5)).name, "exact permutation (ties)");
    const Values a = draw(90, 5);
    const Values b = draw(90, 5);
    const stats::Test resampled = mann_whitney(a, b, 7);
    EXPECT_EQ(resampled.name, "Monte Carlo permutation (ties)");
    EXPECT_GT(resampled.resamples, 0U);
    EXPECT_EQ(resampled.p, mann_whitney(a, b, 7).p);
    EXPECT_EQ(mann_whitney(draw(300, 5), draw(300, 5)).name, "Mann-Whitney, normal approximation");
    EXPECT_EQ(mann_whitney(draw(90, kUntied), draw(90, kUntied)).name,
              "Mann-Whitney, normal approximation");
}

TEST(MannWhitney, ResamplingLiesNearTheNormalApproximation) {
    Rng rng(11);
    Values a(180);
    Values b(180);
    for (double& value : a)
        value = static_cast<double>(rng.below(20));
    for (double& value : b)
        value = static_cast<double>(rng.below(20)) + (rng.below(3) == 0 ? 3 : 0);
    const stats::Test resampled = mann_whitney(a, b, 5);
    ASSERT_GT(resampled.resamples, 0U);
    Values many_a = a;
    Values many_b = b;
    many_a.insert(many_a.end(), a.begin(), a.end());
    many_b.insert(many_b.end(), b.begin(), b.end());
    EXPECT_LT(mann_whitney(many_a, many_b).p, resampled.p);  // twice the data say more
}

TEST(NullDistribution, SumsToOneAndIsSymmetric) {
    for (const auto& [n, m] :
         {std::pair<std::size_t, std::size_t>{1, 1}, {3, 5}, {20, 20}, {64, 64}}) {
        const auto null = null_distribution(n, m);
        ASSERT_TRUE(null);
        ASSERT_EQ(null->size(), n * m + 1);
        EXPECT_NEAR(null->back(), 1, 1e-12);
        for (std::size_t u = 0; u < n * m; ++u) {
            EXPECT_NEAR((*null)[u], 1 - (*null)[n * m - 1 - u], 1e-12);
        }
        EXPECT_EQ(null_distribution(m, n), null);  // cached, and the same both ways
    }
    EXPECT_FALSE(null_distribution(65, 64));
    EXPECT_FALSE(null_distribution(0, 3));
    EXPECT_FALSE(null_distribution(SIZE_MAX, SIZE_MAX));
}

TEST(HodgesLehmann, ShiftAndInterval) {
    const Values a = {1, 2, 3, 4, 5, 6};
    const Values b = {11, 12, 13, 14, 15, 16};
    const auto shift = hodges_lehmann(a, b);
    ASSERT_TRUE(shift);
    EXPECT_EQ(shift->estimate, 10);
    ASSERT_TRUE(shift->ci95);
    EXPECT_GE(shift->coverage, 0.95);
    EXPECT_LT(shift->ci95->first, 10);
    EXPECT_GT(shift->ci95->second, 10);
    EXPECT_EQ(hodges_lehmann(b, a)->estimate, -10);
    EXPECT_FALSE(hodges_lehmann(a, {}));
    // 3 against 3: not even the widest interval covers 95 %.
    EXPECT_FALSE(hodges_lehmann(Values{1, 2, 3}, Values{4, 5, 6})->ci95);
}

TEST(HodgesLehmann, IntervalCoversAsItSays) {
    constexpr int kRounds = 3000;
    for (const std::size_t n : {4U, 6U, 10U}) {
        Rng rng(77 + n);
        int covered = 0;
        double said = 0;
        for (int round = 0; round < kRounds; ++round) {
            Values a(n);
            Values b(n);
            for (double& value : a)
                value = rng.unit() + rng.unit();
            for (double& value : b)
                value = rng.unit() + rng.unit() + 3;
            const auto shift = hodges_lehmann(a, b);
            said = shift->coverage;
            if (shift->ci95->first <= 3 && 3 <= shift->ci95->second) ++covered;
        }
        EXPECT_NEAR(static_cast<double>(covered) / kRounds, said, 0.015) << "n = " << n;
    }
}

// benchstat's own example (golang.org/x/perf, cmd/benchstat/testdata/old.txt and new.txt, ns/op).
// It prints 1.718us -> 1.423us -17.20% p=0.000 n=10, and 3.066us -> 3.070us ~ p=0.446 n=10.
TEST(Published, BenchstatsExample) {
    const Values json_old{1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774};
    const Values json_new{1423, 1416, 1411, 1413, 1412, 1426, 1422, 1424, 1447, 1425};
    const Values gob_old{3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062};
    const Values gob_new{3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062};
    const Comparison json = compare(json_old, json_new);
    EXPECT_EQ(*median(json_old), 1718);
    EXPECT_EQ(*median(json_new), 1422.5);
    EXPECT_NEAR(*json.median_pct, -17.20, 0.005);
    EXPECT_LT(json.test->p, 0.0005);
    const Comparison gob = compare(gob_old, gob_new);
    EXPECT_EQ(*median(gob_old), 3065.5);
    EXPECT_EQ(*median(gob_new), 3070);
    EXPECT_NEAR(gob.test->p, 0.446, 0.0005);
}

}  // namespace
}  // namespace mano::stats
