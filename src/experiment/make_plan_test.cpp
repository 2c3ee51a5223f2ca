// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "experiment/experiment.h"

namespace mano::experiment {
namespace {

using testing::HasSubstr;

PlanOptions two_kernels() {
    PlanOptions options;
    options.arms = {{"old", "debian:7.1", {}, {}}, {"new", "debian:7.3", {}, {}}};
    return options;
}

Result<plan::Plan> plan_of(std::string_view name, const PlanOptions& options) {
    const auto experiment = load(name);
    if (!experiment) return tl::unexpected<Error>(experiment.error());
    return make_plan(*experiment, options);
}

std::string complaint(std::string_view name, const PlanOptions& options) {
    const auto plan = plan_of(name, options);
    if (plan) return "accepted";
    EXPECT_EQ(plan.error().code, Code::invalid);
    return plan.error().text();
}

std::string complaint_of_set(std::string_view name, std::string parameter, std::string value) {
    PlanOptions options = two_kernels();
    options.set[std::move(parameter)] = std::move(value);
    return complaint(name, options);
}

TEST(MakePlan, TrialsOfAllCasesAndArms) {
    PlanOptions options = two_kernels();
    options.trials = 5;
    options.first_seed = 10;
    const auto plan = plan_of("mthp-fault", options);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->trials.size(), 2u * 3 * 5);
    EXPECT_TRUE(plan->shared_seeds);
    EXPECT_EQ(plan->trials_per_cell, 5u);
    EXPECT_EQ(plan->experiment, "mthp-fault");
    EXPECT_EQ(plan->experiment_sha256.size(), 64u);
    std::set<std::uint64_t> seeds;
    for (const plan::PlannedTrial& trial : plan->trials)
        seeds.insert(trial.seed);
    EXPECT_EQ(seeds, (std::set<std::uint64_t>{10, 11, 12, 13, 14}));
    EXPECT_EQ(plan_of("mthp-fault", options)->trials, plan->trials);
    const auto back = plan::from_json(plan::to_json(*plan));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(plan::hash(*back), plan::hash(*plan));
}

TEST(MakePlan, PlaceboIsTheBaseInAnotherLayout) {
    PlanOptions options;
    options.arms = {{"before", "source:7.3", {"quiet"}, {}},
                    {"after", "source:7.3+a.patch", {}, {}}};
    options.placebo = true;
    const auto plan = plan_of("idle", options);
    ASSERT_TRUE(plan) << plan.error().text();
    ASSERT_EQ(plan->arms.size(), 3u);
    EXPECT_EQ(plan->arms[2].name, "placebo");
    EXPECT_EQ(plan->arms[2].kernel_spec, "source:7.3,placebo");
    EXPECT_EQ(plan->arms[2].cmdline, std::vector<std::string>{"quiet"});
    EXPECT_TRUE(plan->arms[2].placebo);
    EXPECT_FALSE(plan->arms[0].placebo);
    EXPECT_TRUE(plan->shared_seeds) << "another layout is another kernel";
    options.arms[1].name = "placebo";
    EXPECT_THAT(complaint("idle", options), HasSubstr("two arms are named 'placebo'"));
}

TEST(MakePlan, EveryTrialPlanHasABinaryForm) {
    for (const std::string& name : built_in_names()) {
        const auto plan = plan_of(name, two_kernels());
        ASSERT_TRUE(plan) << plan.error().text();
        for (const plan::Case& one : plan->cases) {
            const auto bytes = plan::encode(one.trial);
            ASSERT_TRUE(bytes) << name << ": " << bytes.error().text();
        }
    }
}

TEST(MakePlan, OneKernelAgainstItselfHasDisjointSeeds) {
    PlanOptions options;
    options.arms = {{"a", "debian:7.3", {}, {}}, {"b", "debian:7.3", {}, {}}};
    options.trials = 4;
    const auto plan = plan_of("idle", options);
    ASSERT_TRUE(plan);
    EXPECT_FALSE(plan->shared_seeds);
    std::set<std::uint64_t> seeds;
    for (const plan::PlannedTrial& trial : plan->trials)
        seeds.insert(trial.seed);
    EXPECT_EQ(seeds.size(), 8u);
    options.shared_seeds = true;
    EXPECT_TRUE(plan_of("idle", options)->shared_seeds);
    options.shared_seeds.reset();
    options.arms[1].cmdline = {"mitigations=off"};  // then it isn't the same thing twice
    EXPECT_TRUE(plan_of("idle", options)->shared_seeds);
}

TEST(MakePlan, SetReachesEveryKindOfParameter) {
    PlanOptions options = two_kernels();
    options.set = {{"guest.memory", "2GiB"},
                   {"guest.cpus", "2"},
                   {"guest.lru_gen", "false"},
                   {"guest.mthp.32KiB", "madvise"},
                   {"guest.sysctl.vm.swappiness", "100"},
                   {"probe.folio", "32KiB"},
                   {"run.iterations", "3"},
                   {"run.trials", "7"},
                   {"pressure.workers", "2"}};
    const auto plan = plan_of("mthp-fault", options);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->shape.memory_bytes, std::uint64_t{2} << 30);
    EXPECT_EQ(plan->shape.cpus, 2u);
    EXPECT_EQ(plan->shape.lru_gen, false);
    EXPECT_EQ(plan->trials_per_cell, 7u);
    ASSERT_EQ(plan->cases.size(), 3u) << "the sweep is untouched";
    for (const plan::Case& one : plan->cases) {
        EXPECT_EQ(one.trial.iterations, 3u);
        EXPECT_EQ(one.trial.probe.values.at(0), 32 << 10);
        EXPECT_EQ(one.trial.pressure.values.at(1), 2);
        EXPECT_EQ(one.parameters.at("probe.folio"), "32KiB");
        const plan::Setting lru{"/sys/kernel/mm/lru_gen/enabled", "n", false};
        const plan::Setting folio{"/sys/kernel/mm/transparent_hugepage/hugepages-32kB/enabled",
                                  "madvise", true};
        const plan::Setting sysctl{"/proc/sys/vm/swappiness", "100", true};
        EXPECT_THAT(one.trial.settings, testing::IsSupersetOf({lru, folio, sysctl}));
    }
}

