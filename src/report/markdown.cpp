// SPDX-License-Identifier: GPL-2.0-or-later
// The text's table cells in Markdown, so that a number never differs between the two.
#include "report/internal.h"
#include "report/layout.h"
#include "report/renderers.h"
#include "report/text.h"
#include "report/text_table.h"

namespace mano::report {
namespace {

// A cell can't hold a line break or a bar; the rest of Markdown's signs would change the text.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : ascii(text)) {
        if (std::string_view("|*_`<>[]\\#").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

std::string row(const Line& line, bool change) {
    std::string text = "| " + cell(line.name);
    for (const std::string& sentence : line.below)
        text += "<br>" + cell(sentence);
    for (std::size_t column = 0; column < (change ? kColumnCount : 1); ++column) {
        text += " | " + cell(line.cells[column]);
    }
    return text + " |\n";
}

std::string table(const ReportData& data, const CaseReport& report,
                  std::optional<std::size_t> change, const Notes& notes) {
    const Lines lines = table_lines(data, report, change, notes);
    std::string text = row(lines.head, change.has_value());
    text += change ? "|---|--:|--:|--:|--:|---|\n" : "|---|--:|\n";
    for (const Line& line : lines.keys)
        text += row(line, change.has_value());
    for (const Line& line : lines.others)
        text += row(line, change.has_value());
    if (!lines.hidden.empty()) text += "\nNot shown: " + cell(lines.hidden) + ".\n";
    return text;
}

}  // namespace

std::string render_markdown(const ReportData& data) {
    const Notes notes = number_notes(data);
    std::string arms = data.base;
    for (std::size_t i = 1; i < data.arms.size(); ++i)
        arms += (i == 1 ? " -> " : ", ") + data.arms[i].name;
    std::string text = fmt::format("### {}, {}: {}\n\n", cell(data.header.plan.experiment),
                                   cell(arms), stats::name_of(data.verdict));
    if (!data.header.plan.question.empty()) text += cell(data.header.plan.question) + "\n\n";
    for (const CaseReport& report : data.cases) {
        if (data.arms.size() < 2) {
            if (!report.name.empty()) text += "#### " + cell(report.name) + "\n\n";
            text += table(data, report, std::nullopt, notes) + '\n';
        }
        for (std::size_t i = 0; i < report.verdicts.size(); ++i) {
            const std::string where = report.name.empty() ? "" : report.name + ", ";
            text += fmt::format("#### {}{} -> {}: {}\n\n", cell(where), cell(data.base),
                                cell(data.arms[i + 1].name), stats::name_of(report.verdicts[i]));
            text += table(data, report, i, notes) + '\n';
        }
    }
    // What comes after the tables is the text's, in its own layout.
    std::string rest = render_after_tables(data, notes) + render_rules(data);
    return text + "```\n" + rest + "```\n";
}

}  // namespace mano::report
