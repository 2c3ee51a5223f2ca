// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

TEST(Summary, NothingIsNotZero) {
    const Summary summary = summarize({});
    EXPECT_EQ(summary.n, 0U);
    EXPECT_FALSE(summary.total);
    EXPECT_FALSE(summary.mean);
    EXPECT_FALSE(summary.median);
    EXPECT_FALSE(summary.stddev_sample);
    EXPECT_FALSE(summary.ci95);
}

TEST(Summary, OneValueHasNoSpread) {
    const std::vector<double> one = {7};
    const Summary summary = summarize(one);
    EXPECT_EQ(summary.mean, 7);
    EXPECT_EQ(summary.median, 7);
    EXPECT_EQ(summary.stddev_population, 0);
    EXPECT_FALSE(summary.stddev_sample);
    EXPECT_FALSE(summary.half_range_pct);
    EXPECT_FALSE(summary.ci95);
}

TEST(Summary, KnownFigures) {
    const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
    const Summary summary = summarize(values);
    EXPECT_EQ(summary.total, 40);
    EXPECT_EQ(summary.mean, 5);
    EXPECT_EQ(summary.median, 4.5);
    EXPECT_EQ(summary.stddev_population, 2);
    EXPECT_NEAR(*summary.stddev_sample, 2.1380899352993952, 1e-15);
    EXPECT_NEAR(*summary.half_range_pct, 100 * 3.5 / 4.5, 1e-12);
    // n = 8: 93.0 or 99.2 %, nothing between; at least 95 % is the second.
    EXPECT_EQ(summary.ci95, (Interval{2, 9}));
    EXPECT_NEAR(summary.ci95_coverage, 1 - 2.0 / 256, 1e-15);
}

TEST(Summary, MedianIntervalNeedsSix) {
    const std::vector<double> five = {1, 2, 3, 4, 5};
    const std::vector<double> six = {1, 2, 3, 4, 5, 6};
    EXPECT_FALSE(summarize(five).ci95);
    EXPECT_EQ(summarize(six).ci95, (Interval{1, 6}));
    EXPECT_NEAR(summarize(six).ci95_coverage, 1 - 2.0 / 64, 1e-15);
}

TEST(Summary, PercentagesOfZeroAreUnknown) {
    const std::vector<double> values = {-1, 0, 0, 1};
    const Summary summary = summarize(values);
    EXPECT_EQ(summary.zeros, 2U);
    EXPECT_FALSE(summary.stddev_pct);
    EXPECT_FALSE(summary.half_range_pct);
}

TEST(Summary, MedianIntervalCoversAtLeastNominally) {
    constexpr int kRounds = 4000;
    for (const std::size_t n : {6U, 9U, 12U, 20U}) {
        Rng rng(0x5eed + n);
        int covered = 0;
        for (int round = 0; round < kRounds; ++round) {
            std::vector<double> values(n);
            for (double& value : values)
                value = rng.unit() * rng.unit();
            const Summary summary = summarize(values);
            // Median of the product of two uniform numbers: x(1 - ln x) = 1/2.
            constexpr double kMedian = 0.18668231;
            if (summary.ci95->first <= kMedian && kMedian <= summary.ci95->second) ++covered;
        }
        EXPECT_GT(covered, kRounds * 0.94) << "n = " << n;
    }
}

}  // namespace
}  // namespace mano::stats
