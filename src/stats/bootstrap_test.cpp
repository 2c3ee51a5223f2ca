// SPDX-License-Identifier: GPL-2.0-or-later
// Coverage is measured in tests/proofs; here what must hold exactly.
#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

Values sample(Rng& rng, std::size_t n, double mean, double spread) {
    Values values(n);
    for (double& value : values)
        value = mean + spread * normal(rng);
    return values;
}

// A symmetric statistic without skew: BCa is the plain percentile interval.
TEST(Bca, WithoutBiasOrSkewItIsThePercentileInterval) {
    Values resampled(1001);
    for (std::size_t i = 0; i < resampled.size(); ++i)
        resampled[i] = static_cast<double>(i);
    const std::vector<Values> left_out{{-1, 0, 1}};
    const auto interval = bca_interval(resampled, 500, left_out);
    ASSERT_TRUE(interval);
    EXPECT_NEAR(interval->first, 25, 1e-9);
    EXPECT_NEAR(interval->second, 975, 1e-9);
}

TEST(Bca, RefusesWhatHasNoInterval) {
    const std::vector<Values> left_out{{1, 2, 3}};
    EXPECT_FALSE(bca_interval({}, 1, left_out));
    EXPECT_FALSE(bca_interval(Values(100, 2.0), 2, left_out));
    EXPECT_FALSE(bca_interval(Values{1, 2, HUGE_VAL}, 2, left_out));
    EXPECT_FALSE(bca_interval(Values{1, 2, 3}, 9, left_out)) << "the estimate lies outside";
}

TEST(Bootstrap, IsRepeatableAndScaleFree) {
    Rng rng(1);
    const Values a = sample(rng, 12, 100, 9);
    const Values b = sample(rng, 10, 130, 9);
    for (auto* change : {median_change_pct, mean_change_pct}) {
        const Bootstrap once = change(a, b, 5, kBootstraps);
        ASSERT_TRUE(once.ci95);
        EXPECT_EQ(once.gap, Gap::none);
        EXPECT_EQ(once.resamples, kBootstraps);
        EXPECT_EQ(once.ci95, change(a, b, 5, kBootstraps).ci95);
        EXPECT_NE(once.ci95, change(a, b, 6, kBootstraps).ci95);
        Values shuffled = a;
        std::reverse(shuffled.begin(), shuffled.end());
        EXPECT_EQ(once.ci95, change(shuffled, b, 5, kBootstraps).ci95);
        Values twice_a = a;
        Values twice_b = b;
        for (double& value : twice_a)
            value *= 2;
        for (double& value : twice_b)
            value *= 2;
        const Bootstrap scaled = change(twice_a, twice_b, 5, kBootstraps);
        EXPECT_NEAR(scaled.ci95->first, once.ci95->first, 1e-9);
        EXPECT_NEAR(scaled.ci95->second, once.ci95->second, 1e-9);
        EXPECT_LT(once.ci95->first, 30);
        EXPECT_GT(once.ci95->second, 30);
    }
}

// The table by which resampled medians are drawn, against drawing every value.
TEST(Bootstrap, MediansByTableAreMediansOfResamples) {
    Rng rng(4);
    for (const std::size_t n : {6U, 7U, 20U, 21U}) {
        const Values a = sample(rng, n, 100, 10);
        const Values b(n, 100.0);  // constant: the change is the base's median alone
        constexpr int kResamples = 40000;
        Values medians(kResamples);
        Values resample(n);
        for (double& median_of : medians) {
            for (double& value : resample)
                value = a[rng.below(n)];
            median_of = *median(resample);
        }
        std::sort(medians.begin(), medians.end());
        // The percentile interval of 100·(100/m - 1), bias and skew taken out by hand.
        const Bootstrap ours = median_change_pct(a, b, 3, kResamples);
        ASSERT_TRUE(ours.ci95);
        const double middle = (ours.ci95->first + ours.ci95->second) / 2;
        const double wide = ours.ci95->second - ours.ci95->first;
        const double low = 100 * (100 / medians[kResamples * 39 / 40] - 1);
        const double high = 100 * (100 / medians[kResamples / 40] - 1);
        EXPECT_NEAR(middle, (low + high) / 2, 0.4 * (high - low)) << n;
        EXPECT_NEAR(wide, high - low, 0.4 * (high - low)) << n;
    }
}

TEST(Bootstrap, SaysWhyThereIsNone) {
    const Values six{1, 2, 3, 4, 5, 6};
    EXPECT_EQ(median_change_pct(Values{1, 2, 3}, six).gap, Gap::too_few);
    EXPECT_EQ(mean_change_pct(six, Values{1, 2, 3}).gap, Gap::too_few);
    EXPECT_EQ(median_change_pct(Values(6, 0.0), six).gap, Gap::zero_base);
    EXPECT_EQ(mean_change_pct(Values(6, 0.0), six).gap, Gap::zero_base);
    EXPECT_EQ(median_change_pct(Values(6, 2.0), Values(6, 3.0)).gap, Gap::constant);
    EXPECT_EQ(mean_change_pct(Values{0, 0, 0, 0, 0, 0, 7, 9}, Values{0, 0, 0, 0, 0, 0, 0, 3}).gap,
              Gap::mostly_zero);
    // Three zeros of eight: every fourth resample's median is 0.
    EXPECT_EQ(median_change_pct(Values{0, 0, 0, 5, 6, 7, 8, 9}, Values{1, 2, 3, 4, 5, 6, 7, 8}).gap,
              Gap::zero_base);
    for (const Gap gap : {Gap::too_few, Gap::zero_base, Gap::mostly_zero, Gap::constant})
        EXPECT_FALSE(sentence_of(gap).empty());
    EXPECT_TRUE(sentence_of(Gap::none).empty());
}

TEST(Bootstrap, LargeSamplesToo) {
    Rng rng(6);
    const Values a = sample(rng, 1000, 100, 10);
    const Values b = sample(rng, 999, 110, 10);
    for (auto* change : {median_change_pct, mean_change_pct}) {
        const Bootstrap result = change(a, b, 1, 999);
        ASSERT_TRUE(result.ci95);
        EXPECT_LT(result.ci95->second - result.ci95->first, 5);
        EXPECT_LT(result.ci95->first, 10.5);
        EXPECT_GT(result.ci95->second, 9.5);
    }
}

}  // namespace
}  // namespace mano::stats
