// SPDX-License-Identifier: GPL-2.0-or-later
// Long CSV, RFC 4180. What the rows mean, and how they fold: docs/methods.md, "Files".
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "report/internal.h"

namespace mano::report {
namespace {

std::string cell(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

struct Description {
    std::string unit, kind;
};

class Writer {
  public:
    Writer(const plan::Plan& plan, const Options& options, bool outcomes)
        : plan_(plan), options_(options), outcomes_(outcomes) {
        for (const plan::KeyMetric& key : plan.key_metrics)
            judged_.try_emplace(key.metric.name, key.metric);
        for (const plan::DerivedMetric& each : plan.derived)
            judged_.try_emplace(each.metric.name, each.metric);
    }

    void trial(const store::StoredTrial& trial, bool seeds_known) {
        const plan::PlannedTrial& planned = trial.planned;
        const std::string prefix =
            fmt::format("{},{},{},{},", cell(plan_.arms[planned.arm].name),
                        cell(plan_.cases[planned.case_].name), planned.position,
                        seeds_known ? fmt::format("{}", planned.seed) : "");
        std::map<std::string, std::vector<measure::Sample>> by_metric;
        std::set<std::uint32_t> all;
        for (const measure::Sample& sample : trial.record.samples) {
            by_metric[sample.metric].push_back(sample);
            if (sample.moment != measure::Moment::whole) two_sided_.insert(sample.metric);
            if (sample.iteration) all.insert(*sample.iteration);
        }
        for (const auto& [name, samples] : by_metric) {
            if (name != kFailedMetric && wanted(options_, name)) {
                metric(prefix, name, samples, all);
            }
        }
        if (!outcomes_ || !wanted(options_, kFailedMetric)) return;
        const bool failed = trial.standing == measure::Standing::failed;
        row(prefix, "", std::string(kFailedMetric), failed ? 1 : 0);
    }

    std::string text = "arm,case,trial,seed,iteration,metric,unit,value,kind\r\n";

  private:
    // One row an iteration of the trial, read or not: a missing reading is an empty cell.
    void metric(const std::string& prefix, const std::string& name,
                const std::vector<measure::Sample>& samples, const std::set<std::uint32_t>& all) {
        std::map<std::uint32_t, std::vector<measure::Sample>> by_iteration;
        for (const measure::Sample& sample : samples) {
            if (sample.iteration) by_iteration[*sample.iteration].push_back(sample);
        }
        if (by_iteration.empty()) {
            row(prefix, "", name, value_of(samples, name));
            return;
        }
        for (const std::uint32_t iteration : all) {
            row(prefix, fmt::format("{}", iteration), name,
                value_of(by_iteration[iteration], name));
        }
    }

    static Description describe(const measure::Metric& metric) {
        return {metric.unit, std::string(measure::name_of(metric.kind))};
    }
    Description described(const std::string& name) const {
        if (const auto found = judged_.find(name); found != judged_.end()) {
            return describe(found->second);
        }
        const auto known = measure::find_metric(name);
        return known ? describe(*known) : Description{};
    }

    std::optional<double> value_of(const std::vector<measure::Sample>& samples,
                                   const std::string& name) const {
        std::span<const measure::Metric> extra;
        if (const auto found = judged_.find(name); found != judged_.end()) {
            extra = std::span(&found->second, 1);
        }
        const auto folded = measure::fold(samples, extra);
        const auto found = folded.find(name);
        return found == folded.end() ? std::nullopt : found->second;
    }

    void row(const std::string& prefix, std::string_view iteration, const std::string& name,
             std::optional<double> value) {
        Description description = described(name);
        // Before and after readings of an unknown metric fold as a counter's.
        if (description.kind.empty() && two_sided_.contains(name)) description.kind = "counter";
        // {} prints the shortest text that reads back as the same double, in every locale.
        text += fmt::format(
            "{}{},{},{},{},{}\r\n", prefix, iteration, cell(name), cell(description.unit),
            value && std::isfinite(*value) ? fmt::format("{}", *value) : "", description.kind);
    }

    const plan::Plan& plan_;
    const Options& options_;
    bool outcomes_;
    std::map<std::string, measure::Metric> judged_;  // the plan's own, by name
    std::set<std::string> two_sided_;
};

}  // namespace

Result<std::string> render_csv(const store::RunSet& runset, const Options& options) {
    MANO_ASSIGN(const Choice choice, choose(runset, options));
    Writer writer(runset.plan, options, outcomes_known(runset));
    bool stated = false;
    bool any = false;
    const auto seeds = runset.identity.find("seeds");
    const bool seeds_known = seeds == runset.identity.end() || seeds->second != "unknown";
    // By arm, the base first: who reads the rows again takes the first arm for the base.
    std::vector<std::reference_wrapper<const store::StoredTrial>> trials(runset.trials.begin(),
                                                                         runset.trials.end());
    std::stable_sort(trials.begin(), trials.end(),
                     [](const store::StoredTrial& a, const store::StoredTrial& b) {
                         return std::pair(a.planned.arm, a.planned.case_) <
                                std::pair(b.planned.arm, b.planned.case_);
                     });
    for (const store::StoredTrial& trial : trials) {
        if (!trial.done || trial.planned.traced || trial.standing == measure::Standing::spoiled)
            continue;
        if (trial.planned.arm >= runset.plan.arms.size() ||
            trial.planned.case_ >= runset.plan.cases.size()) {
            return fail(Code::corrupt, "run set {}: trial {} is of an arm or case that isn't there",
                        runset.id, trial.planned.position);
        }
        const plan::PlannedTrial& planned = trial.planned;
        const auto has = [](const std::vector<std::uint32_t>& list, std::uint32_t index) {
            return std::find(list.begin(), list.end(), index) != list.end();
        };
        if (!has(choice.arms, planned.arm) || !has(choice.cases, planned.case_)) continue;
        if (measure::stands_for_others(trial.record)) {
            stated = true;
            continue;
        }
        any = true;
        writer.trial(trial, seeds_known);
    }
    if (stated && !any) {
        return fail(Code::invalid,
                    "run set {} holds means and spreads of trials, not the trials: there is no raw "
                    "value to write; see --format lkp or json",
                    runset.id);
    }
    return std::move(writer.text);
}

}  // namespace mano::report
