// SPDX-License-Identifier: GPL-2.0-or-later
// Experiment files (TOML) → Experiment → Plan. Pure: no kernel is resolved and nothing runs here.
// Called by the command line; must not know substrates or the store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace mano::experiment {

// A parameter that the experiment exposes to --set and to its sweep: "pressure.demand".
struct Parameter {
    std::string name;  // "pressure.demand", "probe.folio", "guest.memory", "run.iterations"
    std::string unit;
    std::string value;  // the experiment's own default, as text
    std::string range;  // "0.1 to 1.5"
    std::string meaning;
};

struct Experiment {
    std::string name;
    std::string title;               // one line
    std::string text;                // the TOML text as it was
    std::string source;              // file name, or "built-in"
    std::string about;               // paragraphs for `describe`
    std::vector<std::string> needs;  // "swap", "psi", "mthp" …: what `describe` lists
    // All that the file fixes, with one case per swept value and no arms, seeds or trials yet.
    plan::Plan base;
    std::uint32_t default_trials = 6;
    std::vector<plan::Arm> default_arms;
    // For the substrate `model`: arms of its own, and what it has no answer to.
    std::vector<plan::Arm> model_arms;
    std::vector<plan::NotObservable> not_observable_in_model;
    std::optional<std::string> sweep;       // the swept parameter
    std::vector<std::string> sweep_values;  // as text
    std::vector<Parameter> parameters;
    // Exact mode turns its vCPUs one by one: what then can't be asked (wake-up latency on several
    // CPUs), and what comes out without meaning (contention). With the reasons.
    std::optional<std::string> exact_needs_one_cpu;
    std::vector<plan::NotObservable> not_observable_in_exact;
};

// Strict: an unknown key, wrong type, missing unit, value out of range, or unknown metric in a
// formula is Code::invalid whose message is "FILE:LINE:COLUMN: …, expected …" with the nearest
// valid name. All faults of a file are reported, one a line, not just the first.
Result<Experiment> parse(std::string_view toml, std::string_view file);

// The shipped experiments (embedded at build time), by name; their texts always parse (tested).
std::vector<std::string> built_in_names();
// NAME of a built-in, or a path to a TOML file (anything with a '/' or ending in ".toml").
Result<Experiment> load(std::string_view name_or_path);

struct PlanOptions {
    std::vector<plan::Arm> arms;  // from -k / --arm; empty: the default arms
    bool placebo = false;         // one arm more: the first again, with ",placebo" behind its SPEC
    std::optional<std::uint32_t> trials;
    std::optional<std::uint32_t> iterations;
    std::vector<std::string> cases;          // names or swept values; empty: all
    std::map<std::string, std::string> set;  // --set PARAM=VALUE
    std::uint64_t first_seed = 1;
    std::optional<bool> shared_seeds;  // default: shared, unless all arms are one kernel
    bool exact = false;
    plan::Accel accel = plan::Accel::automatic;
    std::optional<std::uint64_t> wall_limit_ns;
    std::vector<std::string> added_files;
    std::string substrate = "guest";  // or "model", "live"
    std::string command;              // for the probe `command`: after --
    bool loads_host = false;          // live: pressures and loading probes are wanted
    std::uint32_t host_cpus = 1;      // live: of this machine
};

// Checks the options against the schema (same messages as parse, naming --set) and lays out trials.
Result<plan::Plan> make_plan(const Experiment& experiment, const PlanOptions& options);

}  // namespace mano::experiment
