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

// Two iterations of 1.5 s beside 20 MiB that are written and paged out over and over, or beside
// nothing.
TrialRecord watch(bool stalling) {
    OneTrial one("debian:7.3");
    one.plan.exact = true;
    one.plan.shape.zram_bytes = 96 * kMiB;
    plan::TrialPlan& trial = one.trial();
    trial.swap = {96 * kMiB, "lz4"};
    trial.iterations = 2;
    trial.probe = {plan::LoadId::idle, {1'500'000'000}, ""};
    if (stalling) trial.pressure = {plan::LoadId::pageout, {2, 20 * kMiB}, ""};
    trial.triggers = {
        {"trigger.sensitive", true, false, 1'000, kWindowUs, 0, 0},
        {"trigger.lmkd_full", true, true, 700'000, 1'000'000, 0, 0},
        {"trigger.rule", true, false, 0, 0, 99, 1'000'000'000},
        {"trigger.refused", true, false, 2'000'000, 1'000'000, 0, 0},
    };
    return record_of(one);
}

TEST(Triggers, FireOnceInAWindowWhileThereAreStalls) {
    const TrialRecord record = watch(true);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    for (const std::uint32_t iteration : {0U, 1U}) {
        const auto fired = value(record, "trigger.sensitive", iteration);
        ASSERT_TRUE(fired);
        EXPECT_GE(*fired, 1);
        EXPECT_LE(*fired, 5) << "1.5 s have three windows of 0.5 s, and a part of two others";
        EXPECT_EQ(value(record, "trigger.rule", iteration), 0) << "no minute is over yet";
    }
}

TEST(Triggers, StaySilentWithoutStalls) {
    const TrialRecord record = watch(false);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    for (const std::uint32_t iteration : {0U, 1U}) {
        EXPECT_EQ(value(record, "trigger.sensitive", iteration), 0);
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
