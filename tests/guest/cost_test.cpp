// SPDX-License-Identifier: GPL-2.0-or-later
// The agent measures the shortage that it lives in: how little of it is its own.
#include "base/units.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;

void expect_little(OneTrial& one) {
    const auto record = record_of(one);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    const auto faults = value(record, "agent.page_faults");
    const auto rss = value(record, "agent.rss_bytes");
    ASSERT_TRUE(faults && rss);
    EXPECT_EQ(*faults, 0);
    EXPECT_LT(*rss, 1 << 20);
    EXPECT_GT(*rss, 100 << 10) << "this can't be the agent";
    std::printf("agent: %.0f page faults, %.0f KiB resident\n", *faults, *rss / 1024);
}

TEST(Cost, IdleAgentFaultsNothing) {
    OneTrial one("debian:7.3");
    one.trial().iterations = 3;
    expect_little(one);
}

// With a CPU to spare the workers are ready before the agent looks: it then goes a way through its
// code, with an errno on it, for the first time after the readings began.
TEST(Cost, AgentWithCpusToSpareFaultsNothing) {
    OneTrial one("debian:7.3");
    one.plan.shape.cpus = 4;
    one.trial().iterations = 10;
    expect_little(one);
}

TEST(Cost, AgentUnderPressureFaultsNothing) {
    OneTrial one("debian:7.3");
    plan::TrialPlan& trial = one.trial();
    trial.iterations = 3;
    one.plan.shape.zram_bytes = 96 * kMiB;
    trial.swap = {96 * kMiB, "lz4"};
    trial.pressure = {
        plan::LoadId::hold, {950'000, 2, 0, 0, 16384, 750'000, 50'000'000, 10'000}, ""};
    trial.settings = {
        {"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "madvise", true}};
    trial.probe = {plan::LoadId::mthp, {65536, 8 << 20, 1, 0}, ""};
    trial.counters = {{"tp.page_alloc", "kmem/mm_page_alloc", "order == 0"}};
    expect_little(one);
}

}  // namespace
}  // namespace mano::guest_test
