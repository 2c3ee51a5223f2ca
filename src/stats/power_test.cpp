// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/power.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

Values normal_pool(std::size_t n, std::uint64_t seed) {
    Rng rng(seed);
    Values pool(n);
    for (double& value : pool)
        value = normal(rng);
    return pool;
}

TEST(PooledSpread, TakesEachMedianOff) {
    const std::vector<Values> samples{{1, 2, 3}, {101, 102, 104}};
    const double stretch = std::sqrt(1.5);
    const Values expected{-1, 0, 1, -1, 0, 2};
    const Values pool = pooled_spread(samples);
    ASSERT_EQ(pool.size(), expected.size());
    for (std::size_t i = 0; i < pool.size(); ++i)
        EXPECT_DOUBLE_EQ(pool[i], expected[i] * stretch);
    EXPECT_TRUE(pooled_spread({}).empty());
}

// Of a large normal pool the answers are known: the t test's, give or take.
TEST(Power, AgreesWithTheNormalCase) {
    const Values pool = normal_pool(4000, 1);
    // 80 % power at alpha .05: (1.96 + 0.84)·sqrt(2/n), the rank test needs 5 % more trials.
    for (const std::size_t n : {20U, 40U, 200U}) {
        const double expected = 2.8 * std::sqrt(2.0 / static_cast<double>(n) / 0.955);
        const auto detectable = detectable_shift(pool, n, n, 0.05);
        ASSERT_TRUE(detectable);
        EXPECT_NEAR(*detectable, expected, 0.1 * expected) << n;
        const auto floor = noise_floor(pool, n, n);
        ASSERT_TRUE(floor);
        EXPECT_NEAR(*floor, 1.96 * std::sqrt(2.0 / static_cast<double>(n) / 0.955), 0.1 * *floor);
    }
    const auto trials = trials_to_detect(pool, 1, 0.05);
    ASSERT_TRUE(trials);
    EXPECT_NEAR(static_cast<double>(*trials), 17, 3);  // the t test needs 17
    const auto wide = trials_for_width(pool, 0.5);
    ASSERT_TRUE(wide);
    EXPECT_GT(*wide, 25U);
    EXPECT_LT(*wide, 55U);
    const auto many = trials_to_detect(pool, 0.1, 0.05);  // by the square-root law
    ASSERT_TRUE(many);
    EXPECT_NEAR(static_cast<double>(*many), 1640, 250);
}

TEST(Power, NothingToSay) {
    const Values pool = normal_pool(50, 2);
    EXPECT_FALSE(detectable_shift(pool, 3, 3, 0.05)) << "3 against 3 can't reach .05";
    EXPECT_FALSE(detectable_shift(Values(9, 0.0), 8, 8, 0.05));
    EXPECT_FALSE(detectable_shift({}, 8, 8, 0.05));
    EXPECT_FALSE(noise_floor({}, 8, 8));
    EXPECT_EQ(noise_floor(Values(9, 0.0), 8, 8), 0);
    EXPECT_FALSE(trials_to_detect(pool, 0, 0.05));
    EXPECT_FALSE(trials_to_detect(pool, 1e-6, 0.05)) << "more than anybody runs";
    EXPECT_EQ(trials_to_detect(Values(9, 0.0), 1, 0.05), trials_needed(0.05));
    EXPECT_FALSE(trials_for_width(pool, -1));
}

TEST(Looks, GrowByHalfAndEndAtTheMost) {
    EXPECT_EQ(looks(6, 40), (std::vector<std::uint32_t>{6, 9, 13, 19, 28, 40}));
    EXPECT_EQ(looks(6, 30), (std::vector<std::uint32_t>{6, 9, 13, 19, 30}));
    EXPECT_EQ(looks(6, 6), (std::vector<std::uint32_t>{6}));
    EXPECT_EQ(looks(9, 6), (std::vector<std::uint32_t>{6}));
    EXPECT_EQ(looks(1, 3), (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_DOUBLE_EQ(adjusted_for_looks(0.01, 4), 0.04);
    EXPECT_DOUBLE_EQ(adjusted_for_looks(0.5, 4), 1);
    EXPECT_DOUBLE_EQ(adjusted_for_looks(0.01, 0), 0.01);
}

}  // namespace
}  // namespace mano::stats
