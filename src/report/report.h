// SPDX-License-Identifier: GPL-2.0-or-later
// Stored run sets → ReportData (every number and verdict, once) → text, JSON, CSV. Renderers only
// lay out what ReportData holds; nothing is computed twice. Called by run, compare, export.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "measure/metric.h"
#include "stats/stats.h"
#include "store/store.h"

namespace mano::report {

struct Options {
    std::optional<std::string> base;      // arm name; default: the first
    std::vector<std::string> arms;        // empty: all
    std::vector<std::string> cases;       // empty: all
    std::vector<std::string> metrics;     // globs; empty: key metrics and the changed others
    bool all = false;                     // also the rows below their floor
    bool force = false;                   // compare unlike machine shapes
};

// One arm's numbers of one metric in one case.
struct ArmValues {
    std::vector<std::optional<double>> values;  // per counted or failed trial, in row order
    stats::Summary summary;                     // over the known ones
};

struct Change {
    std::string arm;  // against the base
    stats::Comparison comparison;
    stats::Verdict verdict = stats::Verdict::inconclusive;
    std::vector<std::string> warnings;  // codes of ReportData::warnings
};

struct MetricRow {
    measure::Metric metric;
    bool key = false;
    bool primary = false;
    std::vector<ArmValues> arms;   // in ReportData::arms order
    std::vector<Change> changes;   // one per arm but the base
    bool below_floor = false;
};

struct Equivalence {
    std::string check;
    std::vector<std::string> values;  // by arm
    bool same = true;
    bool gate = false;
};

struct CaseReport {
    std::string name;
    std::map<std::string, std::string> parameters;
    std::vector<MetricRow> rows;      // key metrics first (primary first), then the others
    std::vector<Equivalence> equivalence;
    std::optional<std::string> not_comparable;  // the reason
    stats::Verdict verdict = stats::Verdict::inconclusive;
    std::uint64_t hidden_below_floor = 0;
    std::uint64_t hidden_unchanged = 0;
};

struct ArmReport {
    std::string name;
    std::string release, spec, compiler, cmdline;
    std::optional<std::string> config_sha256;
    std::uint64_t trials = 0, failed = 0, spoiled = 0;
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
struct Confounder {
    std::string what;
    std::vector<std::string> values;  // by arm
};

struct ReportData {
    store::RunSet header;  // without samples
    std::string base;
    std::vector<ArmReport> arms;
    std::vector<CaseReport> cases;
    std::vector<Warning> warnings;
    std::vector<Confounder> confounders;
    std::vector<LossRow> losses;
    std::vector<Mishap> failed, spoiled;
    stats::Verdict verdict = stats::Verdict::inconclusive;
};

Result<ReportData> build(const store::RunSet& runset, const Options& options);

// At most 80 columns, ASCII, pasteable into a patch mail: verdict, table of key metrics per case,
// the changed others, legend of two lines, environment footer, reproduce line.
std::string render_text(const ReportData& data);
// Exactly the schema manometer.compare/1.
std::string render_json(const ReportData& data);
// Long CSV: arm,case,trial,seed,iteration,metric,unit,value,kind; one row a raw value.
Result<std::string> render_csv(const store::RunSet& runset);

// 0, 3 or 4, as the README's table of exit codes says.
int exit_code(const ReportData& data);

}  // namespace mano::report
