// SPDX-License-Identifier: GPL-2.0-or-later
// Frames of a guest's log → samples, facts and losses of a trial. Pure: no guest runs here, so a
// recorded log can be decoded again. The frames' contents are hostile.
#pragma once

#include <span>

#include "measure/sample.h"
#include "plan/trial_plan.h"
#include "wire/reader.h"

namespace mano::substrate::guest {

// Appends to `record`. Frames with payloads that no agent writes become a Loss (they are counted,
// never skipped silently).
void decode_frames(std::span<const wire::Frame> frames, const plan::TrialPlan& plan,
                   measure::TrialRecord& record);

// The rule about short iterations: the kernel's PSI drops, at each read, what a CPU that was
// non-idle for less than a jiffy has stalled, so an iteration with fewer than this many non-idle
// jiffies has no PSI of its own (docs/methods.md).
constexpr double kMinNonIdleJiffies = 10;

}  // namespace mano::substrate::guest
