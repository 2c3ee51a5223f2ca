// SPDX-License-Identifier: GPL-2.0-or-later
// A run set of the model → how its verdicts stand when each of the model's costs is halved and
// doubled, as warnings of the report: a footnote of the table, and `warnings` in JSON. Called by
// `run` and `compare` with --sensitivity; nothing of it is stored, since the same run set gives the
// same answer again.
#pragma once

#include "cli/progress.h"
#include "report/report.h"
#include "store/store.h"

namespace mano::cli {

// For each cost and factor the run set's own trials, with the same seeds; a cost that none of them
// pays (its first trials come out equal to the last digit) is passed over. Adds a warning with the
// code "sensitivity" for each verdict to `data`, which is report::build(runset, how). Ctrl-C:
// Code::interrupted. A run set of another substrate: Code::invalid.
Status add_sensitivity(const store::RunSet& runset, const report::Options& how, Progress& progress,
                       report::ReportData& data);

}  // namespace mano::cli
