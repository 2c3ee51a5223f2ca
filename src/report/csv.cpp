// SPDX-License-Identifier: GPL-2.0-or-later
// Long CSV, RFC 4180. What the rows mean, and how they fold: docs/methods.md, "Files".
#include <cmath>
#include <set>

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

Description describe(const plan::Plan& plan, const std::string& name) {
    const auto of = [](const measure::Metric& metric) {
        return Description{metric.unit, std::string(measure::name_of(metric.kind))};
    };
    for (const plan::KeyMetric& key : plan.key_metrics) {
        if (key.metric.name == name) return of(key.metric);
    }
    for (const plan::DerivedMetric& each : plan.derived) {
        if (each.metric.name == name) return of(each.metric);
    }
    if (const auto found = measure::find_metric(name)) return of(*found);
    return {};
}

std::vector<measure::Metric> judged(const plan::Plan& plan) {
    std::vector<measure::Metric> metrics;
    for (const plan::KeyMetric& key : plan.key_metrics)
        metrics.push_back(key.metric);
    for (const plan::DerivedMetric& each : plan.derived)
        metrics.push_back(each.metric);
    return metrics;
}

class Writer {
  public:
    explicit Writer(const plan::Plan& plan) : plan_(plan), extra_(judged(plan)) {}

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
            if (name != kFailedMetric) metric(prefix, name, samples, all);
        }
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

    std::optional<double> value_of(const std::vector<measure::Sample>& samples,
                                   const std::string& name) const {
        const auto folded = measure::fold(samples, extra_);
        const auto found = folded.find(name);
        return found == folded.end() ? std::nullopt : found->second;
    }

    void row(const std::string& prefix, std::string_view iteration, const std::string& name,
             std::optional<double> value) {
        Description description = describe(plan_, name);
        // Before and after readings of an unknown metric fold as a counter's.
        if (description.kind.empty() && two_sided_.contains(name)) description.kind = "counter";
        // {} prints the shortest text that reads back as the same double, in every locale.
        text += fmt::format(
            "{}{},{},{},{},{}\r\n", prefix, iteration, cell(name), cell(description.unit),
            value && std::isfinite(*value) ? fmt::format("{}", *value) : "", description.kind);
    }

    const plan::Plan& plan_;
    std::vector<measure::Metric> extra_;
    std::set<std::string> two_sided_;
};

}  // namespace

Result<std::string> render_csv(const store::RunSet& runset) {
    Writer writer(runset.plan);
    const auto seeds = runset.identity.find("seeds");
    const bool seeds_known = seeds == runset.identity.end() || seeds->second != "unknown";
    for (const store::StoredTrial& trial : runset.trials) {
        if (!trial.done || trial.standing == measure::Standing::spoiled) continue;
        if (trial.planned.arm >= runset.plan.arms.size() ||
            trial.planned.case_ >= runset.plan.cases.size()) {
            return fail(Code::corrupt, "run set {}: trial {} is of an arm or case that isn't there",
                        runset.id, trial.planned.position);
        }
        writer.trial(trial, seeds_known);
    }
    return std::move(writer.text);
}

}  // namespace mano::report
