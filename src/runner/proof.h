// SPDX-License-Identifier: GPL-2.0-or-later
// Samples → did the experiment's mechanism run? Knows no substrate. Called by the runner for each
// trial that said goodbye.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "measure/formula.h"
#include "measure/sample.h"
#include "plan/plan.h"

namespace mano::runner {

// A plan's proofs, their formulas parsed once.
class Proofs {
  public:
    // A formula that can't be parsed: Code::invalid, naming it.
    static Result<Proofs> parse(const plan::Plan& plan);
    // Turns a trial that said goodbye into one whose precondition was missing when a proof fails or
    // can't be computed; the evidence says which, and what was seen. Other endings are left alone.
    void judge(measure::TrialRecord& record) const;

  private:
    struct Named {
        std::string name;
        measure::Formula formula;
    };
    struct Parsed {
        plan::Proof proof;
        measure::Formula formula;
    };
    Status add_derived(const std::string& name, const std::string& formula);

    std::vector<Parsed> proofs_;
    std::vector<measure::Metric> metrics_;  // the experiment's own
    std::vector<Named> derived_;            // which proofs may name too
};

}  // namespace mano::runner
