// SPDX-License-Identifier: GPL-2.0-or-later
// Plan → trials in order → store. Knows a substrate only by its interface; classifies what a
// substrate couldn't do, resumes, tells progress to a listener. Called by `run`.
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
    enum class What : std::uint8_t {
        trial_started,  // text: arm and case
        trial_phase,    // text: the substrate's phase
        trial_ended,    // text: the ending's name
        note,           // text: a sentence
    } what;
    std::uint32_t position = 0;  // of the trial
    std::uint32_t done = 0;      // trials done, of
    std::uint32_t total = 0;
    double seconds_left = 0;  // estimated; < 0: unknown yet
    std::string text;
};

struct Options {
    unsigned jobs = 1;
    // Called from the thread that called execute(), never from two at once.
    std::function<void(const Event&)> listen;
    // Ctrl-C. Asked about 20 times a second, and once more whenever a trial goes wrong, by one
    // thread at a time.
    std::function<bool()> stop;
    // Of a plan with looks: asked after each but the last, with the number of trials of each arm
    // and case, from the thread that called execute(); true: precise enough, the run ends here.
    std::function<Result<bool>(std::uint32_t trials)> enough;
};

struct Outcome {
    std::string runset;
    bool interrupted = false;  // stopped on request; what is done is stored
    // Of the whole run set, earlier executions included.
    std::uint32_t done = 0;
    std::uint32_t failed = 0;
    std::uint32_t spoiled = 0;
};

// Runs every trial of `runset` that isn't done, in the plan's order, `jobs` at once (fewer when the
// substrate says so), and marks the run set complete. A plan with looks may end at one of them.
// `kernels` by arm. Each trial is stored as soon as it ends. There is no retry: a spoiled trial
// stays spoiled and is counted as such.
//
// Errors, all of which keep what is stored and say how to resume:
// - the store can't be written (full disk);
// - the substrate fails three times in a row, or in every trial, with Code::environment: this
//   machine can't do it, and those trials stay planned for a resumed run. Any other error of the
//   substrate is stored as a harness fault of that trial, and the run goes on;
// - the machine's identity isn't that with which the run set began (exact results would differ), or
//   another process runs the same run set: nothing is run.
Result<Outcome> execute(store::Store& store, const std::string& runset,
                        substrate::Substrate& substrate,
                        const std::vector<kernels::Kernel>& kernels, const Options& options);

}  // namespace mano::runner
