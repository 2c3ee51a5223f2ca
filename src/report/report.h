// SPDX-License-Identifier: GPL-2.0-or-later
// Stored run sets → ReportData (every number and verdict, once) → text, JSON, CSV. Renderers only
// lay out what ReportData holds; nothing is computed twice. Called by run, compare, export. Knows
// no substrate and no store file: it is handed run sets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "measure/metric.h"
#include "measure/stated.h"
#include "report/lkp_rule.h"
#include "stats/shape.h"
#include "stats/stats.h"
#include "store/store.h"

namespace mano::report {

// Order of the rows within the key metrics and within the others.
enum class Sort : std::uint8_t {
    table,   // key metrics as the experiment lists them, others by the size of the change
    name,    // by name
    change,  // largest relative change first
    p,       // smallest adjusted p first
};
// Whose rule of "changed" is applied; LKP's comes beside ours.
enum class Rule : std::uint8_t { ours, lkp };

// A value that somebody published for a metric, to be shown beside the one measured here.
struct Published {
    std::string case_, metric, arm;
    double value = 0;
    std::string source;  // who measured it, and on what; may be empty
};

struct Options {
    std::optional<std::string> base;    // arm name; default: the first
    std::vector<std::string> arms;      // empty: all
    std::vector<std::string> cases;     // names or parts of names ("95%"); empty: all
    std::vector<std::string> metrics;   // globs; empty: key metrics and the changed others
    bool key_only = false;              // nothing but key metrics
    bool all = false;                   // also the unchanged rows and those below their floor
    const store::RunSet* aa = nullptr;  // an A/A run of the same experiment on this host, to quote
    bool changed = false;               // changed rows only, of the key metrics too
    Sort sort = Sort::table;
    Rule rule = Rule::ours;
    std::vector<Published> published;
};

// One arm's numbers of one metric in one case.
struct ArmValues {
    std::vector<std::optional<double>> values;  // per counted or failed trial, in row order
    stats::Summary summary;                     // over the known ones
    // What an imported file says of trials that it doesn't give; `values` is then empty, and
    // `summary` holds what is stated.
    std::optional<measure::Stated> stated;
    // Key metrics only:
    std::optional<stats::Modes> modes;      // the values fall into two groups
    std::optional<stats::Outlier> outlier;  // one lies apart
};

// Why something is as it is: a word for programs, a sentence for people.
struct Reason {
    std::string code, text;
};

// How far the base lies from itself, rebuilt with another layout: the floor under every difference.
struct Placebo {
    std::string arm;
    double shift = 0;           // in the unit; of several placebo arms the largest
    std::optional<double> pct;  // of the base's median
};

// What an A/A run of the same experiment on this host says about a metric, at the number of trials
// that is compared here.
struct Noise {
    double floor = 0;                  // 95 % of differences between equal kernels are smaller
    std::optional<double> floor_pct;   // in % of the base's median
    std::optional<double> detectable;  // found in 80 % of such comparisons
    std::optional<double> detectable_pct;
};

struct Change {
    std::string arm;  // against the base
    stats::Comparison comparison;
    stats::Verdict verdict = stats::Verdict::inconclusive;
    stats::Reason reason = stats::Reason::not_significant;
    double best_attainable_p = 1;       // adjusted as the family's p-values are
    Reason why;                         // of the verdict
    std::optional<Placebo> placebo;     // where there is a placebo arm
    std::vector<std::string> warnings;  // codes of ReportData::warnings
    std::optional<LkpRuling> lkp;       // with Rule::lkp
    bool told = false;                  // told apart from the base, by whichever rule is in force
};

struct MetricRow {
    measure::Metric metric;
    bool known = true;  // false: in no catalogue, so its kind, unit and direction are unknown
    bool key = false;
    bool primary = false;
    bool shown = false;                         // in the text table
    bool asked = false;                         // shown whether it changed or not
    std::optional<std::string> not_observable;  // why this substrate can't answer it
    std::vector<ArmValues> arms;                // in ReportData::arms order
    std::vector<Change> changes;                // one per arm but the base
    bool below_floor = false;
    std::optional<Noise> noise;         // key metrics, where an A/A run is known
    std::optional<stats::Drift> drift;  // key metrics: values against places in the run
};

struct Equivalence {
    std::string check;
    std::vector<std::string> values;  // by arm; several values of one arm joined by " | "
    bool same = true;
    bool gate = false;  // a difference makes the case not comparable
};

struct CaseReport {
    std::string name;
    std::map<std::string, std::string> parameters;
    std::vector<MetricRow> rows;  // key metrics first (primary first), then the others
    std::vector<Equivalence> equivalence;
    std::optional<std::string> not_comparable;                    // the reason
    std::vector<std::optional<std::string>> not_comparable_arms;  // by arm, against the base
    std::vector<stats::Verdict> verdicts;  // by arm but the base, in MetricRow::changes order
    std::vector<Reason> reasons;           // of these verdicts, in the same order
    stats::Verdict verdict = stats::Verdict::inconclusive;
    std::uint64_t hidden_below_floor = 0;
    std::uint64_t hidden_unchanged = 0;
    std::uint64_t hidden_undecided = 0;  // too few, unknown or inconclusive
    std::uint64_t hidden_unmatched = 0;  // left out by Options::metrics
    std::uint64_t hidden_others = 0;     // left out by Options::key_only
};

struct ArmReport {
    std::string name;
    std::string release, spec, compiler, cmdline;
    std::optional<std::string> config_sha256;
    std::uint64_t trials = 0;  // that count: clean and failed ones
    std::uint64_t failed = 0, spoiled = 0;
    bool placebo = false;  // the base once more: a control, not part of the overall verdict
    bool stated = false;   // its trials aren't here: an imported file says sums of them only
};

struct Warning {
    std::string code, text, what_to_do;
};
struct Mishap {  // a failed or spoiled trial
    std::string arm, case_, how, evidence;
    std::uint32_t trial = 0;
    std::uint64_t seed = 0;
};
struct LossRow {
    std::string arm, case_;
    std::uint32_t trial = 0;
    measure::Loss loss;
};
// The A/A run whose noise is quoted.
struct NoiseSource {
    std::string runset, started;
    std::uint64_t trials = 0;  // that it has for each metric, both arms together
};
struct Confounder {
    std::string what;
    std::vector<std::string> values;  // by arm
};

struct ReportData {
    store::RunSet header;  // without samples
    std::string base;
    std::vector<ArmReport> arms;  // the base first
    std::vector<CaseReport> cases;
    std::vector<std::uint64_t> seeds;
    std::vector<Warning> warnings;  // one a code and text; rows refer to them by code
    std::vector<Confounder> confounders;
    std::optional<NoiseSource> noise;
    std::vector<LossRow> losses;
    std::vector<Mishap> failed, spoiled;
    stats::Verdict verdict = stats::Verdict::inconclusive;
    Sort sort = Sort::table;
    Rule rule = Rule::ours;
    bool foreign = false;              // the metrics' names are another tool's (an import)
    std::vector<Published> published;  // as the options have them
};

// Folds, tests and judges. A trial whose standing is `failed` counts: its trial.failed is 1, and
// those of its metrics that are known take part; a spoiled one is listed and not counted. An arm,
// case or metric of `options` that the run set doesn't have: Code::not_found, naming those that
// there are.
Result<ReportData> build(const store::RunSet& runset, const Options& options);

// Several run sets of one experiment as one, to be compared: the first's arms, then the others' (an
// arm whose name is taken gets "#2"). Code::invalid when experiment, cases or machine identity
// differ, naming the keys; `force` lets identities differ, and a remark says so.
Result<store::RunSet> merge(std::span<const store::RunSet> runsets, bool force);

// At most 80 columns, ASCII, pasteable into a patch mail: verdict, table of key metrics per case,
// the changed others, legend of two lines, environment footer, reproduce line. Metric and arm names
// longer than that are the only thing that may exceed it.
std::string render_text(const ReportData& data);
// Exactly the schema manometer.compare/1.
std::string render_json(const ReportData& data);
// Long CSV (RFC 4180): arm,case,trial,seed,iteration,metric,unit,value,kind; one row a raw value of
// the trials that count, and one `trial.failed` a trial. A counter's value is after - before.
// Arms, cases and metrics of `options` are chosen from; the other options mean nothing here. A run
// set that holds statements only (measure/stated.h) has no raw value: Code::invalid.
Result<std::string> render_csv(const store::RunSet& runset, const Options& options = {});

// 0, 3 or 4, as the README's table of exit codes says.
int exit_code(const ReportData& data);

}  // namespace mano::report
