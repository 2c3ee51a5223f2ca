// SPDX-License-Identifier: GPL-2.0-or-later
// One case, one arm against the base, as lines of text. For the text renderer.
#pragma once

#include <map>
#include <string>

#include "report/report.h"

namespace mano::report {

// Code of a warning → its number among the notes below the tables.
using Notes = std::map<std::string, std::size_t>;

// The table of key metrics and of the changed others. `change`: index into MetricRow::changes; for
// a run set of one arm, no change: the values alone.
std::string render_table(const ReportData& data, const CaseReport& report,
                         std::optional<std::size_t> change, const Notes& notes);
// "worse: zone_locked_pct rose by 79.2 % (5.9 -> 10.57 %), p = 0.0022".
std::string verdict_sentence(const ReportData& data, const CaseReport& report, std::size_t change);

}  // namespace mano::report
