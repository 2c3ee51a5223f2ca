// SPDX-License-Identifier: GPL-2.0-or-later
// One case, one arm against the base, as lines of text. For the text renderer.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "report/report.h"

namespace mano::report {

// Code of a warning → its number among the notes below the tables.
using Notes = std::map<std::string, std::size_t>;

enum Column : std::size_t { base_column, arm_column, change_column, p_column, verdict_column };
constexpr std::size_t kColumnCount = 5;

struct Line {
    std::string name;
    std::array<std::string, kColumnCount> cells;
    std::vector<std::string> below;  // sentences under the row
};

// The rows of a table as text cells, for every renderer that draws one.
struct Lines {
    Line head;  // the arms' names over the columns
    std::vector<Line> keys;
    std::vector<Line> others;
    std::string hidden;  // "3 without a change, …", empty when nothing is
};
Lines table_lines(const ReportData& data, const CaseReport& report,
                  std::optional<std::size_t> change, const Notes& notes);

// The table of key metrics and of the changed others. `change`: index into MetricRow::changes; for
// a run set of one arm, no change: the values alone.
std::string render_table(const ReportData& data, const CaseReport& report,
                         std::optional<std::size_t> change, const Notes& notes);
// "worse: zone_locked_pct rose by 79.2 % (5.9 -> 10.57 %), p = 0.0022".
std::string verdict_sentence(const ReportData& data, const CaseReport& report, std::size_t change);

}  // namespace mano::report
