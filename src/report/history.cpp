// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/internal.h"
#include "report/json_parts.h"
#include "report/layout.h"
#include "report/noise.h"

namespace mano::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongRelease = 30;
constexpr std::size_t kBar = 16;

// Case and metric → series, in the order of the newest report.
HistorySeries& series_of(History& history, const std::string& case_, const MetricRow& row) {
    for (HistorySeries& each : history.series) {
        if (each.case_ == case_ && each.metric.name == row.metric.name) return each;
    }
    history.series.push_back({case_, row.metric, row.not_observable, {}, {}});
    return history.series.back();
}

bool has_metric(const std::vector<std::string>& wanted, const CaseReport& report,
                const MetricRow& row) {
    if (!wanted.empty()) {
        return std::any_of(wanted.begin(), wanted.end(),
                           [&](const std::string& glob) { return matches(glob, row.metric.name); });
    }
    const bool primary = std::any_of(report.rows.begin(), report.rows.end(),
                                     [](const MetricRow& each) { return each.primary; });
    return primary ? row.primary : row.key;
}

// An arm that is a kernel and nothing else.
bool plain(const plan::Plan& plan, const ArmReport& arm) {
    const auto found = std::find_if(plan.arms.begin(), plan.arms.end(),
                                    [&](const plan::Arm& each) { return each.name == arm.name; });
    return found != plan.arms.end() && found->cmdline.empty() && found->settings.empty() &&
           found->params.empty() && !arm.placebo && !arm.release.empty();
}

void add_runset(const store::RunSet& runset, const ReportData& data,
                const std::vector<std::string>& metrics, History& history) {
    for (const CaseReport& report : data.cases) {
        for (const MetricRow& row : report.rows) {
            if (!has_metric(metrics, report, row)) continue;
            HistorySeries& series = series_of(history, report.name, row);
            for (std::size_t i = 0; i < data.arms.size(); ++i) {
                const ArmReport& arm = data.arms[i];
                const bool there =
                    std::any_of(series.kernels.begin(), series.kernels.end(),
                                [&](const auto& each) { return each.release == arm.release; });
                if (there || !plain(runset.plan, arm)) continue;
                HistoryKernel kernel;
                kernel.name = arm.name;
                kernel.release = arm.release;
                kernel.spec = arm.spec;
                kernel.runset = runset.id;
                kernel.summary = row.arms[i].summary;
                kernel.failed = arm.failed;
                for (const auto& value : row.arms[i].values) {
                    if (value) kernel.values.push_back(*value);
                    kernel.unknown += value ? 0 : 1;
                }
                series.kernels.push_back(std::move(kernel));
            }
        }
    }
}

void find_changes(double alpha, HistorySeries& series) {
    std::sort(series.kernels.begin(), series.kernels.end(),
              [](const auto& a, const auto& b) { return older_release(a.release, b.release); });
    std::vector<std::vector<double>> groups;
    for (const HistoryKernel& kernel : series.kernels)
        groups.push_back(kernel.values);
    for (const stats::ChangePoint& point : stats::change_points(groups, alpha)) {
        HistoryChange change{point, std::nullopt, false};
        const double shift = point.shift ? std::fabs(point.shift->estimate) : 0;
        if (point.shift && point.left_median && *point.left_median != 0) {
            change.pct = 100 * point.shift->estimate / std::fabs(*point.left_median);
        }
        change.small = shift <= series.metric.floor ||
                       (change.pct && std::fabs(*change.pct) <= series.metric.margin_pct);
        series.changes.push_back(change);
    }
}

std::string with_interval(const stats::Summary& summary) {
    if (!summary.ci95) return "";
    return fmt::format("[{}, {}]", show_number(summary.ci95->first),
                       show_number(summary.ci95->second));
}

