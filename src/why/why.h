// SPDX-License-Identifier: GPL-2.0-or-later
// Attribution trials of a run set → where the stalled time went, by kernel stack, and what changed
// between two arms. build() works it out, the renderers only lay it out. Called by `why`. Must not
// know substrates. docs/why.md says how time is attributed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "stats/stats.h"
#include "store/store.h"
#include "trace/analysis.h"

namespace mano::why {

struct Options {
    std::vector<std::string> arms;  // empty: all
    std::optional<std::string> case_;
    bool all_tasks = false;  // not only the probe's
    std::size_t top = 10;
};

// What pieces of stalls have in common.
struct Key {
    std::string asked, stall, stage;  // as of trace::Folded
    auto operator<=>(const Key&) const = default;
};
// A function that time was spent in, innermost of its stacks.
struct Leaf {
    std::string function;
    std::array<double, 3> how = {};  // ns, by trace::How
    double ns = 0;
};

// Pieces of stalls that were asked for and spent alike.
struct Group {
    Key what;
    std::vector<Leaf> leaves;        // most time first
    std::vector<double> per_trial;   // ns, by position in ArmWhy::trials
    std::array<double, 3> how = {};  // ns, by trace::How
    double ns = 0;
    std::uint64_t count = 0;    // stalls
    std::uint64_t longest = 0;  // ns of one stall that were spent so
};

struct SpanSum {
    trace::SpanKind kind{};
    std::uint64_t count = 0;
    double ns = 0;
    std::uint64_t longest = 0, median = 0, p99 = 0;  // ns; p99 is 0 below 1,000 spans
    std::map<int, std::uint64_t> histogram;          // floor(log2(ns)) → spans
    std::map<std::int64_t, std::uint64_t> orders, results;
};

struct Culprit {
    std::string function;  // "" where the stack names none
    std::uint64_t count = 0;
    std::uint64_t longest = 0;  // ns
};

struct TrialWhy {
    std::uint32_t position = 0;
    std::optional<double> psi_some_us, psi_full_us;  // of the probe's cgroup
    trace::Analysis analysis;
    std::map<std::uint32_t, double> stalled;  // ns by iteration, of the chosen tasks
    // Of each iteration, before and after: free blocks by order, PSI.
    std::map<std::uint32_t, std::map<std::string, std::array<std::optional<double>, 2>>> counters;
};

struct ArmWhy {
    std::string name, case_;
    std::vector<TrialWhy> trials;
    std::vector<Group> groups;  // most time first
    std::vector<SpanSum> spans;
    std::vector<Culprit> culprits;  // of late wake-ups, longest first
    std::uint64_t wakeups = 0;
    std::uint64_t stalls = 0;
    double stalled_ns = 0;  // added up over tasks
    double some_ns = 0, full_ns = 0;
    std::optional<double> psi_some_us, psi_full_us;  // nullopt: of a trial unknown
    std::uint64_t lost = 0, odd = 0, unfinished = 0;
    bool from_tracepoints = false, no_symbols = false;
    // True some in % of PSI's total; nullopt below 10 ms of PSI, which loses more than it counts.
    std::optional<double> explained_pct() const;
};

struct Change {
    Key what;
    double before_ns = 0, after_ns = 0;      // per trial, means
    std::optional<stats::Interval> ci95_ns;  // of the shift, over trials
    // appeared, vanished, grew, shrank, or "not told apart" (interval around 0, or too few trials).
    std::string verdict;
};

struct Diff {
    std::string before, after, case_;
    std::vector<Change> changes;    // largest difference first
    std::size_t trials_needed = 0;  // of each arm, for an interval
};

struct Why {
    std::string runset, experiment;
    bool exact = false;
    bool all_tasks = false;
    std::vector<ArmWhy> arms;  // arm by arm, case by case
    std::vector<Diff> diffs;
};

// Code::invalid when the run set has no attribution trial that counts, or names none of its arms.
// `diff`: two arms, or neither.
Result<Why> build(store::Store& store, const store::RunSet& runset, const Options& options,
                  const std::optional<std::pair<std::string, std::string>>& diff);

std::string render_text(const Why& why, const Options& options);
// Schema manometer.why/1, docs/formats/json.md.
std::string render_json(const Why& why);
// Lines "arm;frame;frame us"; of a diff "frame;frame before after". For flame graphs.
std::string render_folded(const Why& why);
// The iteration with most stalled time of each arm, as a JSON trace that ui.perfetto.dev opens.
std::string render_perfetto(const Why& why);

}  // namespace mano::why
