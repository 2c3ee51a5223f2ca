// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

Ruling rule(const Values& base, const Values& other, Judgement judgement = {}) {
    const Comparison comparison = compare(base, other);
    const double best = comparison.test ? comparison.test->best_attainable_p : 1;
    return judge(comparison, best, summarize(base), summarize(other), judgement);
}

const Values kSix = {100, 101, 102, 103, 104, 105};
const Values kSixHigher = {200, 201, 202, 203, 204, 205};
constexpr Judgement kLower = {.alpha = 0.05, .direction = -1, .margin = 5, .floor = 0};
constexpr Judgement kHigher = {.alpha = 0.05, .direction = 1, .margin = 5, .floor = 0};

TEST(Judge, DirectionDecidesBetweenBetterAndWorse) {
    EXPECT_EQ(rule(kSix, kSixHigher, kLower).verdict, Verdict::worse);
    EXPECT_EQ(rule(kSix, kSixHigher, kHigher).verdict, Verdict::better);
    EXPECT_EQ(rule(kSixHigher, kSix, kLower).verdict, Verdict::better);
    const Ruling neutral = rule(kSix, kSixHigher, {.direction = 0});
    EXPECT_EQ(neutral.verdict, Verdict::inconclusive);
    EXPECT_EQ(neutral.reason, Reason::no_direction);
}

TEST(Judge, AFloorKeepsSmallChangesOut) {
    Judgement judgement = kLower;
    judgement.floor = 150;
    judgement.margin = 0;
    EXPECT_EQ(rule(kSix, kSixHigher, judgement).verdict, Verdict::no_change);
    judgement.floor = 101;  // the estimate is inside, its interval isn't
    EXPECT_EQ(rule(kSix, kSixHigher, judgement).reason, Reason::below_floor);
}

TEST(Judge, NoChangeNeedsTheWholeIntervalInsideTheMargin) {
    const Values near = {100.5, 101.5, 102.5, 103.5, 104.5, 99.5};
    EXPECT_EQ(rule(kSix, near, kLower).verdict, Verdict::no_change);
    Judgement narrow = kLower;
    narrow.margin = 1;
    EXPECT_EQ(rule(kSix, near, narrow).verdict, Verdict::inconclusive);
    EXPECT_EQ(rule(kSix, near, narrow).reason, Reason::not_significant);
}

TEST(Judge, ASignificantChangeInsideTheMarginIsStillSaid) {
    const Values base = {100, 100.1, 100.2, 100.3, 100.4, 100.5};
    const Values other = {101, 101.1, 101.2, 101.3, 101.4, 101.5};
    const Ruling ruling = rule(base, other, kLower);
    EXPECT_EQ(ruling.verdict, Verdict::worse);
    EXPECT_EQ(ruling.reason, Reason::significant_inside);
}

TEST(Judge, TooFewWhenNothingCouldReachAlpha) {
    EXPECT_EQ(rule({1, 2, 3}, {10, 11, 12}, kLower).verdict, Verdict::too_few);
    EXPECT_EQ(rule({1}, {10}, kLower).verdict, Verdict::too_few);
    EXPECT_EQ(rule({}, {10}, kLower).reason, Reason::no_values);
    // Six against six, but only one value differs: these values can't decide anything.
    const Ruling one = rule({0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 9000}, kLower);
    EXPECT_NE(one.verdict, Verdict::no_change);
}

TEST(Judge, IdenticalOutcomesMakeNoPValue) {
    const Values fives(6, 5.0);
    const Values sevens(6, 7.0);
    EXPECT_FALSE(compare(fives, sevens).test);
    const Ruling ruling = rule(fives, sevens, {.direction = -1, .margin = 0.1});
    EXPECT_EQ(ruling.verdict, Verdict::inconclusive);
    EXPECT_EQ(ruling.reason, Reason::identical_outcomes);
    EXPECT_TRUE(compare(fives, fives).identical);
    EXPECT_EQ(rule(fives, fives, kLower).verdict, Verdict::no_change);
    EXPECT_EQ(rule(Values(3, 5.0), Values(3, 5.0), kLower).verdict, Verdict::too_few);
    // One constant arm is flagged, but the other one's spread is real.
    EXPECT_TRUE(compare(fives, kSix).base_constant);
    EXPECT_EQ(rule(fives, kSix, kLower).verdict, Verdict::worse);
}

TEST(Judge, ZeroInflatedCountsAreNotCalledUnchangedByTheirMedians) {
    const Values quiet = {0, 0, 0, 0, 0, 0, 0, 0};
    const Values rare = {0, 0, 0, 0, 0, 0, 0, 60000};
    const Comparison comparison = compare(quiet, rare);
    EXPECT_TRUE(comparison.zero_inflated);
    EXPECT_EQ(comparison.shift->estimate, 0);
    EXPECT_EQ(rule(quiet, rare, {.direction = -1, .floor = 10}).reason, Reason::totals_differ);
    EXPECT_EQ(rule(quiet, rare, {.direction = -1, .floor = 10}).verdict, Verdict::inconclusive);
}

TEST(Judge, AdjustmentCanMakeItTooFewOrInconclusive) {
    Comparison comparison = compare(kSix, kSixHigher);
    comparison.p_adjusted = 0.06;
    EXPECT_EQ(judge(comparison, 0.06, summarize(kSix), summarize(kSixHigher), kLower).verdict,
              Verdict::too_few);
    EXPECT_EQ(judge(comparison, 0.01, summarize(kSix), summarize(kSixHigher), kLower).verdict,
              Verdict::inconclusive);
}

