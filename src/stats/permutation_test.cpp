// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

// By the definition: every mask with the right number of bits.
struct Listed {
    double totals = 0, both = 0;
};
Listed by_masks(const Values& a, const Values& b) {
    Values pool = a;
    pool.insert(pool.end(), b.begin(), b.end());
    const auto statistics = [&](std::uint32_t mask) {
        double total = 0;
        double zeros = 0;
        for (std::size_t i = 0; i < pool.size(); ++i) {
            if ((mask >> i & 1U) == 0) continue;
            total += pool[i];
            zeros += pool[i] == 0 ? 1 : 0;
        }
        return std::pair(total, zeros);
    };
    std::vector<std::pair<double, double>> all;
    for (std::uint32_t mask = 0; mask < 1U << pool.size(); ++mask) {
        if (static_cast<std::size_t>(__builtin_popcount(mask)) == a.size()) {
            all.push_back(statistics(mask));
        }
    }
    const auto moments = [&](auto&& member) {
        double sum = 0;
        double squares = 0;
        for (const auto& each : all) {
            sum += member(each);
            squares += member(each) * member(each);
        }
        const double n = static_cast<double>(all.size());
        return std::pair(sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * sum / n)));
    };
    const auto [mean_total, sd_total] = moments([](const auto& each) { return each.first; });
    const auto [mean_zeros, sd_zeros] = moments([](const auto& each) { return each.second; });
    const auto off = [&](const std::pair<double, double>& each) {
        const double total = sd_total > 0 ? std::fabs(each.first - mean_total) / sd_total : 0;
        const double zeros = sd_zeros > 0 ? std::fabs(each.second - mean_zeros) / sd_zeros : 0;
        return std::max(total, zeros);
    };
    const auto seen = statistics((1U << a.size()) - 1);
    Listed listed;
    for (const auto& each : all) {
        const bool total =
            std::fabs(each.first - mean_total) >= std::fabs(seen.first - mean_total) - 1e-6;
        if (total) listed.totals += 1;
        if (off(each) >= off(seen) - 1e-7) listed.both += 1;
    }
    listed.totals /= static_cast<double>(all.size());
    listed.both /= static_cast<double>(all.size());
    return listed;
}

Values draw(Rng& rng, std::size_t n, double zeros) {
    Values values(n);
    for (double& value : values) {
        value = rng.unit() < zeros ? 0 : static_cast<double>(1 + rng.below(500));
    }
    return values;
}

TEST(CountTests, EqualAListingOfAllArrangements) {
    constexpr std::uint64_t kSeed = 31;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (int round = 0; round < 100; ++round) {
        const Values a = draw(rng, 1 + rng.below(6), 0.5);
        const Values b = draw(rng, 1 + rng.below(6), 0.6);
        const CountTests tests = count_tests(a, b);
        const Listed listed = by_masks(a, b);
        EXPECT_NEAR(tests.totals.p, listed.totals, 1e-12) << round;
        EXPECT_NEAR(tests.both.p, listed.both, 1e-12) << round;
        EXPECT_EQ(tests.both.resamples, 0U);
        EXPECT_LE(tests.both.best_attainable_p, tests.both.p + 1e-12);
    }
}

// Total and zeros both as far apart as can be: no price is paid for having asked twice.
TEST(CountTests, SeparationReachesTheSmallestP) {
    const CountTests tests = count_tests(Values{5, 9, 7, 8, 6, 4}, Values(6, 0.0));
    EXPECT_NEAR(tests.both.p, 2.0 / 924, 1e-12);
    EXPECT_NEAR(tests.both.best_attainable_p, 2.0 / 924, 1e-12);
    EXPECT_NEAR(tests.zeros.p, 2.0 / 924, 1e-9);
}

// Fewer zeros, but the same total: the number of zeros alone says it.
TEST(CountTests, ZerosAloneAreSeen) {
    const Values few{60, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const Values many{6, 6, 6, 6, 6, 6, 6, 6, 6, 6};
    const CountTests tests = count_tests(few, many);
    EXPECT_GT(tests.totals.p, 0.9);
    EXPECT_LT(tests.both.p, 0.002);
}

TEST(CountTests, ResamplingAgreesWithListing) {
    Rng rng(8);
    constexpr Effort kResampled{100'000, 2'000, 0};
    for (int round = 0; round < 10; ++round) {
        // Unequal sizes in both orders: the smaller sample is the one that is drawn.
        const Values a = draw(rng, 6 + rng.below(4), 0.4);
        const Values b = draw(rng, 6 + rng.below(4), 0.6);
        const CountTests exact = count_tests(a, b);
        const CountTests resampled = count_tests(a, b, 1, kResampled);
        ASSERT_EQ(exact.both.resamples, 0U);
        ASSERT_GT(resampled.both.resamples, 0U);
        EXPECT_NEAR(resampled.both.p, exact.both.p, 0.09 * exact.both.p + 1e-4);
        EXPECT_NEAR(resampled.totals.p, exact.totals.p, 0.09 * exact.totals.p + 1e-4);
        EXPECT_EQ(resampled.both.p, count_tests(a, b, 1, kResampled).both.p);
    }
}

TEST(CountTests, NothingToTest) {
    EXPECT_EQ(count_tests({}, Values{1, 2}).both.p, 1);
    EXPECT_EQ(count_tests(Values{3, 3}, Values{3, 3}).both.p, 1);
}

// Equal distributions, most values 0: no more false alarms than alpha.
TEST(CountTests, FalseAlarmsStayBelowAlpha) {
    constexpr int kRounds = 1500;
    for (const std::size_t n : {5U, 8U, 12U}) {
        Rng rng(70 + n);
        int alarms = 0;
        for (int round = 0; round < kRounds; ++round) {
            const Values a = draw(rng, n, 0.7);
            const Values b = draw(rng, n, 0.7);
            if (count_tests(a, b, 1, kQuick).both.p <= 0.05) ++alarms;
        }
        EXPECT_LE(alarms, kRounds * (0.05 + 0.017)) << n;
    }
}

}  // namespace
}  // namespace mano::stats
