// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/paired.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

// By the definition: every pattern of signs.
double signs_p(const Values& differences, bool ranks) {
    Values sizes;
    for (const double d : differences) {
        if (d != 0) sizes.push_back(std::fabs(d));
    }
    Values weights = sizes;
    if (ranks) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            weights[i] = 0.5;
            for (const double other : sizes)
                weights[i] += other < sizes[i] ? 1 : other == sizes[i] ? 0.5 : 0;
        }
    }
    double seen = 0;
    std::size_t at = 0;
    for (const double d : differences) {
        if (d != 0) seen += d > 0 ? weights[at] : -weights[at];
        if (d != 0) ++at;
    }
    double far = 0;
    const std::uint32_t patterns = 1U << weights.size();
    for (std::uint32_t pattern = 0; pattern < patterns; ++pattern) {
        double sum = 0;
        for (std::size_t i = 0; i < weights.size(); ++i)
            sum += (pattern >> i & 1U) != 0 ? weights[i] : -weights[i];
        if (std::fabs(sum) >= std::fabs(seen) - 1e-9) far += 1;
    }
    return far / patterns;
}

TEST(SignedRank, EqualsAListingOfAllSigns) {
    constexpr std::uint64_t kSeed = 5;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (int round = 0; round < 200; ++round) {
        Values differences(1 + rng.below(11));
        for (double& d : differences) {
            d = round % 2 == 0 ? normal(rng) + 0.5 : static_cast<double>(rng.below(7)) - 2;
        }
        bool any = false;
        for (const double d : differences)
            any = any || d != 0;
        if (!any) continue;
        EXPECT_NEAR(signed_rank(differences).p, signs_p(differences, true), 1e-12) << round;
        EXPECT_NEAR(sign_flip(differences).p, signs_p(differences, false), 1e-12) << round;
    }
}

// As the table in every book has it: n = 6 can reach .031, n = 8 .0078.
TEST(SignedRank, SmallestAttainableP) {
    EXPECT_DOUBLE_EQ(signed_rank(Values{1, 2, 3, 4, 5, 6}).p, 0.03125);
    EXPECT_DOUBLE_EQ(signed_rank(Values{1, 2, 3, 4, 5, 6, 7, 8}).p, 0.0078125);
    EXPECT_DOUBLE_EQ(signed_rank(Values{1, 2, 3, 4, 5, 6}).best_attainable_p, 0.03125);
    EXPECT_EQ(signed_rank(Values(5, 0.0)).p, 1);
    EXPECT_EQ(signed_rank({}).p, 1);
    EXPECT_EQ(sign_flip(Values(5, 0.0)).p, 1);
}

TEST(SignedRank, LargeSamplesAreApproximatedClosely) {
    Rng rng(12);
    Values differences(kSignedRank);
    for (double& d : differences)
        d = normal(rng) + 0.12;
    const double exact = signed_rank(differences).p;
    differences.push_back(1e-9);  // the smallest rank: nearly nothing changes
    const auto approximate = signed_rank(differences);
    EXPECT_NE(approximate.name.find("approximation"), std::string::npos);
    EXPECT_NEAR(approximate.p, exact, 0.02 * exact + 1e-4);
}

TEST(SignFlip, ResamplingAgreesWithListing) {
    Rng rng(3);
    Values differences(16);
    for (double& d : differences)
        d = normal(rng) + 0.5;
    const auto exact = sign_flip(differences);
    const auto resampled = sign_flip(differences, 1, {100'000, 2'000, 0});
    EXPECT_EQ(exact.resamples, 0U);
    EXPECT_GT(resampled.resamples, 0U);
    EXPECT_NEAR(resampled.p, exact.p, 0.1 * exact.p + 1e-4);
}

TEST(Pairs, WhatSeedsShareIsTakenOff) {
    Rng rng(9);
    Values a(8);
    Values b(8);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double shared = 100 * normal(rng);
        a[i] = shared + normal(rng);
        b[i] = shared + 5 + normal(rng);
    }
    EXPECT_GT(mann_whitney(a, b).p, 0.5);
    const Paired paired = compare_pairs(a, b, false);
    EXPECT_LT(paired.test.p, 0.01);
    EXPECT_NEAR(paired.shift, 5, 1.5);
    ASSERT_TRUE(paired.shift_ci95);
    EXPECT_LT(paired.shift_ci95->first, 5);
    EXPECT_GT(paired.shift_ci95->second, 5);
    EXPECT_GT(paired.correlation.value_or(0), 0.9);
    EXPECT_FALSE(compare_pairs(Values{1, 2, 3, 4, 5}, Values{2, 3, 4, 5, 7}, false).shift_ci95)
        << "five pairs can't give 95 %";
}

// The interval of the shift covers at least as often as it says.
TEST(Pairs, IntervalsCover) {
    constexpr int kRounds = 700;
    for (const std::size_t n : {6U, 9U, 15U}) {
        Rng rng(40 + n);
        int covered = 0;
        for (int round = 0; round < kRounds; ++round) {
            Values a(n);
            Values b(n);
            for (std::size_t i = 0; i < n; ++i) {
                a[i] = normal(rng);
                b[i] = a[i] + 2 + normal(rng);
            }
            const Paired paired = compare_pairs(a, b, false);
            ASSERT_TRUE(paired.shift_ci95);
            if (paired.shift_ci95->first <= 2 && paired.shift_ci95->second >= 2) ++covered;
        }
        EXPECT_GE(covered, kRounds * (0.95 - 0.025)) << n;
    }
}

TEST(Correlation, KnownValues) {
    EXPECT_DOUBLE_EQ(*correlation(Values{1, 2, 3, 4}, Values{10, 20, 30, 41}).rho, 1);
    EXPECT_DOUBLE_EQ(*correlation(Values{1, 2, 3, 4}, Values{4, 3, 2, 1}).rho, -1);
    EXPECT_FALSE(correlation(Values{1, 1, 1, 1}, Values{4, 3, 2, 1}).rho);
    EXPECT_FALSE(correlation(Values{1, 2}, Values{2, 1}).rho);
    // Groups that lie apart are no correlation.
    const std::vector<std::pair<Values, Values>> groups{
        {{1, 2, 3, 4}, {4, 1, 3, 2}}, {{101, 102, 103, 104}, {104, 101, 103, 102}}};
    EXPECT_LT(*correlation(groups).rho, 0.1);
}

TEST(Correlation, PIsAProbability) {
    constexpr int kRounds = 600;
    Rng rng(77);
    int alarms = 0;
    for (int round = 0; round < kRounds; ++round) {
        Values a(8);
        Values b(8);
        for (std::size_t i = 0; i < a.size(); ++i) {
            a[i] = normal(rng);
            b[i] = normal(rng);
        }
        if (correlation(a, b, static_cast<std::uint64_t>(round)).p <= 0.05) ++alarms;
    }
    EXPECT_LE(alarms, kRounds * (0.05 + 0.027));
    EXPECT_GE(alarms, kRounds * 0.02);
}

}  // namespace
}  // namespace mano::stats