std::string change_text(const HistorySeries& series, const HistoryChange& change) {
    const stats::ChangePoint& point = change.point;
    const auto median = [](const std::optional<double>& value) {
        return value ? show_number(*value) : "?";
    };
    std::string text = fmt::format("^^^ {}: {} -> {}", change.small ? "small change" : "CHANGE",
                                   median(point.left_median), median(point.right_median));
    if (change.pct) text += fmt::format(", {}", show_percent(*change.pct));
    if (point.shift) {
        text += fmt::format("; shift {}", show_signed(point.shift->estimate));
        if (point.shift->ci95) {
            text += fmt::format(" [{}, {}]", show_signed(point.shift->ci95->first),
                                show_signed(point.shift->ci95->second));
        }
    }
    text += fmt::format("; p = {}; {} to {} against {} to {}", show_p(point.p),
                        series.kernels[point.from].name, series.kernels[point.before].name,
                        series.kernels[point.before + 1].name, series.kernels[point.to].name);
    return wrap(text, 4, 8);
}

std::string series_text(const HistorySeries& series) {
    std::string title = series.metric.name;
    if (!series.metric.unit.empty()) title += fmt::format(" ({})", series.metric.unit);
    if (!series.case_.empty()) title += ", " + series.case_;
    std::string text = wrap(title, 0, 4);
    if (series.not_observable) text += wrap("not observable here: " + *series.not_observable, 2, 2);
    double most = 0;
    std::size_t width = 6;
    std::size_t median = 6;
    std::size_t interval = 12;
    for (const HistoryKernel& kernel : series.kernels) {
        most = std::max(most, kernel.summary.median.value_or(0));
        width = std::max(width, excerpt(kernel.release, kLongRelease).size());
        if (kernel.summary.median)
            median = std::max(median, show_number(*kernel.summary.median).size());
        interval = std::max(interval, with_interval(kernel.summary).size());
    }
    text += "  " + pad_right("kernel", width) + "    n  " + pad_left("median", median) +
            "  95% interval\n";
    for (std::size_t i = 0; i < series.kernels.size(); ++i) {
        const HistoryKernel& kernel = series.kernels[i];
        std::string line =
            "  " + pad_right(excerpt(kernel.release, kLongRelease), width) +
            fmt::format(" {:>4}  ", kernel.values.size()) +
            pad_left(kernel.summary.median ? show_number(*kernel.summary.median) : "-", median) +
            "  " + pad_right(with_interval(kernel.summary), interval) + "  ";
        if (most > 0 && kernel.summary.median && line.size() + kBar <= kColumns) {
            const double length =
                std::max(0.0, *kernel.summary.median / most * static_cast<double>(kBar));
            line += std::string(static_cast<std::size_t>(std::lround(length)), '#');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
        if (kernel.failed > 0 || kernel.unknown > 0) {
            text +=
                fmt::format("    {} failed, {} values unknown\n", kernel.failed, kernel.unknown);
        }
        for (const HistoryChange& change : series.changes) {
            if (change.point.before == i) text += change_text(series, change);
        }
    }
    if (series.changes.empty()) text += "  no change was found\n";
    return text;
}

Json series_json(const HistorySeries& series) {
    Json json{
        {"case", series.case_},
        {"metric", series.metric.name},
        {"unit", series.metric.unit},
        {"better", measure::name_of(series.metric.better)},
        {"not_observable", series.not_observable ? Json(*series.not_observable) : Json(nullptr)},
        {"kernels", Json::array()},
        {"changes", Json::array()}};
    for (const HistoryKernel& kernel : series.kernels) {
        json["kernels"].push_back({{"name", kernel.name},
                                   {"release", kernel.release},
                                   {"spec", kernel.spec},
                                   {"runset", kernel.runset},
                                   {"n", kernel.values.size()},
                                   {"values", kernel.values},
                                   {"unknown", kernel.unknown},
                                   {"failed", kernel.failed},
                                   {"median", number(kernel.summary.median)},
                                   {"ci95", interval(kernel.summary.ci95)}});
    }
    for (const HistoryChange& change : series.changes) {
        const stats::ChangePoint& point = change.point;
        json["changes"].push_back(
            {{"after", series.kernels[point.before].release},
             {"first", series.kernels[point.before + 1].release},
             {"p", point.p},
             {"from", series.kernels[point.from].release},
             {"to", series.kernels[point.to].release},
             {"left_median", number(point.left_median)},
             {"right_median", number(point.right_median)},
             {"shift", point.shift ? number(point.shift->estimate) : Json(nullptr)},
             {"shift_ci95", point.shift ? interval(point.shift->ci95) : Json(nullptr)},
             {"pct", number(change.pct)},
             {"small", change.small}});
    }
    return json;
}

}  // namespace