TEST(MakePlan, SettingTheSweptParameterLeavesOneCase) {
    PlanOptions options = two_kernels();
    options.set["pressure.demand"] = "97%";
    const auto plan = plan_of("mthp-fault", options);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->cases.size(), 1u);
    EXPECT_EQ(plan->cases[0].name, "demand=97%");
    EXPECT_EQ(plan->cases[0].parameters.at("pressure.demand"), "0.97");
    EXPECT_EQ(plan->cases[0].trial.pressure.values.at(0), 970'000);
}

TEST(MakePlan, CasesByNameOrValue) {
    PlanOptions options = two_kernels();
    options.cases = {"100%", "demand=90%", "0.9"};
    const auto plan = plan_of("mthp-fault", options);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->cases.size(), 2u);
    EXPECT_EQ(plan->cases[0].name, "demand=90%");
    EXPECT_EQ(plan->cases[1].name, "demand=100%");
    options.cases = {"demand=91%"};
    EXPECT_THAT(complaint("mthp-fault", options), HasSubstr("--cases demand=91%: no such case"));
    EXPECT_THAT(complaint("idle", options), HasSubstr("experiment idle has no cases"));
}

TEST(MakePlan, ComplaintsNameTheOption) {
    EXPECT_EQ(complaint_of_set("mthp-fault", "pressure.demand", "97"),
              "--set pressure.demand=97: '97' is out of range, expected 5% to 150%; did you mean "
              "97%?");
    EXPECT_THAT(complaint_of_set("mthp-fault", "presure.demand", "97%"),
                HasSubstr("did you mean 'pressure.demand'?"));
    EXPECT_THAT(complaint_of_set("mthp-fault", "probe.folios", "64KiB"),
                HasSubstr("did you mean 'probe.folio'?"));
    EXPECT_THAT(complaint_of_set("mthp-fault", "probe.size", "64"), HasSubstr("has no unit"));
    EXPECT_THAT(complaint_of_set("mthp-fault", "probe.folio", "128KiB"),
                HasSubstr("expected [guest.mthp] \"128KiB\" = \"madvise\""));
    EXPECT_THAT(complaint_of_set("mthp-fault", "guest.zram", "0"), HasSubstr("needs swap"));
    EXPECT_THAT(complaint_of_set("mthp-fault", "guest.mthp.48KiB", "madvise"),
                HasSubstr("'48KiB' is not a folio size"));
    EXPECT_THAT(complaint_of_set("idle", "guest.sysctl.vm./../../x", "1"),
                HasSubstr("is not a sysctl"));
    EXPECT_THAT(complaint_of_set("idle", "guest.sysctl.vm.swappiness", "1;2"),
                HasSubstr("is not a sysctl's value"));
    EXPECT_THAT(complaint_of_set("shm-churn", "probe.duration", "2min"),
                HasSubstr("run.probe_limit: not longer than probe.duration"));
    EXPECT_THAT(complaint_of_set("idle", "experiment.name", "x"), HasSubstr("no parameter"));

    PlanOptions options = two_kernels();
    options.trials = 0;
    EXPECT_EQ(complaint("idle", options), "--trials: '0' is out of range, expected 1 to 10000");
    options = two_kernels();
    options.first_seed = ~std::uint64_t{0};
    EXPECT_THAT(complaint("idle", options), HasSubstr("--seed"));
    options = two_kernels();
    options.trials = 10000;
    options.arms.clear();
    EXPECT_THAT(complaint("idle", options), HasSubstr("expected -k NAME=SPEC"));
    for (int i = 0; i < 11; ++i) {
        options.arms.push_back({fmt::format("k{}", i), "debian:7.3", {}, {}});
    }
    EXPECT_THAT(complaint("idle", options), HasSubstr("110000 trials, expected 1 to 100000"));
    options = two_kernels();
    options.arms[1].name = "old";
    EXPECT_THAT(complaint("idle", options), HasSubstr("two arms are named 'old'"));
    options.arms[1].name = "n;ew";
    EXPECT_THAT(complaint("idle", options), HasSubstr("is not an arm's name"));
    options = two_kernels();
    options.command = "true";
    EXPECT_THAT(complaint("idle", options), HasSubstr("probe is not `command`"));
    options = two_kernels();
    options.added_files = {std::string(64, 'a') + " /bin/x"};
    EXPECT_EQ(complaint("idle", options), "accepted");
    options.added_files = {std::string(64, 'a') + " bin/x /opt/my tests/x"};
    EXPECT_EQ(complaint("idle", options), "accepted");
    options.added_files = {std::string(64, 'a') + " bin/x /opt/\n"};
    EXPECT_THAT(complaint("idle", options), HasSubstr("--add"));
    options.added_files = {std::string(64, 'a') + " /../init"};
    EXPECT_THAT(complaint("idle", options), HasSubstr("--add"));
}

