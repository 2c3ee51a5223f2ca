// SPDX-License-Identifier: GPL-2.0-or-later
// The model substrate: a trial is a run of the page-allocator simulation in this process. Arms are
// "model:VARIANT[+KEY=VALUE…]" in a kernel's place; samples carry the same names as a guest's.
// Knows plans and the model; the simulation itself knows neither.
#pragma once

#include <string>
#include <string_view>

#include "substrate/substrate.h"

namespace mano::substrate::model {

struct Dump;

constexpr std::string_view kSpecPrefix = "model:";

// "model:7.3+aux=no-reclaim" in a kernel's place: provenance and an id, no image. Code::invalid
// with what was expected.
Result<kernels::Kernel> kernel_of(std::string_view spec);

class ModelSubstrate : public Substrate {
  public:
    // Code::invalid for a pressure, probe or shape that the model doesn't have.
    Status prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>& kernels) override;
    Identity identity() const override { return identity_; }
    std::vector<std::string> remarks() const override;
    std::pair<unsigned, std::string> jobs(const plan::Plan& plan, unsigned wanted) const override;
    Result<measure::TrialRecord> run(const TrialRequest& request, const TrialProgress& progress,
                                     const std::function<bool()>& stop) override;

  private:
    void note_dump(const plan::Arm& arm, const Dump& dump);
    Identity identity_;
    std::vector<std::string> remarks_;
};

}  // namespace mano::substrate::model
