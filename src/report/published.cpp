// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/published.h"

#include <algorithm>

#include "report/layout.h"

namespace mano::report {
namespace {

constexpr std::size_t kNameColumns = 30;
constexpr std::size_t kThereColumns = 24;
constexpr std::size_t kHereColumns = 26;

// One line of the block: what was published of one metric in one case, in the order of the file.
struct Row {
    std::string case_, metric;
    std::vector<const Published*> values;
};

std::vector<Row> rows_of(const ReportData& data) {
    std::vector<Row> rows;
    for (const Published& value : data.published) {
        const auto same = [&value](const Row& row) {
            return row.case_ == value.case_ && row.metric == value.metric;
        };
        auto found = std::find_if(rows.begin(), rows.end(), same);
        if (found == rows.end()) {
            rows.push_back({value.case_, value.metric, {}});
            found = rows.end() - 1;
        }
        found->values.push_back(&value);
    }
    return rows;
}

std::string arrows(const std::vector<std::optional<double>>& values) {
    std::string text;
    for (const auto& value : values)
        text += (text.empty() ? "" : " -> ") + (value ? show_number(*value) : "-");
    const bool pair = values.size() == 2 && values[0] && values[1];
    if (pair && *values[0] != 0) {
        text += fmt::format(" ({})", show_percent(100 * (*values[1] / *values[0] - 1)));
    }
    return text;
}

std::string line(std::string_view name, std::string_view published, std::string_view here) {
    std::string text = pad_right(name, kNameColumns) + pad_left(published, kThereColumns) +
                       pad_left(here, kHereColumns);
    return text + "\n";
}

}  // namespace

std::optional<double> median_here(const ReportData& data, const Published& value) {
    for (const CaseReport& report : data.cases) {
        if (report.name != value.case_) continue;
        for (const MetricRow& row : report.rows) {
            if (row.metric.name != value.metric) continue;
            for (std::size_t i = 0; i < data.arms.size() && i < row.arms.size(); ++i) {
                const stats::Summary& summary = row.arms[i].summary;
                if (data.arms[i].name == value.arm) return summary.median;
            }
        }
    }
    return std::nullopt;
}

std::string render_published(const ReportData& data) {
    if (data.published.empty()) return "";
    std::string sources;
    for (const Published& value : data.published) {
        if (value.source.empty() || sources.find(value.source) != std::string::npos) continue;
        sources += (sources.empty() ? "" : "; ") + value.source;
    }
    std::string text = wrap("published" + (sources.empty() ? "" : " (" + sources + ")") +
                                ", beside the medians over trials here:",
                            0, 4);
    const std::vector<Row> rows = rows_of(data);
    std::string arms;
    for (const Published* value : rows.front().values)
        arms += (arms.empty() ? "" : " -> ") + ascii(value->arm);
    text += line("", "published", "here") + line("", arms, arms);
    std::optional<std::string> shown;
    for (const Row& row : rows) {
        if (shown != row.case_) {
            if (!row.case_.empty()) text += ascii(row.case_) + ":\n";
            shown = row.case_;
        }
        std::vector<std::optional<double>> there;
        std::vector<std::optional<double>> here;
        for (const Published* value : row.values) {
            there.emplace_back(value->value);
            here.push_back(median_here(data, *value));
        }
        text += line(ascii(row.metric), arrows(there), arrows(here));
    }
    return text;
}

}  // namespace mano::report
