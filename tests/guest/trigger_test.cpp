// SPDX-License-Identifier: GPL-2.0-or-later
// Would a low-memory killer have acted? PSI triggers in real guests: with stalls they fire, not
// more than once in a window; without any they don't; what the kernel refuses is absent.
#include <gmock/gmock.h>

#include "base/units.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;
using measure::TrialRecord;

constexpr std::uint64_t kWindowUs = 500'000;

// Two iterations of 1.5 s: a probe that touches memory in 64 KiB folios while all of it is held, or
// one that does nothing in a guest of its own.
TrialRecord watch(bool stalling) {
    OneTrial one("debian:7.3");
    one.plan.exact = true;
    one.plan.shape.memory_bytes = 512 * kMiB;
    one.plan.shape.zram_bytes = 256 * kMiB;
    plan::TrialPlan& trial = one.trial();
    trial.swap = {256 * kMiB, "lz4"};
    trial.settings.push_back(
        {"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "madvise", true});
    trial.iterations = 2;
    trial.probe = {plan::LoadId::idle, {1'500'000'000}, ""};
    if (stalling) {
        trial.pressure = {plan::LoadId::hold,
                          {1'000'000, 4, 65536, 30'000, 16384, 750'000, 50'000'000, 10'000},
                          ""};
        trial.probe = {plan::LoadId::mthp, {65536, 64 * kMiB, 1, 1'500'000'000}, ""};
    }
    trial.triggers = {
        {"trigger.probe", false, false, 1'000, kWindowUs, 0, 0},
        {"trigger.system", true, false, 1'000, kWindowUs, 0, 0},
        {"trigger.lmkd_full", true, true, 700'000, 1'000'000, 0, 0},
        {"trigger.rule", true, false, 0, 0, 99, 1'000'000'000},
        {"trigger.refused", true, false, 2'000'000, 1'000'000, 0, 0},
    };
    return record_of(one);
}

TEST(Triggers, FireOnceInAWindowWhileThereAreStalls) {
    const TrialRecord record = watch(true);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    const auto stalled_us = [&](const char* of) {
        const std::string metric = fmt::format("psi.{}.memory.some.total_us", of);
        return value(record, metric, 0, measure::Moment::after).value_or(0) -
               value(record, metric, 0, measure::Moment::before).value_or(0);
    };
    // What was held gives way in the first iteration; the second finds room.
    ASSERT_GT(stalled_us("probe"), 10'000) << "nothing to fire at: the test tests nothing";
    for (const char* name : {"trigger.probe", "trigger.system"}) {
        const auto fired = value(record, name, 0);
        ASSERT_TRUE(fired) << name;
        EXPECT_GE(*fired, 1) << name << "; stalled for " << stalled_us("system") << " us";
        EXPECT_LE(*fired, 5) << "1.5 s have three windows of 0.5 s, and a part of two others";
    }
    EXPECT_EQ(value(record, "trigger.rule", 0), 0) << "no minute is over yet";
}

TEST(Triggers, StaySilentWithoutStalls) {
    const TrialRecord record = watch(false);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    for (const std::uint32_t iteration : {0U, 1U}) {
        EXPECT_EQ(value(record, "trigger.probe", iteration), 0);
        EXPECT_EQ(value(record, "trigger.system", iteration), 0);
        EXPECT_EQ(value(record, "trigger.lmkd_full", iteration), 0);
    }
    // More stall than a window can hold: the kernel refuses, and nothing is said to be 0.
    EXPECT_FALSE(value(record, "trigger.refused", 0));
    const auto said =
        std::find_if(record.losses.begin(), record.losses.end(),
                     [](const auto& loss) { return loss.source == "trigger.refused"; });
    ASSERT_NE(said, record.losses.end());
    EXPECT_THAT(said->meaning, testing::HasSubstr("EINVAL"));
}

}  // namespace
}  // namespace mano::guest_test
