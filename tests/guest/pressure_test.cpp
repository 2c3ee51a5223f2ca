// SPDX-License-Identifier: GPL-2.0-or-later
// A pressure keeps its level for as long as the trial lasts.
#include "base/units.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;

// In every iteration each of the two workers loses 350 KiB behind its back: less than the tolerance
// (1 % of some 100 MiB), twice of it more. Only a pressure that makes up for it keeps its level.
TEST(Pressure, HoldFollowsItsDrift) {
    OneTrial one("debian:7.3");
    plan::TrialPlan& trial = one.trial();
    trial.iterations = 6;
    trial.pressure = {
        plan::LoadId::hold, {600'000, 2, 0, 0, 16384, 500'000, 50'000'000, 10'000}, ""};
    one.program("drain load 350");
    const auto record = record_of(one);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    constexpr double kLost = 2 * 350 * 1024;
    constexpr double kUnmapped = 2 * 352 * 1024;  // whole pages
    double corrected = 0;
    for (std::uint32_t i = 0; i < trial.iterations; ++i) {
        const auto before = value(record, "pressure.level_pct", i, measure::Moment::before);
        const auto after = value(record, "pressure.level_pct", i, measure::Moment::after);
        ASSERT_TRUE(before && after);
        // Before: within half the tolerance. After: something was lost.
        EXPECT_NEAR(*before, 60, 60 * 0.005) << "iteration " << i;
        EXPECT_LT(*after, *before - 0.2) << "iteration " << i;
        // Nothing is lost before the first iteration: what is corrected there is what the workers
        // brought along from the process that made them.
        if (i == 0) continue;
        const auto made_up = value(record, "pressure.corrected_bytes", i);
        ASSERT_TRUE(made_up) << "iteration " << i;
        EXPECT_EQ(*made_up, kUnmapped) << "iteration " << i;
        corrected += *made_up;
    }
    // What the last iteration took is made up for no more.
    EXPECT_GE(corrected, 3 * kLost);
    EXPECT_LE(corrected, 6 * kLost);
}

}  // namespace
}  // namespace mano::guest_test
