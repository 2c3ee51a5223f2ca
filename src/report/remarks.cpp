// SPDX-License-Identifier: GPL-2.0-or-later
// What medians and tests don't show of a key metric's values.
#include <algorithm>
#include <cmath>

#include "report/internal.h"
#include "report/layout.h"

namespace mano::report {
namespace {

// Each of these remarks may come for no reason in at most 1 % of all tables.
constexpr double kFalseRemarks = 0.01;

std::string where(const MetricRow& row, const CaseReport& report, const std::string& arm) {
    std::string text = row.metric.name;
    if (!report.name.empty()) text += ", " + report.name;
    if (!arm.empty()) text += ", " + arm;
    return text;
}

void add(MetricRow& row, ReportData& data, std::optional<std::size_t> arm, std::string code,
         std::string text, std::string mend) {
    code = warn(data, std::move(code), std::move(text), std::move(mend));
    for (std::size_t i = 0; i < row.changes.size(); ++i) {
        // What is said of the base concerns every change.
        if (arm && *arm != 0 && *arm != i + 1) continue;
        auto& warnings = row.changes[i].warnings;
        if (std::find(warnings.begin(), warnings.end(), code) == warnings.end()) {
            warnings.push_back(code);
        }
    }
}

void remark_shape(const std::vector<std::vector<FoldedTrial>>& cell, MetricRow& row,
                  std::size_t arm, const CaseReport& report, ReportData& data) {
    ArmValues& values = row.arms[arm];
    std::vector<double> known;
    std::vector<std::size_t> trials;
    for (std::size_t t = 0; t < values.values.size(); ++t) {
        if (!values.values[t]) continue;
        known.push_back(*values.values[t]);
        trials.push_back(t);
    }
    const std::string place = where(row, report, data.arms[arm].name);
    values.modes = stats::find_modes(known);
    if (values.modes) {
        add(row, data, arm, "bimodal",
            fmt::format("{}: two groups of values, {} near {} and {} near {}, nothing between",
                        place, values.modes->n_low, show_number(values.modes->low),
                        values.modes->n_high, show_number(values.modes->high)),
            "the median stands for neither; find what tells the two kinds of trials apart "
            "(export csv)");
    }
    values.outlier = stats::find_outlier(known);
    if (values.outlier && !values.modes) {
        const FoldedTrial& trial = cell[arm][trials[values.outlier->index]];
        add(row, data, arm, "outlier",
            fmt::format("{}: {} in trial {} lies far from all others", place,
                        show_number(values.outlier->value), trial.trial->planned.position),
            "median and ranks take no notice, mean and total do; look at that trial "
            "(show --trial)");
    }
}

void remark_drift(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                  MetricRow& row, const CaseReport& report, ReportData& data) {
    // In exact mode the host's time doesn't reach the guest: a place in the run is a number only.
    if (plan.exact) return;
    std::vector<double> values;
    std::vector<double> places;
    std::vector<std::uint32_t> arms;
    for (std::size_t arm = 0; arm < cell.size(); ++arm) {
        for (std::size_t t = 0; t < cell[arm].size(); ++t) {
            if (!row.arms[arm].values[t]) continue;
            values.push_back(*row.arms[arm].values[t]);
            places.push_back(static_cast<double>(cell[arm][t].trial->planned.position));
            arms.push_back(static_cast<std::uint32_t>(arm));
        }
    }
    row.drift = stats::find_drift(values, places, arms);
    const auto keys = static_cast<double>(std::max<std::size_t>(
        1,
        static_cast<std::size_t>(std::count_if(report.rows.begin(), report.rows.end(),
                                               [](const MetricRow& each) { return each.key; }))));
    if (!row.drift || row.drift->p > kFalseRemarks / keys ||
        std::fabs(row.drift->change) <= row.metric.floor) {
        return;
    }
    add(row, data, std::nullopt, "drift",
        fmt::format("{}: values moved by {} from the first trial to the last, in all arms alike "
                    "(Spearman {:.2f}, p {})",
                    where(row, report, ""), show_signed(row.drift->change), row.drift->rho,
                    show_p(row.drift->p)),
        "arms take turns, so it isn't taken for an effect, but it widens the spread: let the host "
        "settle, or look what else it did");
}

void remark_placebo(MetricRow& row, const CaseReport& report, ReportData& data) {
    for (std::size_t i = 0; i < row.changes.size(); ++i) {
        const Change& change = row.changes[i];
        const bool apart =
            change.verdict == stats::Verdict::better || change.verdict == stats::Verdict::worse;
        if (!data.arms[i + 1].placebo || !apart) continue;
        add(row, data, std::nullopt, "placebo-differs",
            fmt::format("{}: the placebo, the base in another layout, differs from the base by {}",
                        where(row, report, data.arms[i + 1].name),
                        show_signed(change.comparison.shift->estimate)),
            "no smaller difference counts here; more placebo arms show how far layouts go");
    }
}

}  // namespace

void remark(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
            MetricRow& row, const CaseReport& report, ReportData& data) {
    for (std::size_t arm = 0; arm < row.arms.size(); ++arm)
        remark_shape(cell, row, arm, report, data);
    remark_drift(plan, cell, row, report, data);
    remark_placebo(row, report, data);
}

}  // namespace mano::report
