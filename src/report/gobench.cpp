// SPDX-License-Identifier: GPL-2.0-or-later
// Go's benchmark text (golang.org/design/14313-benchmark-format): `benchstat -col arm FILE` then
// recomputes medians, intervals and p-values from the same trials.
#include <algorithm>

#include "report/internal.h"
#include "report/layout.h"
#include "report/renderers.h"

namespace mano::report {
namespace {

// "shm-churn" → "ShmChurn": the name must begin with a capital letter and hold no blank.
std::string camel(std::string_view name) {
    std::string text;
    bool capital = true;
    for (const char c : name) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (c < '0' || c > '9')) {
            capital = true;
            continue;
        }
        text += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        capital = false;
    }
    const bool good = !text.empty() && text.front() >= 'A' && text.front() <= 'Z';
    return good ? text : "X" + text;
}

// A word: blanks would end it.
std::string word(std::string_view text) {
    std::string out = ascii(text);
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

// benchstat's own words for what it may assume of a unit.
std::string unit_lines(const ReportData& data) {
    std::string text;
    std::vector<std::string> said;
    for (const CaseReport& report : data.cases) {
        for (const MetricRow& row : report.rows) {
            const std::string name = word(row.metric.name);
            if (!row.shown || std::find(said.begin(), said.end(), name) != said.end()) continue;
            said.push_back(name);
            if (row.metric.better == measure::Better::neither) continue;
            text += fmt::format("Unit {} better={}\n", name, name_of(row.metric.better));
        }
    }
    return text;
}

std::string trial_lines(const ReportData& data, const CaseReport& report, std::size_t arm) {
    std::string name = "Benchmark" + camel(data.header.plan.experiment);
    if (!report.name.empty()) name += "/case=" + word(report.name);
    std::size_t trials = 0;
    for (const MetricRow& row : report.rows)
        trials = std::max(trials, row.arms[arm].values.size());
    std::string text;
    for (std::size_t trial = 0; trial < trials; ++trial) {
        std::string values;
        for (const MetricRow& row : report.rows) {
            if (!row.shown || trial >= row.arms[arm].values.size()) continue;
            const auto& value = row.arms[arm].values[trial];
            if (value) values += fmt::format(" {} {}", *value, word(row.metric.name));
        }
        // A trial without any known value has no line in this format.
        if (!values.empty()) text += name + " 1" + values + '\n';
    }
    return text;
}

}  // namespace

std::string render_gobench(const ReportData& data) {
    std::string text = fmt::format("experiment: {}\nrunset: {}\n",
                                   ascii(data.header.plan.experiment), ascii(data.header.id));
    if (data.header.plan.exact) text += "time: virtual\n";
    text += unit_lines(data);
    for (std::size_t arm = 0; arm < data.arms.size(); ++arm) {
        text += fmt::format("\narm: {}\n", ascii(data.arms[arm].name));
        for (const CaseReport& report : data.cases)
            text += trial_lines(data, report, arm);
    }
    return text;
}

}  // namespace mano::report