bool older_release(std::string_view a, std::string_view b) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    while (!a.empty() && !b.empty()) {
        if (digit(a.front()) && digit(b.front())) {
            const auto take = [&](std::string_view& text) {
                std::size_t end = 0;
                while (end < text.size() && digit(text[end]))
                    ++end;
                std::string_view number = text.substr(0, end);
                text.remove_prefix(end);
                number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
                return number;
            };
            const std::string_view left = take(a);
            const std::string_view right = take(b);
            // Without leading zeros the longer one is larger; as long as that, as text.
            if (left.size() != right.size()) return left.size() < right.size();
            if (left != right) return left < right;
            continue;
        }
        if (a.front() != b.front()) return a.front() < b.front();
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
    return a.empty() && !b.empty();
}

Result<History> build_history(std::span<const store::RunSet> runsets,
                              const std::vector<std::string>& metrics,
                              const std::vector<std::string>& cases) {
    History history;
    if (runsets.empty()) return fail(Code::not_found, "no run set to make a history of");
    const store::RunSet& first = runsets.front();
    history.experiment = first.plan.experiment;
    history.question = first.plan.question;
    history.exact = first.plan.exact;
    history.alpha = first.plan.alpha;
    for (const store::RunSet& runset : runsets) {
        if (&runset != &first && (runset.plan.experiment_sha256 != first.plan.experiment_sha256 ||
                                  !same_ground(runset, first.plan, first.identity))) {
            history.left_out.push_back(runset.id + ": another machine, mode, shape or experiment");
            continue;
        }
        Options options;
        options.cases = cases;
        options.all = true;
        MANO_ASSIGN(const ReportData data, build(runset, options));
        add_runset(runset, data, metrics, history);
        history.runsets.push_back(runset.id);
    }
    if (history.series.empty()) {
        return fail(Code::not_found,
                    "no metric of {} matches; `manometer compare {} --all` lists "
                    "them",
                    first.plan.experiment, first.id);
    }
    for (HistorySeries& series : history.series) {
        if (series.kernels.size() < 2) {
            return fail(Code::not_found,
                        "{}: a history takes two kernels, and the run sets have {}; run with -k "
                        "debian:6.1..7.3, say",
                        first.plan.experiment, series.kernels.size());
        }
        find_changes(history.alpha, series);
    }
    return history;
}

std::string render_history(const History& history) {
    std::string text =
        wrap(fmt::format("{} over {} kernels{}", history.experiment,
                         history.series.empty() ? 0 : history.series.front().kernels.size(),
                         history.exact ? ", exact: times are virtual (instructions)" : ""),
             0, 4);
    if (!history.question.empty()) text += wrap(history.question, 2, 2);
    for (const HistorySeries& series : history.series)
        text += '\n' + series_text(series);
    text += fmt::format(
        "\nChanges by binary segmentation on ranks, permutation test of the best cut,\n"
        "alpha {:g} a cut; small: within the metric's floor or margin. n: trials (boots).\n",
        history.alpha);
    for (const std::string& id : history.runsets)
        text += wrap("run set " + id, 0, 4);
    for (const std::string& line : history.left_out)
        text += wrap("left out: " + line, 0, 4);
    return text;
}

std::string render_history_json(const History& history) {
    Json json{{"schema", "manometer.history/1"}, {"experiment", history.experiment},
              {"exact", history.exact},          {"alpha", history.alpha},
              {"runsets", history.runsets},      {"left_out", history.left_out},
              {"series", Json::array()}};
    for (const HistorySeries& series : history.series)
        json["series"].push_back(series_json(series));
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace mano::report
