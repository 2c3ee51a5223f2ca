// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/show_json.h"

#include <nlohmann/json.hpp>

#include "cli/trial_values.h"

namespace mano::cli {
namespace {

using nlohmann::json;

json number(const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
}

std::string dump(const json& value) {
    // What a guest wrote may be no UTF-8.
    return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json values_json(const Values& values) {
    json object = json::object();
    for (const auto& [name, value] : values)
        object[name] = number(value);
    return object;
}

json head_of_trial(const store::RunSet& runset, const store::StoredTrial& trial) {
    const measure::TrialRecord& record = trial.record;
    json losses = json::array();
    for (const measure::Loss& loss : record.losses) {
        losses.push_back(
            {{"source", loss.source}, {"count", loss.count}, {"meaning", loss.meaning}});
    }
    json facts = json::object();
    for (const measure::Fact& fact : record.facts)
        facts[fact.key] = fact.value;
    const bool done = trial.done;
    return {{"trial", trial.planned.position},
            {"arm", runset.plan.arms.at(trial.planned.arm).name},
            {"case", runset.plan.cases.at(trial.planned.case_).name},
            {"seed", trial.planned.seed},
            {"done", done},
            {"standing", done ? json(measure::name_of(trial.standing)) : json(nullptr)},
            {"ending", done ? json(measure::name_of(record.ending)) : json(nullptr)},
            {"evidence", done ? json(record.evidence) : json(nullptr)},
            {"seconds", done ? json(static_cast<double>(record.host_ns) / 1e9) : json(nullptr)},
            {"losses", losses},
            {"facts", facts}};
}

std::string_view name_of(measure::Moment moment) {
    switch (moment) {
        case measure::Moment::before:
            return "before";
        case measure::Moment::after:
            return "after";
        case measure::Moment::whole:
            return "whole";
    }
    return "whole";
}

}  // namespace

std::string runset_json(const store::RunSet& runset) {
    json arms = json::array();
    for (const store::StoredArm& arm : runset.arms) {
        const json kernel = json::parse(arm.kernel_json, nullptr, false);
        arms.push_back(
            {{"name", arm.name}, {"kernel", kernel.is_object() ? kernel : json(nullptr)}});
    }
    json trials = json::array();
    for (const store::StoredTrial& trial : runset.trials)
        trials.push_back(head_of_trial(runset, trial));
    return dump({{"schema", "manometer.show/1"},
                 {"id", runset.id},
                 {"name", runset.name},
                 {"experiment", runset.plan.experiment},
                 {"started", runset.started},
                 {"finished", runset.finished.empty() ? json(nullptr) : json(runset.finished)},
                 {"state", runset.state == store::RunState::complete ? "complete" : "partial"},
                 {"command_line", runset.command_line},
                 {"version", runset.version},
                 {"plan_hash", runset.plan_hash},
                 {"plan", json::parse(plan::to_json(runset.plan), nullptr, false)},
                 {"identity", runset.identity},
                 {"remarks", runset.remarks},
                 {"arms", arms},
                 {"trials", trials}});
}

std::string trial_json(const store::RunSet& runset, const store::StoredTrial& trial) {
    json out = head_of_trial(runset, trial);
    out["schema"] = "manometer.trial/1";
    out["runset"] = runset.id;
    const TrialValues values = values_of(runset.plan, trial.record);
    out["values"] = values_json(values.whole);
    out["iterations"] = json::array();
    for (const auto& [iteration, of_iteration] : values.iterations) {
        out["iterations"].push_back(
            {{"iteration", iteration}, {"values", values_json(of_iteration)}});
    }
    json samples = json::array();
    for (const measure::Sample& sample : trial.record.samples) {
        samples.push_back(
            {{"metric", sample.metric},
             {"iteration", sample.iteration ? json(*sample.iteration) : json(nullptr)},
             {"moment", name_of(sample.moment)},
             {"value", number(sample.value)}});
    }
    out["samples"] = std::move(samples);
    out["console"] = trial.record.console;
    return dump(out);
}

}  // namespace mano::cli
