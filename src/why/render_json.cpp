// SPDX-License-Identifier: GPL-2.0-or-later
// Why → JSON, and a trace for ui.perfetto.dev (the JSON form of trace events).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "why/why.h"

namespace mano::why {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Key& what) {
    return {{"asked", what.asked},
            {"stalled_in", what.stall},
            {"stage", what.stage.empty() ? Json(nullptr) : Json(what.stage)}};
}

void add_how(Json& json, const std::array<double, 3>& of) {
    for (std::size_t how = 0; how < of.size(); ++how)
        json[std::string(trace::name_of(static_cast<trace::How>(how))) + "_ns"] = of[how];
}

Json to_json(const Group& group) {
    Json json = to_json(group.what);
    json["ns"] = group.ns;
    json["count"] = group.count;
    json["longest_ns"] = group.longest;
    json["per_trial_ns"] = group.per_trial;
    add_how(json, group.how);
    json["functions"] = Json::array();
    for (const Leaf& leaf : group.leaves) {
        Json one{{"function", leaf.function}, {"ns", leaf.ns}};
        add_how(one, leaf.how);
        json["functions"].push_back(std::move(one));
    }
    return json;
}

template <typename Map>
Json to_list(const Map& map, const char* key) {
    Json list = Json::array();
    for (const auto& [value, count] : map)
        list.push_back({{key, value}, {"count", count}});
    return list;
}

Json to_json(const SpanSum& sum) {
    return {{"span", trace::name_of(sum.kind)},
            {"count", sum.count},
            {"ns", sum.ns},
            {"longest_ns", sum.longest},
            {"median_ns", sum.median},
            {"p99_ns", sum.p99 > 0 ? Json(sum.p99) : Json(nullptr)},
            {"log2_ns_histogram", to_list(sum.histogram, "log2_ns")},
            {"orders", to_list(sum.orders, "order")},
            {"results", to_list(sum.results, "result")}};
}

Json to_json(const ArmWhy& arm) {
    Json groups = Json::array();
    for (const Group& group : arm.groups)
        groups.push_back(to_json(group));
    Json spans = Json::array();
    for (const SpanSum& sum : arm.spans)
        spans.push_back(to_json(sum));
    Json culprits = Json::array();
    for (const Culprit& culprit : arm.culprits) {
        culprits.push_back({{"function", culprit.function},
                            {"count", culprit.count},
                            {"longest_ns", culprit.longest}});
    }
    Json trials = Json::array();
    for (const TrialWhy& trial : arm.trials) {
        Json iterations = Json::array();
        for (const auto& [iteration, window] : trial.analysis.windows) {
            const auto found = trial.stalled.find(iteration);
            iterations.push_back(
                {{"iteration", iteration},
                 {"stalled_ns", found == trial.stalled.end() ? 0 : found->second},
                 {"window_ns", window.second - std::min(window.first, window.second)}});
        }
        trials.push_back({{"trial", trial.position},
                          {"psi_some_us", or_null(trial.psi_some_us)},
                          {"psi_full_us", or_null(trial.psi_full_us)},
                          {"true_some_ns", trial.analysis.probe.some_ns},
                          {"true_full_ns", trial.analysis.probe.full_ns},
                          {"records", trial.analysis.records},
                          {"iterations", iterations}});
    }
    return {{"name", arm.name},
            {"case", arm.case_},
            {"trials", trials},
            {"stalls", arm.stalls},
            {"stalled_ns", arm.stalled_ns},
            {"true_some_ns", arm.some_ns},
            {"true_full_ns", arm.full_ns},
            {"psi_some_us", or_null(arm.psi_some_us)},
            {"psi_full_us", or_null(arm.psi_full_us)},
            {"explained_pct", or_null(arm.explained_pct())},
            {"from", arm.from_tracepoints ? "tracepoints" : "kprobes"},
            {"groups", groups},
            {"spans", spans},
            {"wakeups", arm.wakeups},
            {"culprits", culprits},
            {"losses",
             {{"records", arm.lost},
              {"not_understood", arm.odd},
              {"unfinished", arm.unfinished},
              {"no_symbols", arm.no_symbols}}}};
}