TEST(MakePlan, ArmsMayDifferInTheProbe) {
    PlanOptions options = two_kernels();
    options.arms[1].params = {{"probe.block", "256KiB", 0}};
    options.cases = {"95%"};
    const auto plan = plan_of("packet-ring", options);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->arms[1].params[0].value, 256 * 1024);
    EXPECT_EQ(plan::trial_of(plan->cases[0].trial, plan->arms[1]).probe.values[2], 256 * 1024);
    EXPECT_EQ(plan::trial_of(plan->cases[0].trial, plan->arms[0]).probe.values[2], 1024 * 1024);

    options.arms[1].params = {{"probe.blok", "256KiB", 0}};
    EXPECT_THAT(complaint("packet-ring", options), HasSubstr("did you mean 'probe.block'"));
    options.arms[1].params = {{"probe.block", "256", 0}};
    EXPECT_THAT(complaint("packet-ring", options), HasSubstr("arm new: probe.block=256"));
    options.arms[1].params = {{"probe.block", "96KiB", 0}};
    EXPECT_THAT(complaint("packet-ring", options), HasSubstr("expected a power of two"));
    options.arms[1].params = {{"pressure.demand", "91%", 0}};
    EXPECT_THAT(complaint("packet-ring", options), HasSubstr("expected probe.PARAMETER"));

    // One kernel in arms that differ in the probe is no A/A comparison.
    options = two_kernels();
    options.arms[1].kernel_spec = options.arms[0].kernel_spec;
    options.arms[1].params = {{"probe.block", "256KiB", 0}};
    EXPECT_TRUE(plan_of("packet-ring", options)->shared_seeds);
}

