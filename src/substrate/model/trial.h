// SPDX-License-Identifier: GPL-2.0-or-later
// A planned trial → the simulation that runs it, and its samples. Called by the model substrate.
#pragma once

#include "measure/sample.h"
#include "model/arm.h"
#include "model/machine.h"
#include "plan/plan.h"
#include "substrate/substrate.h"

namespace mano::substrate::model {

// The machine that a guest of this shape is: what QEMU and the lab kernel leave of its memory.
mano::model::MachineShape machine_of(const plan::GuestShape& shape, const plan::TrialPlan& trial,
                                     const mano::model::Arm& arm);

// What of the plan the model can't do, as a sentence with the mend; empty: nothing.
std::string missing_from_model(const plan::TrialPlan& trial);

// Runs it. Code::interrupted when `stop` said so.
Result<measure::TrialRecord> run_trial(const plan::Plan& plan, const plan::TrialPlan& trial,
                                       std::uint64_t seed, const mano::model::Arm& arm,
                                       const TrialProgress& progress,
                                       const std::function<bool()>& stop);

}  // namespace mano::substrate::model
