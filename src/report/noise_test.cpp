// SPDX-License-Identifier: GPL-2.0-or-later
// Pairs, placebo, noise, precision, remarks, huge pages in use: on run sets made by hand.
#include "report/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "report/report.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using measure::Better;
using stats::Verdict;
using testing::Builder;
using testing::key;
using testing::metric;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

ReportData built(const store::RunSet& runset, const Options& options = {}) {
    auto data = build(runset, options);
    EXPECT_TRUE(data) << (data ? "" : data.error().text());
    return data ? std::move(*data) : ReportData{};
}

const MetricRow& primary(const ReportData& data) {
    return data.cases.at(0).rows.at(0);
}

bool warns(const ReportData& data, const std::string& code) {
    return std::any_of(data.warnings.begin(), data.warnings.end(),
                       [&](const Warning& warning) { return warning.code == code; });
}

// Each seed shifts both arms alike; the second arm is higher by 5.
store::RunSet seeded(bool paired) {
    Builder builder({"a", "b"});
    builder.runset.plan.exact = false;
    builder.runset.plan.paired = paired;
    builder.runset.plan.paired_because = "correlation 0.99";
    builder.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower, 1), true)};
    Rng rng(3);
    for (int row = 0; row < 8; ++row) {
        const double of_seed = 1000 + 100 * normal(rng);
        builder.trial(0).counter("probe.x", of_seed + normal(rng));
        builder.trial(1).counter("probe.x", of_seed + 5 + normal(rng));
    }
    return builder.runset;
}

TEST(Pairs, AreUsedOnlyWhereThePlanSaysSo) {
    const ReportData apart = built(seeded(false));
    EXPECT_FALSE(primary(apart).changes[0].comparison.paired);
    EXPECT_NE(apart.verdict, Verdict::worse);
    const ReportData together = built(seeded(true));
    const stats::Comparison& comparison = primary(together).changes[0].comparison;
    ASSERT_TRUE(comparison.paired);
    EXPECT_EQ(comparison.paired->pairs, 8U);
    EXPECT_GT(comparison.paired->correlation.value_or(0), 0.9);
    EXPECT_EQ(comparison.test->name, "exact signed rank");
    EXPECT_EQ(together.verdict, Verdict::worse);
    EXPECT_NE(render_text(together).find("8 pairs of equal seeds"), std::string::npos);
    EXPECT_NE(render_text(together).find("correlation 0.99"), std::string::npos);
    store::RunSet unshared = seeded(true);
    unshared.plan.shared_seeds = false;
    EXPECT_FALSE(primary(built(unshared)).changes[0].comparison.paired);
}

TEST(Pairs, TheEvidenceIsACorrelationBetweenArms) {
    const auto found = seed_correlation(seeded(false));
    ASSERT_TRUE(found);
    ASSERT_TRUE(*found);
    EXPECT_GT((*found)->rho, 0.9);
    EXPECT_LT((*found)->p, 0.01);
    EXPECT_EQ((*found)->pairs, 8U);
    store::RunSet unshared = seeded(false);
    unshared.plan.shared_seeds = false;
    const auto none = seed_correlation(unshared);
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
}

store::RunSet with_placebo(double placebo, double effect) {
    Builder builder({"base", "changed", "layout"});
    builder.runset.plan.arms[2].placebo = true;
    builder.runset.plan.exact = false;
    builder.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower, 1), true)};
    for (int row = 0; row < 8; ++row) {
        builder.trial(0).counter("probe.x", 1000 + row);
        builder.trial(1).counter("probe.x", 1000 + row + effect);
        builder.trial(2).counter("probe.x", 1000 + row + placebo);
    }
    return builder.runset;
}

TEST(PlaceboArm, IsTheFloorUnderEveryDifference) {
    const ReportData small = built(with_placebo(60, 40));
    const Change& change = primary(small).changes[0];
    EXPECT_EQ(change.verdict, Verdict::inconclusive);
    EXPECT_EQ(change.why.code, "below-placebo");
    ASSERT_TRUE(change.placebo);
    EXPECT_EQ(change.placebo->arm, "layout");
    EXPECT_EQ(change.placebo->shift, 60);
    EXPECT_TRUE(warns(small, "below-placebo"));
    EXPECT_TRUE(warns(small, "placebo-differs"));
    EXPECT_EQ(small.verdict, Verdict::inconclusive);
    EXPECT_EQ(exit_code(small), 0) << "a placebo that is worse is no regression";
    const ReportData large = built(with_placebo(60, 90));
    EXPECT_EQ(large.verdict, Verdict::worse);
    EXPECT_EQ(exit_code(large), 4);
    EXPECT_NE(render_text(large).find("placebo layout: +6.0% from the base"), std::string::npos)
        << render_text(large);
    EXPECT_NE(render_text(large).find("base -> layout (placebo): worse"), std::string::npos);
    EXPECT_NE(render_json(large).find("\"placebo\": true"), std::string::npos);
}

