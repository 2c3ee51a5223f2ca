// SPDX-License-Identifier: GPL-2.0-or-later
// Schema manometer.page/1: what the page shows beside the comparison. web/src/data.ts reads it.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "measure/stated.h"
#include "report/html.h"
#include "report/json_parts.h"
#include "report/text_table.h"

namespace mano::report {
namespace {

using Json = nlohmann::ordered_json;
using Series = std::vector<std::optional<double>>;

// What is drawn of a trial's course: every stall, and of vmstat what reclaim, compaction and swap
// did.
constexpr std::array<std::string_view, 14> kVmstat{"vmstat.allocstall",
                                                   "vmstat.compact_stall",
                                                   "vmstat.compact_fail",
                                                   "vmstat.compact_success",
                                                   "vmstat.pgscan_direct",
                                                   "vmstat.pgsteal_direct",
                                                   "vmstat.pgscan_kswapd",
                                                   "vmstat.pgsteal_kswapd",
                                                   "vmstat.pswpin",
                                                   "vmstat.pswpout",
                                                   "vmstat.pgmajfault",
                                                   "vmstat.oom_kill",
                                                   "vmstat.workingset_refault_anon",
                                                   "vmstat.workingset_refault_file"};
constexpr std::string_view kBlocks = "buddy.total.order";
constexpr std::string_view kTime = "probe.time_ns";
// An iteration's number comes from a guest or a file.
constexpr std::uint32_t kMostIterations = 2000;

bool is_counter(std::string_view name) {
    return name.starts_with("psi.") || name == kTime ||
           std::find(kVmstat.begin(), kVmstat.end(), name) != kVmstat.end();
}

struct Readings {
    Series before, after, whole;
};

struct Course {
    std::map<std::string, Readings> counters, gauges;
    std::size_t iterations = 0;
};

void put(Series& series, std::uint32_t at, std::optional<double> value) {
    if (series.size() <= at) series.resize(at + 1);
    series[at] = value;
}

Course course_of(const measure::TrialRecord& record) {
    Course course;
    for (const measure::Sample& sample : record.samples) {
        if (!sample.iteration || *sample.iteration >= kMostIterations) continue;
        const bool gauge = sample.metric.starts_with(kBlocks);
        if (!gauge && !is_counter(sample.metric)) continue;
        Readings& readings = (gauge ? course.gauges : course.counters)[sample.metric];
        Series& series = sample.moment == measure::Moment::before  ? readings.before
                         : sample.moment == measure::Moment::after ? readings.after
                                                                   : readings.whole;
        put(series, *sample.iteration, sample.value);
        course.iterations = std::max(course.iterations, std::size_t{*sample.iteration} + 1);
    }
    return course;
}

std::optional<double> at(const Series& series, std::size_t index) {
    return index < series.size() ? series[index] : std::nullopt;
}

// What an iteration added; unknown when one of its readings is.
std::optional<double> grown(const Readings& readings, std::size_t iteration) {
    if (const auto whole = at(readings.whole, iteration)) return whole;
    const auto before = at(readings.before, iteration);
    const auto after = at(readings.after, iteration);
    return before && after ? std::optional(*after - *before) : std::nullopt;
}

Json course_json(std::uint32_t trial, const Course& course) {
    Json json{{"trial", trial},
              {"seconds", nullptr},
              {"counters", Json::object()},
              {"gauges", Json::object()}};
    for (const auto& [name, readings] : course.counters) {
        const bool time = name == kTime;
        Json values = Json::array();
        for (std::size_t i = 0; i < course.iterations; ++i) {
            auto value = grown(readings, i);
            if (value && time) *value /= 1e9;
            values.push_back(number(value));
        }
        (time ? json["seconds"] : json["counters"][name]) = std::move(values);
    }
    for (const auto& [name, readings] : course.gauges) {
        Json pairs = Json::array();
        for (std::size_t i = 0; i < course.iterations; ++i)
            pairs.push_back(
                Json::array({number(at(readings.before, i)), number(at(readings.after, i))}));
        json["gauges"][name] = std::move(pairs);
    }
    return json;
}

// The courses of as many trials as there is place for, the first rows of every arm and case before
// the next ones.
void add_courses(const std::vector<const store::StoredTrial*>& trials, std::size_t most,
                 Json& json) {
    std::vector<const store::StoredTrial*> by_row = trials;
    std::stable_sort(by_row.begin(), by_row.end(),
                     [](const auto* a, const auto* b) { return a->planned.row < b->planned.row; });
    std::vector<std::pair<std::uint32_t, Json>> courses;
    std::size_t used = 0;
    std::uint64_t left_out = 0;
    for (const store::StoredTrial* trial : by_row) {
        if (used >= most) {
            ++left_out;
            continue;
        }
        const Course course = course_of(trial->record);
        if (course.iterations == 0) continue;
        used += course.iterations * (course.counters.size() + 2 * course.gauges.size());
        courses.emplace_back(trial->planned.position, course_json(trial->planned.position, course));
    }
    std::sort(courses.begin(), courses.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    json["courses"] = Json::array();
    for (auto& [position, course] : courses)
        json["courses"].push_back(std::move(course));
    json["courses_left_out"] = left_out;
}

// Index of a name in a list of the plan's arms or cases.
template <typename List>
std::size_t index_of(const List& list, const std::string& name) {
    std::size_t index = 0;
    while (index < list.size() && list[index].name != name)
        ++index;
    return index;
}

// For each case and arm the trials behind the values, in their order.
Json cells_json(const ReportData& data, const store::RunSet& runset) {
    Json cases = Json::array();
    for (const CaseReport& report : data.cases) {
        const std::size_t case_ = index_of(runset.plan.cases, report.name);
        Json arms = Json::array();
        for (const ArmReport& arm : data.arms) {
            const std::size_t index = index_of(runset.plan.arms, arm.name);
            std::vector<const plan::PlannedTrial*> cell;
            for (const store::StoredTrial& trial : runset.trials) {
                if (!trial.done || trial.planned.traced) continue;
                if (trial.standing == measure::Standing::spoiled) continue;
                if (measure::stands_for_others(trial.record)) continue;
                if (trial.planned.arm == index && trial.planned.case_ == case_)
                    cell.push_back(&trial.planned);
            }
            std::stable_sort(cell.begin(), cell.end(),
                             [](const auto* a, const auto* b) { return a->row < b->row; });
            Json trials = Json::array();
            for (const plan::PlannedTrial* trial : cell)
                trials.push_back({{"trial", trial->position}, {"seed", trial->seed}});
            arms.push_back(std::move(trials));
        }
        cases.push_back(std::move(arms));
    }
    return cases;
}

void add_cases(const ReportData& data, Json& json) {
    json["sentences"] = Json::array();
    json["shown"] = Json::array();
    for (const CaseReport& report : data.cases) {
        Json sentences = Json::array();
        for (std::size_t i = 0; i < report.verdicts.size() && i + 1 < data.arms.size(); ++i) {
            sentences.push_back(
                {{"arm", data.arms[i + 1].name}, {"text", verdict_sentence(data, report, i)}});
        }
        json["sentences"].push_back(std::move(sentences));
        Json shown = Json::array();
        for (const MetricRow& row : report.rows) {
            if (row.shown) shown.push_back(row.metric.name);
        }
        json["shown"].push_back(std::move(shown));
    }
}

}  // namespace

std::string page_json(const ReportData& data, const store::RunSet& runset,
                      std::size_t most_readings) {
    Json json;
    json["schema"] = "manometer.page/1";
    json["version"] = runset.version;
    json["question"] = runset.plan.question;
    json["name"] = runset.name;
    json["started"] = runset.started;
    json["finished"] = runset.finished.empty() ? Json(nullptr) : Json(runset.finished);
    json["command_line"] = runset.command_line;
    json["remarks"] = runset.remarks;
    json["identity"] = Json::object();
    for (const auto& [key, value] : runset.identity)
        json["identity"][key] = value;
    add_cases(data, json);
    json["cells"] = cells_json(data, runset);
    json["trials"] = Json::array();
    std::vector<const store::StoredTrial*> chosen;
    for (const store::StoredTrial& trial : runset.trials) {
        if (trial.planned.traced) continue;
        const std::string& arm = runset.plan.arms.at(trial.planned.arm).name;
        const std::string& case_ = runset.plan.cases.at(trial.planned.case_).name;
        const auto named = [](const std::string& name) {
            return [&name](const auto& each) { return each.name == name; };
        };
        if (std::none_of(data.arms.begin(), data.arms.end(), named(arm)) ||
            std::none_of(data.cases.begin(), data.cases.end(), named(case_))) {
            continue;
        }
        if (trial.done) chosen.push_back(&trial);
        const bool timed = trial.done && trial.record.host_ns > 0;
        json["trials"].push_back(
            {{"trial", trial.planned.position},
             {"arm", arm},
             {"case", case_},
             {"seed", trial.planned.seed},
             {"standing", trial.done ? Json(measure::name_of(trial.standing)) : Json(nullptr)},
             {"seconds",
              timed ? Json(static_cast<double>(trial.record.host_ns) / 1e9) : Json(nullptr)}});
    }
    add_courses(chosen, most_readings, json);
    json["text"] = render_text(data);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mano::report
