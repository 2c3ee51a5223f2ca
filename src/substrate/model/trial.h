// SPDX-License-Identifier: GPL-2.0-or-later
// A planned trial → the simulation that runs it, and its samples. Called by the model substrate.
#pragma once

#include <optional>

#include "measure/sample.h"
#include "model/arm.h"
#include "model/machine.h"
#include "plan/plan.h"
#include "substrate/model/dump.h"
#include "substrate/substrate.h"

namespace mano::substrate::model {

// An arm, and the dump that it begins from, if any.
struct Rules {
    mano::model::Arm arm;
    std::optional<Dump> dump;
};

// The machine that a guest of this shape is: what QEMU and the lab kernel leave of its memory; with
// a dump, the machine that it was taken from.
mano::model::MachineShape machine_of(const plan::GuestShape& shape, const plan::TrialPlan& trial,
                                     const Rules& rules);

// Runs it. Code::interrupted when `stop` said so.
Result<measure::TrialRecord> run_trial(const plan::Plan& plan, const plan::TrialPlan& trial,
                                       std::uint64_t seed, const Rules& rules,
                                       const TrialProgress& progress,
                                       const std::function<bool()>& stop);

}  // namespace mano::substrate::model
