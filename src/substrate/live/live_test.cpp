// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "substrate/live/host.h"

namespace mano::substrate::live {
namespace {

using measure::Ending;
using testing::HasSubstr;

plan::Plan plan_of(plan::LoadId probe, const std::string& text) {
    plan::Plan plan;
    plan.substrate = "live";
    plan.wall_limit_ns = 60'000'000'000;
    plan.shape.cpus = online_cpus();
    plan.arms = {{"here", host_kernel().provenance.spec, {}, {}}};
    plan::Case one;
    one.trial.iterations = 2;
    one.trial.pressure_limit_ns = 10'000'000'000;
    one.trial.probe_limit_ns = 30'000'000'000;
    one.trial.pressure = {plan::LoadId::none, {4}, ""};
    one.trial.probe = {probe, {50'000'000}, text};
    plan.cases = {one};
    plan.trials_per_cell = 1;
    plan::lay_out_trials(plan);
    return plan;
}

class Live : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TempFolder::make(std::filesystem::temp_directory_path(), "mano-live-");
        ASSERT_TRUE(made);
        folder_ = std::move(*made);
        options_.folder = folder_.path() / "live";
    }
    Result<measure::TrialRecord> run(const plan::Plan& plan,
                                     const std::function<bool()>& stop = {}) {
        LiveSubstrate live(options_);
        const std::vector<kernels::Kernel> kernels{host_kernel()};
        MANO_TRY(live.prepare(plan, kernels));
        return live.run({plan, plan.trials.front(), kernels.front()}, {}, stop);
    }
    TempFolder folder_;
    Options options_;
};

bool has(const measure::TrialRecord& record, std::string_view metric) {
    return std::any_of(record.samples.begin(), record.samples.end(),
                       [&](const auto& sample) { return sample.metric == metric; });
}

TEST_F(Live, ACommandIsMeasuredAsInAGuest) {
    const auto record = run(plan_of(plan::LoadId::command, "sleep 0.05"));
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, Ending::goodbye) << record->evidence;
    const auto values = measure::fold(record->samples);
    EXPECT_GE(values.at("probe.time_ns").value_or(0), 2 * 50e6);
    EXPECT_TRUE(has(*record, "vmstat.pgfault"));
    EXPECT_TRUE(has(*record, "buddy.total.order0"));
    // Known, or null: never left out.
    EXPECT_TRUE(has(*record, "psi.probe.memory.some.total_us"));
    const auto release = std::find_if(record->facts.begin(), record->facts.end(),
                                      [](const auto& f) { return f.key == "kernel.release"; });
    ASSERT_NE(release, record->facts.end());
    EXPECT_EQ(release->value, host_kernel().provenance.release);
}

TEST_F(Live, AProgramThatFailsIsAnOutcome) {
    const auto record =
        run(plan_of(plan::LoadId::command, "sh -c 'echo no such thing >&2; exit 3'"));
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, Ending::probe_failed);
    EXPECT_THAT(record->evidence, HasSubstr("exit status 3"));
    EXPECT_THAT(record->evidence, HasSubstr("no such thing"));
    const auto missing = run(plan_of(plan::LoadId::command, "no-such-program-here"));
    ASSERT_TRUE(missing) << missing.error().text();
    EXPECT_EQ(missing->ending, Ending::precondition_missing);
    EXPECT_THAT(missing->evidence, HasSubstr("no-such-program-here"));
}

TEST_F(Live, NothingOutlivesATrial) {
    // A daemon: its parent is gone, it has a session of its own, and it ignores the hangup.
    const auto mark = folder_.path() / "pid";
    const auto record = run(plan_of(
        plan::LoadId::command,
        fmt::format("setsid sh -c 'trap \"\" HUP TERM; echo $$ > {}; exec sleep 1000' & while "
                    "! test -s {}; do sleep 0.01; done",
                    mark.string(), mark.string())));
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, Ending::goodbye) << record->evidence;
    const std::string pid = *read_file(mark, 100);
    ASSERT_FALSE(pid.empty());
    EXPECT_NE(::access(("/proc/" + pid.substr(0, pid.size() - 1)).c_str(), F_OK), 0);
    EXPECT_EQ(std::filesystem::file_size(options_.folder / "journal"), 0U);
}

