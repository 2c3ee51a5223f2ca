// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

TEST(LkpRule, MediansOutsideTheOthersRange) {
    EXPECT_TRUE(lkp_changed(Values{100, 101, 102}, Values{110, 111, 112}));
    EXPECT_TRUE(lkp_changed(Values{110, 111, 112}, Values{100, 101, 102}));
    // Ranges may overlap as long as the medians don't lie in them.
    EXPECT_TRUE(lkp_changed(Values{100, 101, 106}, Values{105, 111, 112}));
    EXPECT_FALSE(lkp_changed(Values{100, 101, 112}, Values{105, 111, 113}));
    EXPECT_FALSE(lkp_changed(Values{100, 101, 102}, Values{100.9, 111, 112}));
    EXPECT_FALSE(lkp_changed(Values{1000, 1001, 1002}, Values{1005, 1006, 1007})) << "0.5 %";
    EXPECT_FALSE(lkp_changed(Values{100, 100, 100}, Values{103, 103, 103}, false)) << "3 % < 5 %";
    EXPECT_TRUE(lkp_changed(Values{100, 100, 100}, Values{103, 103, 103}));
    EXPECT_FALSE(lkp_changed(Values{1, 1}, Values{9, 9}));
    EXPECT_TRUE(lkp_changed(Values{0, 0, 0}, Values{9, 9, 9}));
    EXPECT_FALSE(lkp_changed({}, Values{9, 9, 9}));
}

// False alarms on equal normal values fall with the number of runs: .2 at 3, .048 at 5, .001 at 10.
TEST(LkpRule, FalseAlarmsByNumberOfRuns) {
    constexpr int kRounds = 20000;
    const std::pair<std::size_t, double> expected[] = {{3, 0.2}, {5, 0.048}, {10, 0.0014}};
    for (const auto& [n, rate] : expected) {
        Rng rng(n);
        int alarms = 0;
        for (int round = 0; round < kRounds; ++round) {
            Values a(n);
            Values b(n);
            for (double& value : a)
                value = 100 + 60 * normal(rng);  // wide: the 1 % filter plays no part
            for (double& value : b)
                value = 100 + 60 * normal(rng);
            if (lkp_changed(a, b)) ++alarms;
        }
        EXPECT_NEAR(alarms, kRounds * rate, 4 * std::sqrt(kRounds * rate) + kRounds * 0.004) << n;
    }
}

}  // namespace
}  // namespace mano::stats
