// SPDX-License-Identifier: GPL-2.0-or-later
// Other tools' files → run sets. Called by `import`. Must not know statistics, substrates or the
// command line. What a file doesn't say is unknown in the run set, never assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "measure/sample.h"
#include "plan/plan.h"
#include "store/store.h"

namespace mano::interchange {

struct ImportOptions {
    std::string file;                // for messages: "results.csv"
    std::string name;                // of the run set
    std::optional<std::string> arm;  // for rows whose arm is empty
    // What the numbers are of: an experiment's name, its key metrics and formulas. Without any,
    // every metric that the catalogue doesn't know is a key metric, none of them primary.
    std::string experiment;
    std::vector<plan::KeyMetric> key_metrics;
    std::vector<plan::DerivedMetric> derived;
    std::string version;       // of manometer
    std::string command_line;  // of the import, as the reproduce line
};

// Something that a file doesn't hold or that couldn't be used; the rest was imported.
struct Lost {
    std::uint64_t line = 0;    // 1-based, of the record's first line
    std::uint64_t column = 0;  // 1-based number of the field
    std::string meaning;
};

struct Imported {
    store::NewRunSet runset;                    // substrate "import"; its plan lists the trials
    std::vector<measure::TrialRecord> records;  // by position in the plan
    std::vector<std::string> arms;              // in the order of the file
    std::vector<std::string> metrics;           // the same
    std::uint64_t rows = 0;
    std::vector<Lost> losses;  // at most kMaxLosses of them are listed
    std::uint64_t lost = 0;    // all of them
};
constexpr std::size_t kMaxLosses = 1000;

// The long CSV of `export csv` (docs/methods.md, "Files"): RFC 4180 with LF allowed for CRLF,
// UTF-8, header arm,case,trial,seed,iteration,metric,unit,value and optionally kind, in any order.
// An empty value is unknown and a loss. Strict: anything else that can't be understood is
// Code::hostile with file, line, column and what was expected, and nothing is imported.
Result<Imported> import_csv(std::string_view text, const ImportOptions& options);

// The run set as it will be read back from a store (without an id).
store::RunSet as_runset(const Imported& imported);
// Into the store, complete. Returns the id.
Result<std::string> save(store::Store& store, const Imported& imported);

}  // namespace mano::interchange
