// SPDX-License-Identifier: GPL-2.0-or-later
// Where a trial runs: one interface for guests, the live host and the model. The runner calls it
// and is blind to what is behind it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"
#include "measure/sample.h"
#include "plan/plan.h"

namespace mano::substrate {

// What identifies the machine that results came from; results of different identities are never
// compared without --force. Key → value, e.g. "accel" → "tcg", "qemu" → "7.2.22", "cpus" → "4".
using Identity = std::map<std::string, std::string>;

struct TrialRequest {
    const plan::Plan& plan;
    const plan::PlannedTrial& trial;
    const kernels::Kernel& kernel;
};

// Phase and share done of a trial, for the progress line: ("boot", "pressure", "probe 3/10").
using TrialProgress = std::function<void(std::string_view phase)>;

class Substrate {
  public:
    virtual ~Substrate() = default;
    // Proves what can be proved before anything runs: QEMU present, accelerator usable, kernels
    // able to do what the plan needs. Code::environment with the mend.
    virtual Status prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>& kernels) = 0;
    virtual Identity identity() const = 0;
    // Sentences to be printed before the run and kept with it ("KVM opens but its guests hang: TCG
    // is used").
    virtual std::vector<std::string> remarks() const = 0;
    // How many trials of this plan may run at once here, at most `wanted`, and what limits it.
    virtual std::pair<unsigned, std::string> jobs(const plan::Plan& plan,
                                                  unsigned wanted) const = 0;
    // One trial, whole. Every way in which the guest can end is a TrialRecord; a Result error means
    // that nothing could be tried (and is stored as harness fault), or Code::interrupted when
    // `stop` said so (then nothing is stored). Thread-safe: called from several threads at once.
    virtual Result<measure::TrialRecord> run(const TrialRequest& request,
                                             const TrialProgress& progress,
                                             const std::function<bool()>& stop) = 0;
};

}  // namespace mano::substrate
