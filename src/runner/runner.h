// SPDX-License-Identifier: GPL-2.0-or-later
// Plan → trials in order → store. Knows a substrate only by its interface; classifies, retries and
// resumes; tells progress to a listener. Called by `run`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/store.h"
#include "substrate/substrate.h"

namespace mano::runner {

// What the listener is told; the command line draws it (a line that rewrites itself on a terminal,
// plain lines in a pipe).
struct Event {
    enum class What : std::uint8_t { trial_started, trial_phase, trial_ended, note } what;
    std::uint32_t position = 0;  // of the trial
    std::uint32_t done = 0;      // trials done, of
    std::uint32_t total = 0;
    double seconds_left = 0;     // estimated; < 0: unknown yet
    std::string text;            // arm, case, phase or ending
};

struct Options {
    unsigned jobs = 1;
    std::function<void(const Event&)> listen;  // called from one thread at a time
    std::function<bool()> stop;                // Ctrl-C
};

struct Outcome {
    std::string runset;
    bool interrupted = false;  // stopped on request; what is done is stored
    std::uint32_t done = 0;
    std::uint32_t failed = 0;
    std::uint32_t spoiled = 0;
};

// Runs every trial of `runset` that isn't done. `kernels` by arm. A store that can't be written any
// more (full disk) stops the run with an error that says what is kept and how to resume.
Result<Outcome> execute(store::Store& store, const std::string& runset,
                        substrate::Substrate& substrate,
                        const std::vector<kernels::Kernel>& kernels, const Options& options);

}  // namespace mano::runner
