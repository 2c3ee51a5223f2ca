// SPDX-License-Identifier: GPL-2.0-or-later
// The Plan of a run: everything fixed before the first boot. A value: printable, hashable, stored.
// experiment makes it, the runner executes it, the report reads it back from the store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "measure/metric.h"
#include "plan/trial_plan.h"

namespace mano::plan {

// The guest's shape: what must be equal in all arms.
struct GuestShape {
    std::uint64_t memory_bytes = 0;
    std::uint32_t cpus = 1;
    std::uint64_t zram_bytes = 0;        // 0: no swap
    std::string zram_compressor;         // set explicitly: kernels differ in their default
    std::optional<bool> lru_gen;         // nullopt: leave the kernel's default (a confounder)
    std::string thp = "never";           // always | madvise | never, for the PMD size
    std::string thp_defrag = "madvise";  // always | defer | defer+madvise | madvise | never
    std::map<std::uint64_t, std::string> mthp;  // folio bytes → always|madvise|inherit|never
    std::vector<std::string> extra_cmdline;
    std::vector<std::string> modules;  // of ours, built for each kernel: "aux_pmu"
    bool operator==(const GuestShape&) const = default;
};

// A parameter of the probe that one arm has for itself. `value` is in the held unit; of a text it
// is 0, and the text itself counts.
struct ArmParam {
    std::string name;  // "probe.capability"
    std::string text;  // "no-sg"
    std::int64_t value = 0;
    bool operator==(const ArmParam&) const = default;
};

struct Arm {
    std::string name;                  // "7.1"
    std::string kernel_spec;           // "debian:7.1"
    std::vector<std::string> cmdline;  // added to the kernel's command line in this arm
    std::vector<Setting> settings;     // sysctls and knobs of this arm
    // The base once more, rebuilt with a change of layout that means nothing: a control.
    bool placebo = false;
    std::vector<ArmParam> params = {};
    bool operator==(const Arm&) const = default;
    // Alike in all but name, kernel and role.
    bool same_setup(const Arm& other) const {
        return cmdline == other.cmdline && settings == other.settings && params == other.params;
    }
};

// A metric that the experiment judges.
struct KeyMetric {
    measure::Metric metric;  // with the experiment's margin, floor, direction where it sets them
    bool primary = false;
    std::string formula;  // empty: a measured metric
    bool operator==(const KeyMetric& other) const {
        return metric.name == other.metric.name && primary == other.primary &&
               formula == other.formula;
    }
};

// Proof that the experiment's mechanism ran: after folding, `formula` must be ≥ `at_least`, else
// the trial is spoiled as "precondition missing".
struct Proof {
    std::string formula;
    double at_least = 0;
    std::string meaning;
};

// A metric that is computed from others and shown, but not judged.
struct DerivedMetric {
    measure::Metric metric;
    std::string formula;
};

// A metric that this substrate or mode can't answer, and why; printed beside the table.
struct NotObservable {
    std::string metric;
    std::string reason;
    bool operator==(const NotObservable&) const = default;
};

// The case's trial as this arm runs it: with the arm's own parameters of the probe.
TrialPlan trial_of(const TrialPlan& trial, const Arm& arm);

struct Case {
    std::string name;                               // "demand=90%"; "" when nothing is swept
    std::map<std::string, std::string> parameters;  // "pressure.demand" → "0.9", as text
    TrialPlan trial;                                // complete but for the seed
};

// One trial of the plan, in the order of execution.
struct PlannedTrial {
    std::uint32_t position = 0;
    std::uint32_t arm = 0;    // index into arms
    std::uint32_t case_ = 0;  // index into cases
    std::uint32_t row = 0;    // 0-based number of the trial within its arm and case
    std::uint64_t seed = 0;
    // An attribution trial: records stalls and latencies with kernel stacks. That costs time, so
    // its values enter no statistics. Its row lies behind those of the timing trials.
    bool traced = false;
    bool operator==(const PlannedTrial&) const = default;
};

enum class Accel : std::uint8_t { automatic, kvm, tcg };
std::string_view name_of(Accel accel);

struct Plan {
    std::string experiment;
    std::string experiment_sha256;  // of the TOML text
    std::string question;           // one line: what the primary metric says
    std::string substrate = "guest";
    Accel accel = Accel::automatic;
    bool exact = false;
    // Equal seeds are compared in pairs. The experiment asks for it; a run keeps it only where
    // earlier run sets show that equal seeds correlate, and notes which and how much.
    bool paired = false;
    std::string paired_because;
    bool shared_seeds = true;
    std::uint64_t first_seed = 1;
    std::uint64_t order_seed = 1;       // of the random interleaving
    std::uint32_t trials_per_cell = 1;  // with `looks`: at most
    std::uint32_t traced_per_cell = 0;  // attribution trials of each arm and case, beside these
    // Sequential stopping (--until): after so many trials of each arm and case (ascending, the last
    // is trials_per_cell) the run may end, when the 95 % intervals of the key metrics' changes are
    // within ±until_pct. Each p-value is multiplied by the number of looks. Empty: no looks.
    std::vector<std::uint32_t> looks;
    double until_pct = 0;
    double alpha = 0.05;
    std::uint64_t wall_limit_ns = 0;  // host time that one trial may take
    GuestShape shape;
    std::vector<Arm> arms;  // the first is the base
    std::vector<Case> cases;
    std::vector<KeyMetric> key_metrics;
    std::vector<DerivedMetric> derived;
    std::vector<Proof> proofs;
    std::vector<NotObservable> not_observable;
    std::vector<std::string> expected_differences;  // facts that may differ between arms
    std::vector<std::string> added_files;           // --add, as "sha256 path-in-image"
    std::vector<PlannedTrial> trials;

    const KeyMetric* primary() const;
};

// Canonical JSON text (keys sorted, no blanks): equal plans give equal text. hash = its SHA-256.
// from_json takes nothing for granted (a store may come from anybody): every key must be there with
// its type, numbers in range, sizes bounded; else Code::corrupt, naming the key.
std::string to_json(const Plan& plan);
Result<Plan> from_json(std::string_view text);
std::string hash(const Plan& plan);

// Fills plan.trials: every (case, row) is a block holding each arm once in random order; blocks in
// random order, those before a look before those after it; all drawn from order_seed. Seeds: shared
// → row r has first_seed + r in all arms; disjoint → first_seed + arm * trials_per_cell + r.
// Attribution trials come last, with the seeds of the first timing trials.
void lay_out_trials(Plan& plan);

}  // namespace mano::plan
