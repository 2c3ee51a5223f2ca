// SPDX-License-Identifier: GPL-2.0-or-later
// The options that `run` and `plan` share, and what they make: a Plan, and the kernels of its arms.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "experiment/experiment.h"
#include "kernels/kernel.h"
#include "plan/plan.h"

namespace CLI {
class App;
}

namespace mano::cli {

// As given: texts, checked by make_request().
struct RunOptions {
    std::string experiment;
    std::vector<std::string> kernels;  // -k and --arm in the order given, marked by the prefix
    std::vector<std::string> arms;
    std::string trials, iterations, cases, seed, seeds, accel = "auto", substrate = "guest";
    std::string timeout, until, max_trials, attribute;
    std::vector<std::string> set;
    std::vector<std::string> add;
    bool exact = false;
    bool placebo = false;
    bool yes_this_host = false;
};

// Declares them on `app`; `options` must live as long as it.
void declare_run_options(CLI::App& app, RunOptions& options);

// Each -k whose SPEC is a range ("debian:6.1..7.3") becomes one -k a kernel that is to be had; with
// options.offline by what is known here. A range can't have a name: its arms have their versions'.
Status expand_ranges(RunOptions& options, const kernels::Options& how);

struct Planned {
    experiment::Experiment experiment;
    plan::Plan plan;
};
// Everything that can be known before a kernel is looked at. `command`: the words after "--".
Result<Planned> make_plan(const RunOptions& options, const std::vector<std::string>& command);

// A SPEC of this substrate: a kernel, or an arm of the model in its place.
Result<kernels::Kernel> resolve_spec(const std::string& substrate, const std::string& spec,
                                     const kernels::Options& options);

// One kernel an arm, each distinct SPEC resolved once; the plan's SPECs become the exact ones.
Result<std::vector<kernels::Kernel>> resolve_arms(plan::Plan& plan,
                                                  const kernels::Options& options);

// Arms that turned out to be one kernel (by image id, "" when unknown) are an A/A comparison,
// whatever their SPECs look like: with equal seeds exact mode couldn't fail it, so they get seeds
// of their own unless --seeds says otherwise.
void separate_equal_arms(const RunOptions& options, plan::Plan& plan,
                         const std::vector<std::string>& kernel_ids);

// The line that makes this run again, with every number that came from a default or a "newest".
std::string reproduce_line(const RunOptions& options, const plan::Plan& plan,
                           const std::vector<std::string>& command);

// Loads a built-in or a file; a file that can't be read is the user's mistake (Code::invalid).
Result<experiment::Experiment> load_experiment(const std::string& name);

// --store FILE or the default.
std::filesystem::path store_path(const std::string& option);
void declare_store(CLI::App& app, std::string& option);

}  // namespace mano::cli
