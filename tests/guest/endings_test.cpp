// SPDX-License-Identifier: GPL-2.0-or-later
// Every way in which a guest can end, caused in a real guest: the agent's part (what the guest
// itself tells) and the kernel's part (what only the host can see).
#include <signal.h>

#include "base/units.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;
using measure::Moment;
using measure::Standing;
using measure::standing;
using ::testing::Test;

constexpr std::string_view kNew = "debian:7.3";
constexpr std::string_view kOld = "debian:6.1";

// By position in the schema (src/plan/schema.cpp).
plan::LoadPlan hold(std::int64_t demand_ppm, std::int64_t tolerance_ppm = 10'000) {
    return {
        plan::LoadId::hold, {demand_ppm, 2, 0, 0, 16384, 500'000, 50'000'000, tolerance_ppm}, ""};
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

#define EXPECT_HAS(text, part) EXPECT_PRED2(has, text, part)

TEST(Endings, CleanGoodbye) {
    OneTrial one(kNew);
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::goodbye) << record.evidence << record.console;
    EXPECT_EQ(standing(record.ending), Standing::counted);
    EXPECT_EQ(record.evidence, "");
    EXPECT_HAS(fact(record, "kernel.release"), "7.3");
    EXPECT_EQ(fact(record, "state.cpus"), "1");
    EXPECT_EQ(fact(record, "state.accel"), "tcg");
    EXPECT_EQ(fact(record, "state.psi"), "on");
    for (const char* metric :
         {"vmstat.pgfault", "meminfo.MemFree", "psi.system.memory.some.total_us"}) {
        for (const Moment moment : {Moment::before, Moment::after}) {
            EXPECT_TRUE(value(record, metric, 0, moment)) << metric;
        }
    }
    EXPECT_GE(value(record, "probe.time_ns", 0).value_or(0), 50e6);
    EXPECT_EQ(value(record, "kmsg.oom_kills"), 0);
}

TEST(Endings, ProbeRefusedByTheKernel) {
    OneTrial one(kNew);
    // Under strict accounting the kernel promises no more than there is.
    one.trial().settings = {
        {"/sys/kernel/mm/transparent_hugepage/enabled", "madvise", true},
        {"/proc/sys/vm/overcommit_memory", "2", true},
    };
    one.trial().probe = {plan::LoadId::thp, {std::int64_t{4} << 30, 1}, ""};
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::probe_refused) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::failed);
    EXPECT_HAS(record.evidence, "ENOMEM");
}

TEST(Endings, WorkerKilledByTheOomKiller) {
    OneTrial one(kNew);
    one.trial().pressure = hold(800'000);
    one.program("eat 90");
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::worker_oom_killed) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::failed);
    EXPECT_HAS(record.evidence, "OOM killer");
    EXPECT_HAS(record.console, "Out of memory: Killed process");
    EXPECT_GE(value(record, "kmsg.oom_kills").value_or(0), 1);
}

// The pressure dies first (its score), then the probe: the pressure's loss is the first cause.
TEST(Endings, WorkersAndThenTheProbeKilled) {
    OneTrial one(kNew);
    one.trial().pressure = hold(600'000);
    one.program("eat 4096");
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::worker_oom_killed) << record.evidence;
}

TEST(Endings, ProbeKilledByTheOomKiller) {
    OneTrial one(kNew);
    one.program("eat 4096");
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::probe_oom_killed) << record.evidence;
    EXPECT_FALSE(value(record, "probe.time_ns", 0)) << "unknown, which is not 0";
    EXPECT_EQ(standing(record.ending), Standing::failed);
    EXPECT_HAS(record.evidence, "OOM killer");
    EXPECT_HAS(record.console, "Out of memory: Killed process");
    EXPECT_TRUE(value(record, "vmstat.oom_kill", 0, Moment::after)) << "the end state is read";
}

TEST(Endings, ProbeThatEndsWithAnError) {
    OneTrial one(kNew);
    one.program("trigger too many words");
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::probe_failed) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::failed);
    EXPECT_HAS(record.evidence, "exit status 2");
    EXPECT_HAS(record.evidence, "/proc/sysrq-trigger") << "what it said is kept";
}

