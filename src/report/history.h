// SPDX-License-Identifier: GPL-2.0-or-later
// Run sets of one experiment over many kernels → each metric over the kernels in their order, with
// the places where it changed. Called by `history`. A kernel is an arm without settings of its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/report.h"
#include "stats/change_points.h"

namespace mano::report {

struct HistoryKernel {
    std::string name;     // the arm's
    std::string release;  // "7.3.4+deb13-cloud-amd64"
    std::string spec, runset;
    stats::Summary summary;
    std::vector<double> values;  // the known ones, a trial each
    std::uint64_t unknown = 0, failed = 0;
};
struct HistoryChange {
    stats::ChangePoint point;
    std::optional<double> pct;  // the shift in % of the left median
    bool small = false;         // within the metric's floor or margin
};
struct HistorySeries {
    std::string case_;
    measure::Metric metric;
    std::optional<std::string> not_observable;
    std::vector<HistoryKernel> kernels;  // oldest first
    std::vector<HistoryChange> changes;
};
struct History {
    std::string experiment, question;
    bool exact = false;
    double alpha = 0.05;
    std::vector<std::string> runsets;   // that have part in it, newest first
    std::vector<std::string> left_out;  // "ID: why"
    std::vector<HistorySeries> series;
};

// The newest run set says experiment, machine, mode and cases; others that differ are left out, and
// said. Of a kernel that several have, the newest counts. `metrics`: globs; empty: the primary
// metric (the judged ones where none is primary). Trials that failed are counted beside the values.
// Code::not_found: no metric matches, or fewer than two kernels.
Result<History> build_history(std::span<const store::RunSet> runsets,
                              const std::vector<std::string>& metrics,
                              const std::vector<std::string>& cases);

// At most 80 columns, ASCII.
std::string render_history(const History& history);
// Schema manometer.history/1.
std::string render_history_json(const History& history);

// Order of kernel releases: runs of digits as numbers, the rest as text.
bool older_release(std::string_view a, std::string_view b);

}  // namespace mano::report
