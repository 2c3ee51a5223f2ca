// SPDX-License-Identifier: GPL-2.0-or-later
// Other tools' files ⇄ run sets. Called by `import` and `export`. Must not know statistics,
// substrates or the command line. What a file doesn't say is unknown in the run set, never assumed.
// docs/formats has a page on each format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "measure/sample.h"
#include "plan/plan.h"
#include "report/report.h"
#include "store/store.h"
#include "trace/latency_text.h"

namespace mano::interchange {

struct ImportOptions {
    std::string file;                // for messages: "results.csv"
    std::string name;                // of the run set
    std::optional<std::string> arm;  // for files and rows that name none
    // What the numbers are of: an experiment's name, its key metrics and formulas. Without any,
    // the importer says which metrics are key, none of them primary (csv: every metric that the
    // catalogue doesn't know).
    std::string experiment;
    std::vector<plan::KeyMetric> key_metrics;
    std::vector<plan::DerivedMetric> derived;
    std::string version;       // of manometer
    std::string command_line;  // of the import, as the reproduce line
};

// Something that a file doesn't hold or that couldn't be used; the rest was imported.
struct Lost {
    // 1-based; the column is the field's number in CSV, the byte elsewhere. 0: of a whole file.
    std::uint64_t line = 0;
    std::uint64_t column = 0;
    std::string meaning;
};

struct Imported {
    std::string format;                         // the importer's name
    store::NewRunSet runset;                    // substrate "import"; its plan lists the trials
    std::vector<measure::TrialRecord> records;  // by position in the plan
    std::vector<std::string> arms;              // in the order of the file
    std::vector<std::string> metrics;           // the same
    std::uint64_t rows = 0;                     // of a table; elsewhere the values read
    std::vector<Lost> losses;  // at most kMaxLosses of them, then one that counts the others
    std::uint64_t lost = 0;    // all of them
    std::vector<trace::LatencyTrace> traces;  // of ftrace: what each trace says, in order
};
constexpr std::size_t kMaxLosses = 1000;

// One format that can be read. The table of them is in importers.cpp.
struct Source;
class Draft;
struct Importer {
    std::string_view name;
    std::string_view alias;  // another name that people type; may be empty
    std::string_view reads;  // for the help
    Status (*read)(const Source& source, Draft& draft);
};
std::span<const Importer> importers();
const Importer* find_importer(std::string_view name);  // nullptr: none of that name

// One file's text. Code::hostile with file, line, column and what was expected when it can't be
// understood; nothing is imported then. A single value that can't be used is a loss.
Result<Imported> import_text(const Importer& importer, std::string_view text,
                             const ImportOptions& options);
// Files, each "PATH" or "ARM=PATH", as one run set; for LKP also folders, which are searched for
// result trees. A file that can't be read: Code::invalid.
Result<Imported> import_paths(const Importer& importer, std::span<const std::string> paths,
                              const ImportOptions& options);
// The long CSV of `export csv` (docs/methods.md, "Files"): RFC 4180 with LF allowed for CRLF,
// UTF-8, header arm,case,trial,seed,iteration,metric,unit,value and optionally kind, in any order.
// An empty value is unknown and a loss. Strict: anything else that can't be understood refuses the
// file.
Result<Imported> import_csv(std::string_view text, const ImportOptions& options);

// The run set as it will be read back from a store (without an id).
store::RunSet as_runset(const Imported& imported);
// Into the store, complete. Returns the id.
Result<std::string> save(store::Store& store, const Imported& imported);

// A run set as files of another tool's layout: relative path → bytes. A run set without any trial
// that counts (one that holds means only, too): Code::invalid.
using Files = std::vector<std::pair<std::string, std::string>>;
// LKP's result tree: testcase/params/machine/rootfs/kconfig/compiler/commit/run/stats.json, and
// matrix.json beside the runs. The arm's name stands for the commit. Spoiled trials are left out.
Result<Files> export_lkp(const store::RunSet& runset, const report::Options& options);
// KCIDB v5 JSON: a checkout and a build an arm, a test a trial, and one a trial and metric that the
// table shows. `origin`: the name of the reporting system, of [a-z0-9_].
Result<std::string> export_kcidb(const store::RunSet& runset, const report::Options& options,
                                 std::string_view origin);

// A table of published values, for the comparison to show beside its own: CSV with the columns
// case,metric,arm,value and, if wanted, source (docs/formats/import.md). Code::hostile with line
// and column.
Result<std::vector<report::Published>> read_published(std::string_view text, std::string_view file);

}  // namespace mano::interchange