TEST_F(Live, WithoutAnyCgroupPressureOfTheProbeIsNull) {
    options_.hierarchies = Hierarchies{};
    const auto record = run(plan_of(plan::LoadId::idle, ""));
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, Ending::goodbye) << record->evidence;
    const auto values = measure::fold(record->samples);
    ASSERT_TRUE(values.contains("psi.probe.memory.some.total_us"));
    EXPECT_EQ(values.at("psi.probe.memory.some.total_us"), std::nullopt);
    EXPECT_TRUE(std::any_of(record->losses.begin(), record->losses.end(), [](const auto& loss) {
        return loss.source == "psi.probe" && loss.meaning.find("cgroup v2") != std::string::npos;
    }));
}

TEST_F(Live, AStopEndsEverything) {
    int asked = 0;
    const auto record =
        run(plan_of(plan::LoadId::command, "sleep 100"), [&asked] { return ++asked > 20; });
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Code::interrupted);
    EXPECT_EQ(std::filesystem::file_size(options_.folder / "journal"), 0U);
}

TEST_F(Live, LoadsAreRefusedUnlessTheUserSaysYes) {
    plan::Plan plan = plan_of(plan::LoadId::idle, "");
    plan.cases[0].trial.pressure.id = plan::LoadId::hold;
    EXPECT_EQ(dangers(plan), "the pressure hold");
    const auto refused = run(plan);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("--yes-this-host"));
    // Even then: not without a group whose memory can be limited.
    options_.yes_this_host = true;
    options_.hierarchies = Hierarchies{};
    const auto unlimited = run(plan);
    ASSERT_FALSE(unlimited);
    EXPECT_THAT(unlimited.error().text(), HasSubstr("limited"));
    EXPECT_EQ(dangers(plan_of(plan::LoadId::shm, "")), "the probe shm");
    EXPECT_EQ(dangers(plan_of(plan::LoadId::command, "x")), "");
}

TEST_F(Live, OnlyTheKernelThatRunsHere) {
    plan::Plan plan = plan_of(plan::LoadId::idle, "");
    plan.arms[0].kernel_spec = "live:1.0-other";
    const auto refused = run(plan);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("--arm NAME"));
    plan = plan_of(plan::LoadId::idle, "");
    plan.arms[0].cmdline = {"mitigations=off"};
    EXPECT_THAT(run(plan).error().text(), HasSubstr("command line"));
    plan = plan_of(plan::LoadId::aux, "");
    EXPECT_THAT(run(plan).error().text(), HasSubstr("needs hardware"));
}

TEST_F(Live, IntentionsChangeNothing) {
    plan::Plan plan = plan_of(plan::LoadId::idle, "");
    const bool root = ::geteuid() == 0;
    const char* setting = "/proc/sys/vm/watermark_scale_factor";
    const std::string before = *read_file(setting, 100);
    if (root) plan.arms[0].settings = {{setting, "123", true}};
    const auto lines = LiveSubstrate(options_).intentions(plan);
    ASSERT_TRUE(lines) << lines.error().text();
    if (root) {
        EXPECT_THAT(*lines, testing::Contains(HasSubstr("to '123'")));
    }
    EXPECT_EQ(*read_file(setting, 100), before);
    EXPECT_FALSE(std::filesystem::exists(options_.folder));
}

TEST_F(Live, SettingsArePutBack) {
    const char* setting = "/proc/sys/vm/watermark_scale_factor";
    if (::access(setting, W_OK) != 0) GTEST_SKIP() << "needs root: " << setting;
    const std::string before = *read_file(setting, 100);
    const auto seen = folder_.path() / "seen";
    plan::Plan plan =
        plan_of(plan::LoadId::command, fmt::format("cat {} > {}", setting, seen.string()));
    plan.arms[0].settings = {{setting, "123", true}};
    const auto record = run(plan);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, Ending::goodbye) << record->evidence;
    EXPECT_EQ(*read_file(seen, 100), "123\n");
    EXPECT_EQ(*read_file(setting, 100), before);
}

}  // namespace
}  // namespace mano::substrate::live
