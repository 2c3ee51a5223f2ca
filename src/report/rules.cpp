// SPDX-License-Identifier: GPL-2.0-or-later
// Two rules over the same rows: where they agree, and each row in which they don't.
#include "report/internal.h"
#include "report/layout.h"
#include "report/renderers.h"

namespace mano::report {
namespace {

constexpr std::size_t kMostListed = 20;

// Beyond chance by the adjusted p of its family, and beyond the floor.
bool changed_by_ours(const ReportData& data, const MetricRow& row, const Change& change) {
    return !row.below_floor && change.comparison.p_adjusted &&
           *change.comparison.p_adjusted <= data.header.plan.alpha;
}

std::string list(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return "";
    std::string text = fmt::format("  {}:\n", title);
    for (std::size_t i = 0; i < lines.size() && i < kMostListed; ++i)
        text += wrap(lines[i], 4, 8);
    if (lines.size() > kMostListed) {
        text +=
            fmt::format("    and {} more (--format json has all)\n", lines.size() - kMostListed);
    }
    return text;
}

std::string compare_rules(const ReportData& data, const CaseReport& report, std::size_t i) {
    std::size_t both = 0;
    std::size_t neither = 0;
    std::vector<std::string> only_lkp;
    std::vector<std::string> only_ours;
    for (const MetricRow& row : report.rows) {
        const Change& change = row.changes[i];
        if (!change.lkp) continue;
        const bool ours = changed_by_ours(data, row, change);
        const std::string p = change.comparison.p_adjusted
                                  ? "adjusted p " + show_p(*change.comparison.p_adjusted)
                                  : std::string("no p-value");
        if (ours && change.lkp->changed) {
            ++both;
        } else if (ours) {
            only_ours.push_back(
                fmt::format("{}: {}; LKP: {}", ascii(row.metric.name), p, change.lkp->why));
        } else if (change.lkp->changed) {
            only_lkp.push_back(fmt::format("{}: {}{}", ascii(row.metric.name), p,
                                           row.below_floor ? ", below our floor" : ""));
        } else {
            ++neither;
        }
    }
    std::string text =
        wrap(fmt::format("LKP's rule beside ours, {}{}{} -> {}:", report.name,
                         report.name.empty() ? "" : ": ", data.base, data.arms[i + 1].name),
             0, 4);
    text +=
        fmt::format("  changed by both {}, by LKP's alone {}, by ours alone {}, by neither {}\n",
                    both, only_lkp.size(), only_ours.size(), neither);
    return text + list("changed by LKP's alone", only_lkp) +
           list("changed by ours alone", only_ours);
}

}  // namespace

std::string render_rules(const ReportData& data) {
    if (data.rule != Rule::lkp) return "";
    std::string text;
    for (const CaseReport& report : data.cases) {
        for (std::size_t i = 0; i + 1 < data.arms.size(); ++i)
            text += '\n' + compare_rules(data, report, i);
    }
    return text + wrap(
                      "(theirs: at 3 runs an arm it calls 20% of unchanged metrics changed; ours: "
                      "p of the exact rank test, adjusted for the family)",
                      2, 2);
}

}  // namespace mano::report