TEST(Endings, Panic) {
    OneTrial one(kNew);
    one.program("trigger c");
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::panic) << record.evidence << record.console;
    EXPECT_EQ(standing(record.ending), Standing::failed);
    EXPECT_HAS(record.evidence, "sysrq triggered crash");
    EXPECT_HAS(record.evidence, "Call Trace:");
    EXPECT_TRUE(value(record, "vmstat.pgfault", 0, Moment::before)) << "what was read is kept";
}

TEST(Endings, PanicWithNothingLeftToKill) {
    OneTrial one(kNew);
    one.program("eat 4096 -1000");
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::panic) << record.evidence << record.console;
    EXPECT_EQ(standing(record.ending), Standing::failed);
    EXPECT_HAS(record.evidence, "no killable processes");
    EXPECT_HAS(record.evidence, "Call Trace:");
}

void expect_hung(OneTrial& one) {
    one.program("spin");
    one.options.limits.hang_ns = 8'000'000'000;
    one.options.limits.dump_ns = 12'000'000'000;
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::hung) << record.evidence << record.console;
    EXPECT_EQ(standing(record.ending), Standing::failed);
    EXPECT_HAS(record.evidence, "no heartbeat");
    EXPECT_HAS(record.evidence, "phase probe 1");
    EXPECT_HAS(record.evidence, "task:spin") << "the task dump names who hangs";
    EXPECT_TRUE(value(record, "vmstat.pgfault", 0, Moment::before));
}

TEST(Endings, Hung) {
    OneTrial one(kNew);
    expect_hung(one);
}

TEST(Endings, HungOnAllCpusOfAnOldKernel) {
    OneTrial one(kOld);
    one.plan.shape.cpus = 2;
    expect_hung(one);
}

TEST(Endings, PreconditionFolioSize) {
    OneTrial one(kOld);
    one.trial().settings = {
        {"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "madvise", true}};
    one.trial().probe = {plan::LoadId::mthp, {65536, 1 << 20, 1, 0}, ""};
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::precondition_missing) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_HAS(record.evidence, "hugepages-64kB");
    EXPECT_HAS(record.evidence, "newer kernel") << "the mend";
}

TEST(Endings, PreconditionSwap) {
    OneTrial one(kNew);
    one.trial().pressure = hold(950'000);
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::precondition_missing) << record.evidence;
    EXPECT_HAS(record.evidence, "needs swap");
    EXPECT_HAS(record.evidence, "guest.zram") << "the mend";
}

TEST(Endings, PreconditionProgram) {
    OneTrial one(kNew);
    one.trial().probe = {plan::LoadId::command, {1'000'000'000}, "nowhere"};
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::precondition_missing) << record.evidence;
    EXPECT_HAS(record.evidence, "/bin/nowhere");
    EXPECT_HAS(record.evidence, "--add") << "the mend";
}

TEST(Endings, PressureNotUpInTime) {
    OneTrial one(kNew);
    one.trial().pressure = hold(800'000);
    one.trial().pressure_limit_ns = 1'000'000;
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::pressure_missed) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_HAS(record.evidence, "within 1 ms of guest time");
}

TEST(Endings, PressureLostFromOutside) {
    OneTrial one(kNew);
    one.trial().pressure = hold(300'000);
    one.program("slay load");
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::pressure_missed) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_HAS(record.evidence, "signal 15");
}

TEST(Endings, LogFull) {
    OneTrial one(kNew);
    one.options.log_bytes = 65536;
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::log_full) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_HAS(record.evidence, "records are lost");
}

void expect_torn(std::string_view how, std::string_view evidence) {
    OneTrial one(kNew);
    one.program(how);
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::log_torn) << how << ": " << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_HAS(record.evidence, evidence);
}

TEST(Endings, LogForgedBeyondItsEnd) {
    expect_torn("forge end", "committed bytes");
}
TEST(Endings, LogForgedWithGarbage) {
    expect_torn("forge garbage", "claims");
}

}  // namespace
}  // namespace mano::guest_test
