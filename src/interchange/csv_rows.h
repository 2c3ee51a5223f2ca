// SPDX-License-Identifier: GPL-2.0-or-later
// The steps between CSV records and a run set. Only for this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "interchange/interchange.h"

namespace mano::interchange {

// One data row, checked by itself.
struct Row {
    std::uint64_t line = 0;
    std::string arm, case_, metric, unit;
    std::uint32_t trial = 0;
    std::optional<std::uint64_t> seed;
    std::optional<std::uint32_t> iteration;
    std::optional<double> value;
    std::optional<measure::Kind> kind;
};

// What the file says of one metric over all of its rows.
struct MetricNote {
    std::uint64_t line = 0;  // first seen
    std::string unit;
    std::optional<measure::Kind> kind;
};

// Everything of a file that is consistent.
struct Rows {
    std::vector<Row> rows;
    std::vector<std::string> arms, cases, metrics;  // in the order of the file
    std::map<std::string, MetricNote> notes;
    std::uint64_t value_column = 8;  // 1-based
};

// Rows → plan and records: the trials numbered anew in the file's order of trial numbers.
Result<Imported> make_imported(Rows rows, const ImportOptions& options);

}  // namespace mano::interchange
