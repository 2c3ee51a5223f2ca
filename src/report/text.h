// SPDX-License-Identifier: GPL-2.0-or-later
// Parts of the text that other renderers print as they are. Only for this folder.
#pragma once

#include <string>

#include "report/text_table.h"

namespace mano::report {

// Numbers of the warnings to be printed: those of the run, and those that a shown row points to.
Notes number_notes(const ReportData& data);
// Legend, notes, failed and spoiled trials, losses, other differences, environment, reproduce line.
std::string render_after_tables(const ReportData& data, const Notes& notes);

}  // namespace mano::report