TEST(MakePlan, BuffersThatTheKernelWouldRefuseAreRefusedBefore) {
    EXPECT_THAT(complaint_of_set("packet-ring", "probe.block", "768KiB"),
                HasSubstr("probe.block: expected a power of two"));
    EXPECT_THAT(complaint_of_set("packet-ring", "probe.size", "1536KiB"),
                HasSubstr("1536KiB is no multiple of probe.block, 1MiB"));
    EXPECT_THAT(complaint_of_set("packet-ring", "probe.size", "256MiB"),
                HasSubstr("of the guest's 1 GiB"));
    EXPECT_THAT(complaint_of_set("io-uring-ring", "probe.entries", "3000"),
                HasSubstr("probe.entries: expected a power of two"));
}

TEST(MakePlan, ExactModeKnowsWhatItCannotSay) {
    PlanOptions options = two_kernels();
    EXPECT_TRUE(plan_of("shm-churn", options)->not_observable.empty());
    options.exact = true;
    const auto plan = plan_of("shm-churn", options);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->exact);
    ASSERT_FALSE(plan->not_observable.empty());
    EXPECT_EQ(plan->not_observable[0].metric, "probe.ops_per_s");
    EXPECT_FALSE(plan->not_observable[0].reason.empty());
    options.accel = plan::Accel::kvm;
    EXPECT_THAT(complaint("shm-churn", options), HasSubstr("--accel tcg"));

    auto latency = load("idle");
    ASSERT_TRUE(latency);
    latency->exact_needs_one_cpu = "vCPUs run in turn";
    options.accel = plan::Accel::automatic;
    EXPECT_TRUE(make_plan(*latency, options));
    options.set["guest.cpus"] = "2";
    const auto refused = make_plan(*latency, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_THAT(refused.error().text(), HasSubstr("--set guest.cpus=1 (vCPUs run in turn)"));
}

TEST(MakePlan, CommandComesFromTheCommandLine) {
    constexpr std::string_view kFile = R"(
[experiment]
name = "cmd"
title = "A program of the user"
question = "Does it stall less?"
[guest]
memory = "512MiB"
[pressure]
kind = "none"
[probe]
kind = "command"
timeout = "5s"
[primary]
metric = "psi.probe.memory.some.total_us"
)";
    const auto experiment = parse(kFile, "cmd.toml");
    ASSERT_TRUE(experiment) << experiment.error().text();
    PlanOptions options = two_kernels();
    const auto without = make_plan(*experiment, options);
    ASSERT_FALSE(without);
    EXPECT_THAT(without.error().text(), HasSubstr("expected -- PROGRAM ARGUMENTS"));
    options.command = "/bin/map 64";
    const auto plan = make_plan(*experiment, options);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->cases[0].trial.probe.text, "/bin/map 64");
    options.command = "a\nb";
    EXPECT_FALSE(make_plan(*experiment, options));
}

}  // namespace
}  // namespace mano::experiment