store::RunSet aa_runset() {
    Builder builder({"a", "b"});
    builder.runset.plan.shared_seeds = false;
    builder.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower, 10), true)};
    for (store::StoredArm& arm : builder.runset.arms)
        arm.kernel_json = R"({"id":"same","release":"7.3"})";
    Rng rng(4);
    for (int row = 0; row < 12; ++row) {
        for (const std::uint32_t arm : {0U, 1U})
            builder.trial(arm).counter("probe.x", 1000 + 30 * normal(rng));
    }
    return builder.runset;
}

TEST(Noise, OfOneKernelIsQuoted) {
    const store::RunSet aa = aa_runset();
    EXPECT_TRUE(is_aa(aa));
    EXPECT_FALSE(is_aa(seeded(false)));
    store::RunSet other_image = aa;
    other_image.arms[1].kernel_json = R"({"id":"other"})";
    EXPECT_FALSE(is_aa(other_image));
    EXPECT_TRUE(same_ground(aa, aa.plan, aa.identity));
    plan::Plan other_shape = aa.plan;
    other_shape.shape.cpus = 8;
    EXPECT_FALSE(same_ground(aa, other_shape, aa.identity));
    EXPECT_FALSE(same_ground(aa, aa.plan, {{"qemu", "9"}}));

    Options options;
    options.aa = &aa;
    const ReportData data = built(seeded(false), options);
    ASSERT_TRUE(data.noise);
    EXPECT_EQ(data.noise->trials, 24U);
    const auto& noise = primary(data).noise;
    ASSERT_TRUE(noise);
    // 8 against 8 with 30 spread: 1.96·30·sqrt(2/8), and 2.8 times the same for 80 % power.
    EXPECT_NEAR(noise->floor, 30, 13);
    EXPECT_NEAR(noise->detectable.value_or(0), 43, 18);
    EXPECT_NE(render_text(data).find("A/A here: equal kernels lie up to"), std::string::npos);
    EXPECT_NE(render_json(data).find("\"floor_pct\""), std::string::npos);
}

TEST(Noise, SpreadsOfKeyMetrics) {
    const auto found = spreads(aa_runset());
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().metric, "probe.x");
    EXPECT_EQ(found->front().trials, 24U);
    EXPECT_NEAR(found->front().margin, 100, 5);
    const Resolution few = resolution(found->front(), 6, 0.05);
    const Resolution many = resolution(found->front(), 24, 0.05);
    EXPECT_GT(few.detectable.value_or(0), many.detectable.value_or(1e9));
    EXPECT_GT(few.floor.value_or(0), many.floor.value_or(1e9));
}

TEST(Precision, IsTheWidestIntervalThatMatters) {
    const Precision seen = precision(built(aa_runset()));
    ASSERT_TRUE(seen.widest_pct);
    EXPECT_EQ(seen.metric, "probe.x");
    EXPECT_NEAR(*seen.widest_pct, 2.6, 1.2);
    Builder few({"a", "b"});
    few.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower), true)};
    few.fill("probe.x", {{1, 2, 3}, {1, 2, 3}});
    EXPECT_FALSE(precision(built(few.runset)).widest_pct);
    // Within the floor a metric is known well enough, whatever its relative width.
    Builder small({"a", "b"});
    small.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower, 5, 10), true)};
    small.fill("probe.x", {{0, 0, 1, 0, 2, 0}, {0, 1, 0, 0, 0, 3}});
    EXPECT_EQ(precision(built(small.runset)).widest_pct, 0);
}

TEST(Sequential, PValuesPayForTheLooks) {
    store::RunSet runset = with_placebo(0, 40);
    const double before = *primary(built(runset)).changes[0].comparison.p_adjusted;
    runset.plan.looks = {4, 6, 8};
    runset.plan.trials_per_cell = 8;
    runset.plan.until_pct = 5;
    const ReportData data = built(runset);
    EXPECT_DOUBLE_EQ(*primary(data).changes[0].comparison.p_adjusted, 3 * before);
    EXPECT_NE(render_text(data).find("stopping rule: "), std::string::npos);
    EXPECT_NE(render_text(data).find("p-values are times 3"), std::string::npos);
    EXPECT_FALSE(warns(data, "partial"));
}

