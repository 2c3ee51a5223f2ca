// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/rng.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

TEST(Modes, TwoGroupsAreSaidWithBoth) {
    const auto modes = find_modes(Values{10, 11, 50, 10.5, 52, 9.5, 51, 10.2, 51.5, 49});
    ASSERT_TRUE(modes);
    EXPECT_NEAR(modes->low, 10.2, 1e-9);
    EXPECT_NEAR(modes->high, 51, 1e-9);
    EXPECT_EQ(modes->n_low, 5U);
    EXPECT_EQ(modes->n_high, 5U);
    EXPECT_FALSE(find_modes(Values{10, 11, 50, 51}));
    EXPECT_FALSE(find_modes(Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_FALSE(find_modes(Values(10, 3.0)));
    EXPECT_FALSE(find_modes(Values{10, 11, 10.5, 9.5, 10.2, 10.3, 10.4, 51, 52})) << "two of nine";
    EXPECT_FALSE(find_modes(Values{0, 0, 0, 0, 7, 7, 7, 7})) << "small counts do that";
    const auto steps = find_modes(Values{0, 0, 0, 0, 0, 7, 7, 7, 7, 7});
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->high, 7);
}

TEST(Modes, AStrayValueBetweenHidesNothing) {
    Values values;
    Rng rng(2);
    for (int i = 0; i < 40; ++i)
        values.push_back((i % 2 == 0 ? 100 : 200) + normal(rng));
    values.push_back(150);
    ASSERT_TRUE(find_modes(values));
}

// How often one group of values is taken for two, by shape and size.
TEST(Modes, FalseAlarmsAreRare) {
    const std::vector<std::pair<const char*, std::function<double(Rng&)>>> shapes{
        {"normal", [](Rng& rng) { return normal(rng); }},
        {"uniform", [](Rng& rng) { return rng.unit(); }},
        {"exponential", [](Rng& rng) { return -std::log(1 - rng.unit()); }},
        {"lognormal", [](Rng& rng) { return std::exp(normal(rng)); }}};
    constexpr int kRounds = 2000;
    for (const auto& [name, draw] : shapes) {
        for (const std::size_t n : {8U, 12U, 20U, 100U}) {
            Rng rng(1000 + n);
            int alarms = 0;
            for (int round = 0; round < kRounds; ++round) {
                Values values(n);
                for (double& value : values)
                    value = draw(rng);
                if (find_modes(values)) ++alarms;
            }
            EXPECT_LE(alarms, kRounds * 25 / 1000) << name << ", n = " << n;
            RecordProperty(std::string(name) + std::to_string(n), alarms);
        }
    }
}

TEST(Outlier, OneThatLiesApart) {
    const Values values{10, 11, 95, 10.5, 9.8};
    const auto outlier = find_outlier(values);
    ASSERT_TRUE(outlier);
    EXPECT_EQ(outlier->index, 2U);
    EXPECT_EQ(outlier->value, 95);
    ASSERT_TRUE(find_outlier(Values{5, 5, 5, 5, 9}));
    EXPECT_EQ(find_outlier(Values{-70, 5, 6, 5, 7, 6})->index, 0U);
    EXPECT_FALSE(find_outlier(Values{5, 5, 5, 5, 5}));
    EXPECT_FALSE(find_outlier(Values{1, 2, 3, 4, 5}));
    EXPECT_FALSE(find_outlier(Values{1, 2, 3, 100}));
    EXPECT_FALSE(find_outlier(Values{1, 2, 3, 100, 101, 2})) << "two are a group";
}

TEST(Outlier, FalseAlarmsAreRare) {
    constexpr int kRounds = 4000;
    for (const std::size_t n : {6U, 10U, 30U}) {
        Rng rng(n);
        int alarms = 0;
        for (int round = 0; round < kRounds; ++round) {
            Values values(n);
            for (double& value : values)
                value = normal(rng);
            if (find_outlier(values)) ++alarms;
        }
        EXPECT_LE(alarms, kRounds / 100) << n;
    }
}

struct Trials {
    Values values, places;
    std::vector<std::uint32_t> arms;
};
// Two arms in turn, the second higher by `effect`, all rising by `drift` a trial.
Trials run_of(Rng& rng, std::size_t n, double effect, double drift) {
    Trials run;
    for (std::size_t i = 0; i < n; ++i) {
        const auto arm = static_cast<std::uint32_t>((i + rng.below(2)) % 2);
        run.arms.push_back(arm);
        run.places.push_back(static_cast<double>(i));
        run.values.push_back(normal(rng) + effect * arm + drift * static_cast<double>(i));
    }
    return run;
}

TEST(Drift, IsSeenBesideAnEffect) {
    Rng rng(3);
    const Trials run = run_of(rng, 24, 40, 0.5);
    const auto drift = find_drift(run.values, run.places, run.arms);
    ASSERT_TRUE(drift);
    EXPECT_LT(drift->p, 0.001);
    EXPECT_GT(drift->rho, 0.8);
    EXPECT_NEAR(drift->change, 0.5 * 23, 4);
    EXPECT_FALSE(find_drift(Values{1, 2, 3}, Values{1, 2, 3}, std::vector<std::uint32_t>(3, 0)));
    EXPECT_FALSE(find_drift(Values(12, 1.0), Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                            std::vector<std::uint32_t>(12, 0)));
}

// An effect without a drift is no drift, and nothing is one as often as p says.
TEST(Drift, FalseAlarmsAreAsRareAsSaid) {
    constexpr int kRounds = 1000;
    for (const double effect : {0.0, 50.0}) {
        Rng rng(5);
        int alarms = 0;
        for (int round = 0; round < kRounds; ++round) {
            const Trials run = run_of(rng, 16, effect, 0);
            const auto drift = find_drift(run.values, run.places, run.arms, 9);
            if (drift && drift->p <= 0.05) ++alarms;
        }
        EXPECT_LE(alarms, kRounds * (0.05 + 0.021)) << effect;
    }
}

}  // namespace
}  // namespace mano::stats
