// SPDX-License-Identifier: GPL-2.0-or-later
// The whole way from raw trials to verdicts on simulated A/A run sets: equal kernels must not be
// told apart more often than alpha says, and a planted effect must be found.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "report/report.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using measure::Better;
using stats::Verdict;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

// A primary metric, four secondary ones of other shapes (ties, zeros, heavy tails), ten others.
store::RunSet simulate(Rng& rng, std::size_t trials, double effect) {
    testing::Builder builder({"a", "b"});
    builder.runset.plan.shared_seeds = false;
    auto& keys = builder.runset.plan.key_metrics;
    keys.push_back(testing::key(testing::metric("probe.ops", "count", Better::higher), true));
    for (const char* name : {"tp.ties", "tp.zeros", "tp.tail", "tp.smooth"}) {
        keys.push_back(testing::key(testing::metric(name, "count", Better::lower)));
    }
    for (std::size_t row = 0; row < trials; ++row) {
        for (std::uint32_t arm = 0; arm < 2; ++arm) {
            builder.trial(arm)
                .counter("probe.ops", (1000 + 30 * normal(rng)) * (arm == 1 ? 1 + effect : 1))
                .counter("tp.ties", static_cast<double>(rng.below(5)))
                .counter("tp.zeros", rng.below(2) == 0 ? 0 : std::exp(8 + 2 * normal(rng)))
                .counter("tp.tail", std::exp(5 + 2 * normal(rng)))
                .counter("tp.smooth", 500 + 20 * normal(rng));
            for (int other = 0; other < 10; ++other) {
                builder.counter(fmt::format("tp.other{}", other), 5000 + 900 * normal(rng));
            }
        }
    }
    return builder.runset;
}

bool told_apart(const Change& change) {
    return change.verdict == Verdict::better || change.verdict == Verdict::worse;
}

TEST(Simulation, EqualKernelsAreNotToldApartMoreOftenThanStated) {
    constexpr int kRunSets = 600;
    // The rate of 5 % and three standard errors of it over 600 run sets.
    constexpr double kMost = kRunSets * (0.05 + 0.027);
    for (const std::size_t trials : {4U, 8U}) {
        Rng rng(20261130 + trials);
        int primary = 0;
        int secondary = 0;
        int others = 0;
        for (int i = 0; i < kRunSets; ++i) {
            const auto data = build(simulate(rng, trials, 0), {});
            ASSERT_TRUE(data);
            bool any_secondary = false;
            bool any_other = false;
            for (const MetricRow& row : data->cases[0].rows) {
                if (row.primary) {
                    primary += told_apart(row.changes[0]) ? 1 : 0;
                } else if (row.key) {
                    any_secondary = any_secondary || told_apart(row.changes[0]);
                } else {
                    any_other = any_other || row.shown;
                }
            }
            secondary += any_secondary ? 1 : 0;
            others += any_other ? 1 : 0;
        }
        EXPECT_LE(primary, kMost) << trials << " trials";
        EXPECT_LE(secondary, kMost) << trials << " trials";
        EXPECT_LE(others, kMost) << trials << " trials";
        RecordProperty(fmt::format("false_verdicts_n{}", trials),
                       fmt::format("{} {} {}", primary, secondary, others));
    }
}

TEST(Simulation, APlantedEffectIsFound) {
    constexpr int kRunSets = 100;
    Rng rng(7);
    int found = 0;
    for (int i = 0; i < kRunSets; ++i) {
        const auto data = build(simulate(rng, 6, -0.1), {});  // 3.3 standard deviations
        ASSERT_TRUE(data);
        if (data->verdict == Verdict::worse) ++found;
    }
    EXPECT_GE(found, 95);
}

}  // namespace
}  // namespace mano::report