TEST(Remarks, TwoGroupsAnOutlierAndADrift) {
    Builder builder({"a", "b"});
    builder.runset.plan.exact = false;
    builder.runset.plan.key_metrics = {key(metric("probe.two", "count", Better::lower), true),
                                       key(metric("probe.out", "count", Better::lower)),
                                       key(metric("probe.drift", "count", Better::lower))};
    Rng rng(6);
    for (int row = 0; row < 12; ++row) {
        for (const std::uint32_t arm : {0U, 1U}) {
            const double place = row * 2 + arm;
            builder.trial(arm)
                .counter("probe.two", (row % 2 == 0 ? 1000 : 2000) + 10 * normal(rng))
                .counter("probe.out", row == 3 && arm == 1 ? 90000 : 1000 + 10 * normal(rng))
                .counter("probe.drift", 1000 + 10 * place + 10 * normal(rng));
        }
    }
    const ReportData data = built(builder.runset);
    EXPECT_TRUE(warns(data, "bimodal"));
    EXPECT_TRUE(warns(data, "outlier"));
    EXPECT_TRUE(warns(data, "drift"));
    ASSERT_TRUE(primary(data).arms[0].modes);
    EXPECT_NEAR(primary(data).arms[0].modes->high, 2000, 20);
    const std::string json = render_json(data);
    EXPECT_NE(json.find("\"modes\": ["), std::string::npos);
    EXPECT_NE(json.find("\"spearman\""), std::string::npos);
    const std::string text = render_text(data);
    EXPECT_NE(text.find("two groups of values"), std::string::npos) << text;
    EXPECT_NE(text.find("lies far from all others"), std::string::npos) << text;
    // Exact mode: the host's time reaches no guest.
    builder.runset.plan.exact = true;
    EXPECT_FALSE(warns(built(builder.runset), "drift"));
}

TEST(FromZero, IsNewAndNeverAPercentage) {
    Builder builder({"a", "b"});
    builder.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower), true)};
    builder.fill("probe.x", {{0, 0, 0, 0, 0, 0}, {70, 80, 75, 90, 60, 65}});
    const ReportData data = built(builder.runset);
    EXPECT_TRUE(primary(data).changes[0].comparison.from_zero);
    EXPECT_FALSE(primary(data).changes[0].comparison.median_pct);
    EXPECT_EQ(data.verdict, Verdict::worse);
    const std::string text = render_text(data);
    EXPECT_NE(text.find("probe.x is new (0 -> 72.5)"), std::string::npos) << text;
    EXPECT_EQ(text.find("00%"), std::string::npos) << text;
}

// The case of a published comparison that had to be withdrawn: 0 kB against 16384 kB.
TEST(HugePages, InUseOnOneSideOnlyIsNotTheSameWork) {
    const auto runset = [](double other, bool expected) {
        Builder builder({"a", "b"});
        builder.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower), true)};
        if (expected) builder.runset.plan.expected_differences = {"state.thp_in_use"};
        for (int row = 0; row < 6; ++row) {
            for (const std::uint32_t arm : {0U, 1U}) {
                builder.trial(arm).counter("probe.x", 100 + row);
                builder.runset.trials.back().record.samples.push_back(
                    {"meminfo.AnonHugePages", 0, measure::Moment::before, arm == 0 ? 0 : other});
            }
        }
        return builder.runset;
    };
    const ReportData data = built(runset(16384.0 * 1024, false));
    EXPECT_EQ(data.verdict, Verdict::not_comparable);
    ASSERT_TRUE(data.cases[0].not_comparable);
    EXPECT_EQ(*data.cases[0].not_comparable, "state.thp_in_use differs: 0.0 MiB / 16.0 MiB");
    EXPECT_EQ(data.cases[0].reasons[0].code, "not-comparable");
    EXPECT_EQ(exit_code(data), 3);
    EXPECT_NE(built(runset(16384.0 * 1024, true)).verdict, Verdict::not_comparable);
    EXPECT_NE(built(runset(2.0 * 1048576, false)).verdict, Verdict::not_comparable)
        << "a huge page of the guest's own";
}

TEST(Confounders, PreemptionModelAndImageSizeAreInSight) {
    Builder builder({"a", "b"});
    builder.runset.plan.key_metrics = {key(metric("probe.x", "count", Better::lower), true)};
    builder.runset.arms[0].kernel_json = R"({"image_bytes":13000000})";
    builder.runset.arms[1].kernel_json = R"({"image_bytes":4800000})";
    for (int row = 0; row < 6; ++row) {
        builder.trial(0)
            .counter("probe.x", row)
            .fact("kernel.version", "#1 SMP PREEMPT_DYNAMIC Debian 7.3.4-1");
        builder.trial(1)
            .counter("probe.x", row)
            .fact("kernel.version", "#1 SMP PREEMPT_RT Debian 7.3.4-1");
    }
    const ReportData data = built(builder.runset);
    const auto find = [&](const std::string& what) {
        for (const Confounder& each : data.confounders) {
            if (each.what == what) return each.values;
        }
        return std::vector<std::string>{};
    };
    EXPECT_EQ(find("preemption model"),
              (std::vector<std::string>{"PREEMPT_DYNAMIC", "PREEMPT_RT"}));
    EXPECT_EQ(find("image size"), (std::vector<std::string>{"13000000 bytes", "4800000 bytes"}));
    EXPECT_NE(data.verdict, Verdict::not_comparable) << "never a gate";
}

}  // namespace
}  // namespace mano::report
