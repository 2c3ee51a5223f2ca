// SPDX-License-Identifier: GPL-2.0-or-later
// The model as a substrate: whole trials of the shipped experiments, their samples' names, and
// determinism.
#include "substrate/model/model.h"

#include <gtest/gtest.h>

#include <set>

#include "plan/plan.h"

namespace mano::substrate::model {
namespace {

// A plan by hand: this folder must not know experiments.
plan::Plan plan_of(std::string_view pressure, std::string_view probe) {
    plan::Plan plan;
    plan.substrate = "model";
    plan.shape.memory_bytes = std::uint64_t{256} << 20;
    plan.shape.cpus = 2;
    plan.shape.zram_bytes = std::uint64_t{64} << 20;
    plan.shape.mthp[65536] = "madvise";
    plan.arms = {{"a", "model:7.3", {}, {}}, {"b", "model:7.3+aux=no-reclaim", {}, {}}};
    plan::TrialPlan trial;
    trial.iterations = 2;
    trial.iteration_gap_ns = 10'000'000;
    const auto load = [](const plan::LoadDef* def) {
        plan::LoadPlan out;
        out.id = def->id;
        for (const plan::ParamDef& param : def->params)
            out.values.push_back(param.fallback);
        return out;
    };
    trial.pressure = load(plan::find_load(plan::LoadKind::pressure, pressure));
    trial.probe = load(plan::find_load(plan::LoadKind::probe, probe));
    trial.counters = {{"tp.mine", "kmem/mm_page_alloc", "order == 0"},
                      {"tp.odd", "kmem/mm_page_alloc", "order == 7"}};
    // Short ones: what is asked here doesn't depend on how long they last.
    const plan::LoadDef* def = plan::find_load(trial.probe.id);
    if (const auto duration = plan::find_param(*def, "duration"))
        trial.probe.values[*duration] = 20'000'000;
    plan.cases = {{"", {}, trial}};
    return plan;
}

Result<measure::TrialRecord> run(const plan::Plan& plan, std::uint32_t arm, std::uint64_t seed,
                                 bool stop = false) {
    ModelSubstrate substrate;
    const kernels::Kernel kernel = kernel_of(plan.arms[arm].kernel_spec).value();
    const auto ready = substrate.prepare(plan, {kernel});
    EXPECT_TRUE(ready) << (ready ? "" : ready.error().text());
    plan::PlannedTrial trial;
    trial.arm = arm;
    trial.seed = seed;
    return substrate.run(
        {plan, trial, kernel}, [](std::string_view) {}, [stop] { return stop; });
}

TEST(ModelSubstrate, ATrialHasAGuestsMetricsTwiceAnIteration) {
    const plan::Plan plan = plan_of("hold", "aux");
    const auto record = run(plan, 0, 3);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, measure::Ending::goodbye) << record->evidence;
    std::map<std::string, int> seen;
    for (const measure::Sample& sample : record->samples) {
        ++seen[sample.metric];
        EXPECT_TRUE(measure::find_metric(sample.metric)) << sample.metric;
        if (sample.metric.starts_with("vmstat.")) {
            EXPECT_TRUE(measure::is_known_metric(sample.metric)) << sample.metric;
        }
    }
    EXPECT_EQ(seen["psi.probe.memory.some.total_us"], 4);
    EXPECT_EQ(seen["vmstat.allocstall"], 4);
    EXPECT_EQ(seen["probe.map_ns_max"], 2);
    EXPECT_EQ(seen["tp.mine"], 4);
    EXPECT_EQ(seen["tp.odd"], 0);
    ASSERT_EQ(record->losses.size(), 1U);
    EXPECT_EQ(record->losses[0].source, "tp.odd");
}

TEST(ModelSubstrate, EqualSeedsGiveEqualSamples) {
    for (const char* probe : {"aux", "shm", "mthp", "packet-ring", "idle"}) {
        SCOPED_TRACE(probe);
        const plan::Plan plan = plan_of("hold", probe);
        const auto first = run(plan, 0, 7);
        const auto again = run(plan, 0, 7);
        const auto other = run(plan, 0, 8);
        ASSERT_TRUE(first && again && other);
        EXPECT_EQ(first->samples, again->samples);
        EXPECT_NE(first->samples, other->samples);
    }
}

TEST(ModelSubstrate, TimersRunBesidePagingOut) {
    const plan::Plan plan = plan_of("pageout", "timer");
    const auto record = run(plan, 0, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, measure::Ending::goodbye) << record->evidence;
    std::set<std::string> names;
    for (const measure::Sample& sample : record->samples)
        names.insert(sample.metric);
    EXPECT_TRUE(names.contains("probe.timer.max_ns"));
    EXPECT_TRUE(names.contains("pressure.paged_out"));
    // 20 ms of a timer a millisecond: no percentile of that means anything.
    EXPECT_FALSE(names.contains("probe.timer.p99_ns"));
}

TEST(ModelSubstrate, SaysWhatItCantDo) {
    ModelSubstrate substrate;
    const auto no_probe = substrate.prepare(plan_of("hold", "thp"), {});
    ASSERT_FALSE(no_probe);
    EXPECT_NE(no_probe.error().text().find("no probe 'thp'"), std::string::npos);
    plan::Plan kernel = plan_of("hold", "aux");
    kernel.arms[0].kernel_spec = "source:7.3";
    const auto real = substrate.prepare(kernel, {});
    ASSERT_FALSE(real);
    EXPECT_NE(real.error().text().find("expected model:VARIANT"), std::string::npos);
    EXPECT_FALSE(substrate.remarks().empty());
}

TEST(ModelSubstrate, ArmsAreToldApartByWhatTheyMean) {
    EXPECT_EQ(kernel_of("model:7.3")->id, kernel_of("model:7.3+aux=plain")->id);
    EXPECT_NE(kernel_of("model:7.3")->id, kernel_of("model:7.3+aux=sticky")->id);
    EXPECT_EQ(kernel_of("model:7.3")->provenance.exact_spec,
              "model:7.3+aux=plain+vfree=contiguous");
}

TEST(ModelSubstrate, AStopIsObeyed) {
    const auto stopped = run(plan_of("hold", "aux"), 0, 1, true);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::interrupted);
}

}  // namespace
}  // namespace mano::substrate::model
