// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/show_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/output.h"
#include "report/layout.h"

namespace mano::cli {
namespace {

using Series = std::vector<std::optional<double>>;

constexpr std::size_t kSparkWidth = 40;
constexpr std::size_t kFewestForSpark = 3;  // fewer points make no course
constexpr std::size_t kMaxOrder = 20;       // MAX_PAGE_ORDER is 10 on x86-64, 13 at most elsewhere

std::optional<std::pair<double, double>> range_of(const std::vector<Series>& all) {
    std::optional<std::pair<double, double>> range;
    for (const Series& series : all) {
        for (const auto& value : series) {
            if (!value) continue;
            if (!range) range.emplace(*value, *value);
            range->first = std::min(range->first, *value);
            range->second = std::max(range->second, *value);
        }
    }
    return range;
}

// "  name  least .. greatest  .:-=".
std::vector<std::string> spark_row(std::string name, const Series& series,
                                   std::optional<std::pair<double, double>> range,
                                   report::Charset charset) {
    const auto own = range_of({series});
    std::string ends = "unknown";
    if (own) {
        ends = report::show_number(own->first);
        if (own->first != own->second) ends += " .. " + report::show_number(own->second);
    }
    return {"  " + report::ascii(name), ends,
            report::sparkline(series, charset, range, kSparkWidth)};
}

std::string with_unit(const measure::Metric& metric) {
    const std::string name = report::ascii(metric.name);
    return metric.unit.empty() ? name : fmt::format("{} ({})", name, report::ascii(metric.unit));
}

// The values of one metric in one case, arm by arm, in the order in which the trials ran.
std::vector<Series> by_arm(const store::RunSet& runset,
                           const std::vector<std::optional<Values>>& folded,
                           const std::string& metric, std::uint32_t case_) {
    std::vector<Series> series(runset.plan.arms.size());
    for (std::size_t i = 0; i < folded.size(); ++i) {
        const store::StoredTrial& trial = runset.trials[i];
        if (!folded[i] || trial.planned.case_ != case_) continue;
        const auto found = folded[i]->find(metric);
        series.at(trial.planned.arm)
            .push_back(found == folded[i]->end() ? std::nullopt : found->second);
    }
    return series;
}

// Rows under a title of their own, the sparklines below each other.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::size_t first = 0;
    std::size_t second = 0;
    for (const auto& row : rows) {
        first = std::max(first, row[0].size());
        second = std::max(second, row[1].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line = report::pad_right(row[0], first) + "  ";
        // Where all three don't fit into a line, the picture has the next one.
        const std::string ends = report::pad_right(row[1], second);
        const bool fits = first + second + 4 + kSparkWidth <= report::kColumns;
        line += fits ? ends + "  " + row[2] : row[1] + "\n      " + row[2];
        text += line + '\n';
    }
    return text;
}

std::string blocks(const measure::TrialRecord& record, bool first, report::Charset charset) {
    std::vector<std::pair<std::string, std::optional<double>>> rows;
    for (std::size_t order = 0; order <= kMaxOrder; ++order) {
        const std::string name = fmt::format("buddy.total.order{}", order);
        const measure::Sample* found = nullptr;
        for (const measure::Sample& sample : record.samples) {
            if (sample.metric != name) continue;
            const auto wanted = first ? measure::Moment::before : measure::Moment::after;
            if (sample.moment != wanted) continue;
            if (found == nullptr || (first ? sample.iteration < found->iteration
                                           : sample.iteration > found->iteration)) {
                found = &sample;
            }
        }
        if (found != nullptr) rows.emplace_back(fmt::format("  order {:2}", order), found->value);
    }
    return rows.empty() ? "" : report::bars(rows, charset);
}

}  // namespace

std::string runset_plots(const store::RunSet& runset, report::Charset charset) {
    std::vector<std::optional<Values>> folded;
    bool any = false;
    for (const store::StoredTrial& trial : runset.trials) {
        const bool counts =
            trial.done && !trial.planned.traced && trial.standing != measure::Standing::spoiled;
        folded.push_back(counts ? std::optional(values_of(runset.plan, trial.record).whole)
                                : std::nullopt);
        any = any || counts;
    }
    if (!any || runset.plan.key_metrics.empty()) return "";
    std::string text;
    for (std::uint32_t c = 0; c < runset.plan.cases.size(); ++c) {
        for (const plan::KeyMetric& key : runset.plan.key_metrics) {
            const auto series = by_arm(runset, folded, key.metric.name, c);
            const auto range = range_of(series);
            if (!range) continue;
            std::string title = with_unit(key.metric);
            if (runset.plan.cases.size() > 1)
                title += ", " + report::ascii(runset.plan.cases[c].name);
            text += title + '\n';
            std::vector<std::vector<std::string>> rows;
            for (std::size_t arm = 0; arm < series.size(); ++arm) {
                rows.push_back(spark_row(runset.plan.arms[arm].name, series[arm], range, charset));
            }
            text += aligned(rows);
        }
    }
    return text.empty()
               ? ""
               : "\njudged metrics, trial by trial as they ran (one scale a metric):\n" + text;
}

std::string trial_plots(const plan::Plan& plan, const measure::TrialRecord& record,
                        const TrialValues& values, report::Charset charset) {
    std::string text;
    if (values.iterations.size() >= kFewestForSpark) {
        std::vector<std::string> names;
        for (const plan::KeyMetric& key : plan.key_metrics)
            names.push_back(key.metric.name);
        for (const auto& [name, unused] : values.whole) {
            const bool named = std::find(names.begin(), names.end(), name) != names.end();
            if (name.starts_with("psi.") && !named) names.push_back(name);
        }
        std::vector<std::vector<std::string>> rows;
        for (const std::string& name : names) {
            Series series;
            for (const auto& [iteration, of_iteration] : values.iterations) {
                const auto found = of_iteration.find(name);
                series.push_back(found == of_iteration.end() ? std::nullopt : found->second);
            }
            const auto range = range_of({series});
            if (range) rows.push_back(spark_row(name, series, range, charset));
        }
        if (!rows.empty()) text += "\nover the iterations:\n" + aligned(rows);
    }
    const std::string before = blocks(record, true, charset);
    if (!before.empty()) text += "\nfree blocks by order, before the first iteration:\n" + before;
    const std::string after = blocks(record, false, charset);
    if (!after.empty()) text += "\nfree blocks by order, after the last iteration:\n" + after;
    return text;
}

}  // namespace mano::cli
