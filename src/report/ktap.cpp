// SPDX-License-Identifier: GPL-2.0-or-later
// KTAP version 1 (Documentation/dev-tools/ktap.rst of the kernel). A test is one judged metric of
// one arm against the base.
#include "report/internal.h"
#include "report/layout.h"
#include "report/renderers.h"

namespace mano::report {
namespace {

// A '#' begins a directive, and a description must not begin with a number or a dash.
std::string description(std::string_view text) {
    std::string out;
    for (const char c : ascii(text))
        out += c == '#' ? '_' : c;
    return out;
}

std::string number(const std::optional<double>& value) {
    return value ? show_number(*value) : "unknown";
}

std::string details(const MetricRow& row, const Change& change, std::size_t i) {
    const stats::Comparison& comparison = change.comparison;
    std::string text = fmt::format("# median {} -> {}{}{}", number(row.arms[0].summary.median),
                                   number(row.arms[i + 1].summary.median),
                                   row.metric.unit.empty() ? "" : " ", ascii(row.metric.unit));
    if (comparison.median_pct) text += ", " + show_percent(*comparison.median_pct);
    if (comparison.p_adjusted) text += ", p " + show_p(*comparison.p_adjusted);
    if (row.metric.better != measure::Better::neither) {
        text += fmt::format(", {} is better", name_of(row.metric.better));
    }
    return text;
}

struct Tests {
    std::string text;
    std::size_t count = 0;
    bool failed = false;
    std::size_t answered = 0;

    void add(const std::string& name, stats::Verdict verdict, std::string_view indent) {
        ++count;
        const bool worse = verdict == stats::Verdict::worse;
        const bool answer =
            worse || verdict == stats::Verdict::better || verdict == stats::Verdict::no_change;
        failed = failed || worse;
        if (answer) ++answered;
        // Without a direction or a verdict nothing was tested: that is a skip, and never a pass.
        text += fmt::format("{}{} {} {}{}\n", indent, worse ? "not ok" : "ok", count, name,
                            answer ? "" : fmt::format(" # SKIP {}", name_of(verdict)));
    }
};

Tests of_case(const ReportData& data, const CaseReport& report, std::string_view indent) {
    Tests tests;
    for (std::size_t i = 0; i + 1 < data.arms.size(); ++i) {
        for (const MetricRow& row : report.rows) {
            if (!row.key && !row.shown) continue;
            const Change& change = row.changes[i];
            tests.text += std::string(indent) + details(row, change, i) + '\n';
            tests.add(
                description(data.base + "->" + data.arms[i + 1].name + ": " + row.metric.name),
                change.verdict, indent);
        }
    }
    return tests;
}

}  // namespace

std::string render_ktap(const ReportData& data) {
    std::string text = fmt::format("KTAP version 1\n1..{}\n", data.cases.size());
    for (std::size_t i = 0; i < data.cases.size(); ++i) {
        const CaseReport& report = data.cases[i];
        const std::string name =
            description(report.name.empty() ? data.header.plan.experiment : report.name);
        const Tests tests = of_case(data, report, "  ");
        text += fmt::format("  KTAP version 1\n  # Subtest: {}\n  1..{}\n", name, tests.count);
        text += tests.text;
        const bool skipped = !tests.failed && tests.answered == 0;
        text += fmt::format("{} {} {}{}\n", tests.failed ? "not ok" : "ok", i + 1, name,
                            skipped ? fmt::format(" # SKIP {}", name_of(report.verdict)) : "");
    }
    for (const Warning& warning : data.warnings)
        text += fmt::format("# {}: {}\n", ascii(warning.text), ascii(warning.what_to_do));
    return text +
           fmt::format("# run set {}, verdict {}\n", ascii(data.header.id), name_of(data.verdict));
}

}  // namespace mano::report
