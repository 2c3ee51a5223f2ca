// SPDX-License-Identifier: GPL-2.0-or-later
// The whole way from raw trials to verdicts, on simulated run sets of 200 metrics: equal kernels
// are told apart no more often than stated, planted effects are found. Prints what docs/methods.md
// says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "draws.h"
#include "report/report.h"
#include "report/test_runsets.h"
#include "stats/rules.h"

namespace mano::proofs {
namespace {

using measure::Better;
using report::testing::key;
using report::testing::metric;
using stats::Verdict;

constexpr std::size_t kMetrics = 200;
constexpr std::size_t kSecondaries = 4;

std::string name_of(std::size_t metric) {
    return fmt::format("tp.m{}", metric);
}

// A primary, four secondary and 195 other metrics of five shapes. `effect`: by how much the
// primary, which is 5,000 in the median, is higher in the second arm.
store::RunSet simulate(Rng& rng, std::size_t trials, double effect) {
    report::testing::Builder builder({"a", "b"});
    builder.runset.plan.shared_seeds = false;
    builder.runset.plan.exact = false;
    for (std::size_t i = 0; i <= kSecondaries; ++i) {
        builder.runset.plan.key_metrics.push_back(
            key(metric(name_of(i), "count", Better::lower), i == 0));
    }
    for (std::size_t row = 0; row < trials; ++row) {
        for (std::uint32_t arm = 0; arm < 2; ++arm) {
            builder.trial(arm);
            for (std::size_t i = 0; i < kMetrics; ++i) {
                const double more = i == 0 && arm == 1 ? effect : 0;
                builder.counter(name_of(i), mixed(i, rng) + more);
            }
        }
    }
    return builder.runset;
}

struct Alarms {
    int primary = 0, secondary = 0, others = 0, remarks = 0;
};

Alarms alarms_of(const report::ReportData& data) {
    Alarms alarms;
    for (const report::MetricRow& row : data.cases[0].rows) {
        const report::Change& change = row.changes[0];
        const bool told = change.verdict == Verdict::better || change.verdict == Verdict::worse;
        const bool significant = change.comparison.p_adjusted.value_or(1) <= 0.05;
        if (row.primary) {
            alarms.primary = told ? 1 : 0;
        } else if (row.key) {
            alarms.secondary |= told ? 1 : 0;
        } else {
            alarms.others |= significant ? 1 : 0;
        }
    }
    for (const report::Warning& warning : data.warnings) {
        const bool remark = warning.code == "bimodal" || warning.code == "drift";
        alarms.remarks |= remark ? 1 : 0;
    }
    return alarms;
}

TEST(Families, EqualKernelsAreNotToldApartMoreOftenThanStated) {
    constexpr int kFamilies = 500;
    // 5 % and three standard errors of it over 500 families.
    const double most = kFamilies * (0.05 + 3 * std::sqrt(0.05 * 0.95 / kFamilies));
    for (const std::size_t trials : {4U, 6U, 8U, 12U}) {
        Rng rng(20261130 + trials);
        Alarms sum;
        for (int family = 0; family < kFamilies; ++family) {
            const auto data = report::build(simulate(rng, trials, 0), {});
            ASSERT_TRUE(data);
            const Alarms alarms = alarms_of(*data);
            sum.primary += alarms.primary;
            sum.secondary += alarms.secondary;
            sum.others += alarms.others;
            sum.remarks += alarms.remarks;
        }
        fmt::print(
            "A/A, {} trials an arm: of {} families of {} metrics, false verdicts of the "
            "primary {}, of any secondary {}, of any other row {}; groundless remarks {}\n",
            trials, kFamilies, kMetrics, sum.primary, sum.secondary, sum.others, sum.remarks);
        EXPECT_LE(sum.primary, most) << trials;
        EXPECT_LE(sum.secondary, most) << trials;
        EXPECT_LE(sum.others, most) << trials;
    }
}

TEST(Families, APlantedEffectIsFound) {
    constexpr int kFamilies = 200;
    // The primary is normal with 18 % spread: what the report calls detectable at 80 % power must
    // be found about as often.
    for (const std::size_t trials : {6U, 8U, 12U}) {
        Rng rng(7 + trials);
        double said = 0;
        for (int family = 0; family < 40; ++family) {
            const auto data = report::build(simulate(rng, trials, 0), {});
            ASSERT_TRUE(data);
            for (const report::MetricRow& row : data->cases[0].rows) {
                if (row.primary) said += row.changes[0].comparison.detectable_pct.value_or(0) / 40;
            }
        }
        int found = 0;
        for (int family = 0; family < kFamilies; ++family) {
            const auto data = report::build(simulate(rng, trials, 5000 * said / 100), {});
            ASSERT_TRUE(data);
            if (data->verdict == Verdict::worse) ++found;
        }
        fmt::print(
            "power, {} trials an arm: +{:.0f}% said to be found with 80%; found in {} of "
            "{}\n",
            trials, said, found, kFamilies);
        EXPECT_GE(found, kFamilies * 0.65) << trials;
    }
}

// 3,000 metrics of which 300 rise by 10 %, with 10 % spread: what each rule finds of the 300, and
// of the 2,700. Ours is the rank test with Benjamini and Hochberg's adjustment, as in the report.
TEST(Decisions, OursFindsMoreAsRunsAreAdded) {
    constexpr std::size_t kAll = 3000;
    constexpr std::size_t kChanged = 300;
    constexpr int kRepeats = 20;
    double last = -1;
    for (const std::size_t n : {3U, 5U, 8U, 10U, 20U, 40U}) {
        Rng rng(3000 + n);
        double ours_true = 0;
        double ours_false = 0;
        double lkp_true = 0;
        double lkp_false = 0;
        for (int repeat = 0; repeat < kRepeats; ++repeat) {
            std::vector<double> p;
            for (std::size_t i = 0; i < kAll; ++i) {
                std::vector<double> a(n);
                std::vector<double> b(n);
                for (double& value : a)
                    value = 100 + 10 * normal(rng);
                for (double& value : b)
                    value = (100 + 10 * normal(rng)) * (i < kChanged ? 1.1 : 1);
                p.push_back(stats::mann_whitney(a, b).p);
                if (stats::lkp_changed(a, b)) (i < kChanged ? lkp_true : lkp_false) += 1;
            }
            const auto adjusted = stats::benjamini_hochberg(p);
            for (std::size_t i = 0; i < kAll; ++i) {
                if (adjusted[i] <= 0.05) (i < kChanged ? ours_true : ours_false) += 1;
            }
        }
        const double discovered = std::max(1.0, ours_true + ours_false);
        fmt::print(
            "decisions, {} runs: lkp's rule {:.0f}/{:.0f}, ours {:.0f}/{:.0f}; false of "
            "ours {:.1f}%\n",
            n, lkp_true / kRepeats, lkp_false / kRepeats, ours_true / kRepeats,
            ours_false / kRepeats, 100 * ours_false / discovered);
        EXPECT_GE(ours_true, last) << "more runs must not find less";
        last = ours_true;
        if (ours_true + ours_false > 100) {
            EXPECT_LE(ours_false / discovered, 0.05 + 0.005) << n;
        }
    }
    EXPECT_GT(last, kRepeats * kChanged * 0.8);
}

}  // namespace
}  // namespace mano::proofs