TEST(Combine, Verdicts) {
    const auto all = [](std::vector<Verdict> verdicts) { return combine(verdicts); };
    EXPECT_EQ(all({Verdict::better, Verdict::worse}), Verdict::mixed);
    EXPECT_EQ(all({Verdict::no_change, Verdict::better}), Verdict::better);
    EXPECT_EQ(all({Verdict::too_few, Verdict::worse}), Verdict::worse);
    EXPECT_EQ(all({Verdict::no_change, Verdict::no_change}), Verdict::no_change);
    EXPECT_EQ(all({Verdict::no_change, Verdict::inconclusive}), Verdict::inconclusive);
    EXPECT_EQ(all({Verdict::inconclusive, Verdict::too_few}), Verdict::too_few);
    EXPECT_EQ(all({Verdict::not_comparable, Verdict::too_few}), Verdict::not_comparable);
    EXPECT_EQ(all({}), Verdict::too_few);
}

TEST(TrialsNeeded, FollowsTheBestAttainableP) {
    EXPECT_EQ(trials_needed(0.05), 4U);
    EXPECT_EQ(trials_needed(0.1), 3U);
    EXPECT_EQ(trials_needed(0.05 / 6), 5U);
    EXPECT_EQ(trials_needed(0), 0U);
    for (const double alpha : {0.2, 0.05, 0.01, 0.001, 1e-6}) {
        const std::size_t n = trials_needed(alpha);
        Values a(n);
        Values b(n);
        for (std::size_t i = 0; i < n; ++i) {
            a[i] = static_cast<double>(i);
            b[i] = static_cast<double>(i + n);
        }
        EXPECT_LE(mann_whitney(a, b).p, alpha);
        EXPECT_GT(mann_whitney(std::span(a).subspan(1), std::span(b).subspan(1)).p, alpha);
    }
}

// What was said to be detectable is found in 80 % of fresh samples.
TEST(Detectable, IsFoundAsOftenAsSaid) {
    Rng rng(2026);
    double power = 0;
    constexpr int kOuter = 60;
    constexpr int kInner = 100;
    for (int round = 0; round < kOuter; ++round) {
        Values a(8);
        Values b(8);
        for (double& value : a)
            value = 1000 + 50 * normal(rng);
        for (double& value : b)
            value = 1000 + 50 * normal(rng);
        const auto pct = detectable_pct(a, b, 0.05, 9);
        ASSERT_TRUE(pct);
        int found = 0;
        for (int again = 0; again < kInner; ++again) {
            for (double& value : a)
                value = 1000 + 50 * normal(rng);
            for (double& value : b)
                value = 1000 * (1 + *pct / 100) + 50 * normal(rng);
            if (mann_whitney(a, b).p <= 0.05) ++found;
        }
        power += static_cast<double>(found) / kInner;
    }
    EXPECT_NEAR(power / kOuter, 0.8, 0.12);
}

TEST(Detectable, UnknownWhereItCannotBeSaid) {
    EXPECT_FALSE(detectable_pct(Values{1, 2, 3}, Values{1, 2, 3}, 0.05));
    EXPECT_FALSE(detectable_pct(Values(6, 0.0), kSix, 0.05));
    EXPECT_FALSE(detectable_pct(Values(6, 5.0), Values(6, 5.0), 0.05));
    EXPECT_FALSE(detectable_pct({}, kSix, 0.05));
    EXPECT_EQ(detectable_pct(kSix, kSixHigher, 0.05, 3), detectable_pct(kSix, kSixHigher, 0.05, 3));
}

// Families of one primary and four secondary metrics without any difference: continuous, counts
// with ties, and zero-inflated. A family errs when it says better or worse of its primary, or of
// any secondary (Holm).
TEST(Simulation, FalseVerdictsStayBelowAlpha) {
    constexpr int kFamilies = 1500;
    constexpr double kAlpha = 0.05;
    for (const std::size_t n : {4U, 6U, 10U}) {
        Rng rng(900 + n);
        const auto draw = [&](int shape) {
            Values values(n);
            for (double& value : values) {
                value = shape % 3 == 0      ? 100 + 10 * normal(rng)
                        : shape % 3 == 1    ? static_cast<double>(rng.below(6))
                        : rng.below(2) == 0 ? 0
                                            : std::floor(std::exp(8 + 2 * normal(rng)));
            }
            return values;
        };
        int primary_errors = 0;
        int secondary_errors = 0;
        for (int family = 0; family < kFamilies; ++family) {
            const Values a = draw(family);
            const Values b = draw(family);
            const Verdict primary = rule(a, b, kLower).verdict;
            if (primary == Verdict::better || primary == Verdict::worse) ++primary_errors;
            std::vector<double> p;
            for (int metric = 0; metric < 4; ++metric) {
                p.push_back(mann_whitney(draw(family + metric), draw(family + metric)).p);
            }
            bool wrong = false;
            for (const double adjusted : holm(p))
                wrong = wrong || adjusted <= kAlpha;
            if (wrong) ++secondary_errors;
        }
        // Three standard errors of a rate of 5 % over 1,500 are 1.7 points.
        EXPECT_LE(primary_errors, kFamilies * (kAlpha + 0.017)) << "n = " << n;
        EXPECT_LE(secondary_errors, kFamilies * (kAlpha + 0.017)) << "n = " << n;
    }
}

TEST(Simulation, APlantedEffectIsFound) {
    Rng rng(4);
    constexpr int kRounds = 500;
    int found = 0;
    for (int round = 0; round < kRounds; ++round) {
        Values a(8);
        Values b(8);
        for (double& value : a)
            value = 100 + 5 * normal(rng);
        for (double& value : b)
            value = 112 + 5 * normal(rng);  // 2.4 standard deviations
        if (rule(a, b, kLower).verdict == Verdict::worse) ++found;
    }
    EXPECT_GT(found, kRounds * 0.95);
}

}  // namespace
}  // namespace mano::stats