std::string dump(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

// One arm's worst iteration, as a process with a thread a task.
class Perfetto {
  public:
    std::string write(const Why& why) {
        int process = 0;
        for (const ArmWhy& arm : why.arms)
            add(arm, ++process, why.all_tasks);
        Json json;
        json["displayTimeUnit"] = "ns";
        json["traceEvents"] = std::move(events_);
        return dump(json);
    }

  private:
    static double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

    void name(int process, std::int64_t thread, const char* what, const std::string& text) {
        events_.push_back({{"ph", "M"},
                           {"pid", process},
                           {"tid", thread},
                           {"name", what},
                           {"args", {{"name", text}}}});
    }

    void add(const ArmWhy& arm, int process, bool all_tasks) {
        const TrialWhy* worst = nullptr;
        std::uint32_t iteration = 0;
        double most = -1;
        for (const TrialWhy& trial : arm.trials) {
            for (const auto& [number, window] : trial.analysis.windows) {
                const auto found = trial.stalled.find(number);
                const double stalled = found == trial.stalled.end() ? 0 : found->second;
                if (stalled <= most) continue;
                most = stalled;
                worst = &trial;
                iteration = number;
            }
        }
        if (worst == nullptr) return;
        std::string title = arm.name + (arm.case_.empty() ? "" : " " + arm.case_);
        title += fmt::format(", trial {}, iteration {}", worst->position, iteration);
        name(process, 0, "process_name", title);
        const trace::Analysis& analysis = worst->analysis;
        std::map<std::int32_t, bool> tasks;
        const auto slice = [&](std::string_view what, std::int32_t tid, std::uint64_t begin,
                               std::uint64_t end, Json arguments) {
            tasks[tid] = true;
            events_.push_back({{"ph", "X"},
                               {"pid", process},
                               {"tid", tid},
                               {"name", what},
                               {"ts", us(begin)},
                               {"dur", us(end - begin)},
                               {"args", std::move(arguments)}});
        };
        for (const trace::Stall& stall : analysis.stalls) {
            if (stall.iteration != iteration) continue;
            if (!all_tasks && stall.role == trace::Role::other) continue;
            slice("stall: " + trace::fold_stack(analysis.stacks[stall.stack], {}).stall, stall.tid,
                  stall.begin_ns, stall.end_ns,
                  {{"stack", joined(trace::tidy_stack(analysis.stacks[stall.stack]))}});
        }
        for (const trace::Span& span : analysis.spans) {
            if (span.iteration != iteration) continue;
            slice(trace::name_of(span.kind), span.tid, span.begin_ns, span.end_ns,
                  {{"order", or_null(span.order)}, {"result", or_null(span.result)}});
        }
        for (const auto& [tid, unused] : tasks) {
            const auto known = analysis.names.find(tid);
            name(process, tid, "thread_name",
                 known == analysis.names.end() ? fmt::format("task {}", tid) : known->second);
        }
        add_counters(*worst, iteration, process);
    }

    void add_counters(const TrialWhy& trial, std::uint32_t iteration, int process) {
        const auto window = trial.analysis.windows.find(iteration);
        const auto counters = trial.counters.find(iteration);
        if (window == trial.analysis.windows.end() || counters == trial.counters.end()) return;
        for (const auto& [metric, values] : counters->second) {
            for (std::size_t side = 0; side < values.size(); ++side) {
                if (!values[side]) continue;
                events_.push_back(
                    {{"ph", "C"},
                     {"pid", process},
                     {"name", metric},
                     {"ts", us(side == 0 ? window->second.first : window->second.second)},
                     {"args", {{"value", *values[side]}}}});
            }
        }
    }

    static std::string joined(const std::vector<std::string>& stack) {
        std::string text;
        for (const std::string& function : stack)
            text += (text.empty() ? "" : " > ") + function;
        return text;
    }

    Json events_ = Json::array();
};

}  // namespace

std::string render_json(const Why& why) {
    Json arms = Json::array();
    for (const ArmWhy& arm : why.arms)
        arms.push_back(to_json(arm));
    Json diffs = Json::array();
    for (const Diff& diff : why.diffs) {
        Json changes = Json::array();
        for (const Change& change : diff.changes) {
            Json json = to_json(change.what);
            json["before_ns"] = change.before_ns;
            json["after_ns"] = change.after_ns;
            json["shift_ci95_ns"] =
                change.ci95_ns ? Json::array({change.ci95_ns->first, change.ci95_ns->second})
                               : Json(nullptr);
            json["verdict"] = change.verdict;
            changes.push_back(std::move(json));
        }
        diffs.push_back({{"before", diff.before},
                         {"after", diff.after},
                         {"case", diff.case_},
                         {"changes", changes}});
    }
    return dump({{"schema", "manometer.why/1"},
                 {"runset", why.runset},
                 {"experiment", why.experiment},
                 {"exact", why.exact},
                 {"tasks", why.all_tasks ? "all" : "probe"},
                 {"arms", arms},
                 {"diffs", diffs}});
}

std::string render_perfetto(const Why& why) {
    return Perfetto().write(why);
}

}  // namespace mano::why
