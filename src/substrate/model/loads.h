// SPDX-License-Identifier: GPL-2.0-or-later
// A plan's pressure and probe → the model's loads, parameter by parameter. Called by trial.cpp.
#pragma once

#include <memory>

#include "model/arm.h"
#include "model/load/pressure.h"
#include "model/load/probe.h"
#include "plan/trial_plan.h"

namespace mano::substrate::model {

// The pressure, its tasks already in the engine; nullptr: it is `none`.
std::unique_ptr<mano::model::Pressure> make_pressure(mano::model::Engine& engine,
                                                     const plan::LoadPlan& pressure,
                                                     const mano::model::Arm& arm,
                                                     std::uint64_t seed);

// Memory that a page of the pressure takes in compressed swap, in pages.
double swap_ratio_of(const plan::LoadPlan& pressure);

// The probe, its tasks already in the engine. nullptr: the model has no such probe.
class LoadedProbe {
  public:
    LoadedProbe(mano::model::Engine& engine, const plan::LoadPlan& probe,
                const mano::model::Arm& arm, std::uint64_t seed);
    mano::model::Probe* get() const { return probe_; }

  private:
    std::unique_ptr<mano::model::Probe> owned_;
    mano::model::Probe* probe_ = nullptr;
};

// What of the plan the model can't do, as a sentence with the mend; empty: nothing.
std::string missing_load(const plan::TrialPlan& trial);

}  // namespace mano::substrate::model
