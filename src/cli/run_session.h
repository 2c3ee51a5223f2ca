// SPDX-License-Identifier: GPL-2.0-or-later
// What `run` and `aa` share: a plan's trials from the first to the last, with progress, looks and
// Ctrl-C. Prints the result through whoever called.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/result.h"
#include "cli/run_options.h"
#include "store/store.h"

namespace mano::cli {

struct RunVerbOptions {
    RunOptions run;
    FormatOptions format;
    std::string jobs, store, name, resume;
    bool force = false;
    bool quiet = false;
    bool sensitivity = false;
    bool dry_run = false;
};

// Prints what came out of a whole run set, and gives the exit code.
using Finish = std::function<Result<int>(store::Store&, const store::RunSet&)>;

// A new run set of `planned`. Returns what `finish` says, or the code of an interrupted run.
// `command`: the words after "--".
Result<int> run_plan(const RunVerbOptions& options, Planned planned,
                     const std::vector<std::string>& command, const Finish& finish);

}  // namespace mano::cli
