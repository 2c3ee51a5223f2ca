// SPDX-License-Identifier: GPL-2.0-or-later
// A plan's pressure and probe → the model's loads, parameter by parameter. Called by trial.cpp.
#pragma once

#include <memory>

#include "model/arm.h"
#include "model/load/hold.h"
#include "model/load/probe.h"
#include "plan/trial_plan.h"

namespace mano::substrate::model {

// nullopt: the pressure is `none`.
std::optional<mano::model::HoldSettings> hold_of(const plan::LoadPlan& pressure);

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

bool has_pressure(plan::LoadId id);
bool has_probe(plan::LoadId id);

}  // namespace mano::substrate::model
