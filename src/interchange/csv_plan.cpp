// SPDX-License-Identifier: GPL-2.0-or-later
// Rows → a plan that lists the trials, and what each trial yielded.
#include <algorithm>

#include "base/digest.h"
#include "interchange/csv_rows.h"

namespace mano::interchange {
namespace {

constexpr std::string_view kFailedMetric = "trial.failed";

struct Trial {
    std::uint32_t arm = 0, case_ = 0, number = 0;
    std::optional<std::uint64_t> seed;
    measure::TrialRecord record;
    std::uint64_t unknown = 0;
};

std::uint32_t index_of(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<std::uint32_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

void note_loss(Imported& imported, std::uint64_t line, std::uint64_t column, std::string meaning) {
    ++imported.lost;
    if (imported.losses.size() < kMaxLosses) {
        imported.losses.push_back({line, column, std::move(meaning)});
    }
}

std::vector<Trial> collect_trials(const Rows& rows, Imported& imported) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Trial> trials;
    std::map<std::string, std::uint32_t> arms;
    std::map<std::string, std::uint32_t> cases;
    for (const std::string& name : rows.arms)
        arms[name] = index_of(rows.arms, name);
    for (const std::string& name : rows.cases)
        cases[name] = index_of(rows.cases, name);
    for (const Row& row : rows.rows) {
        Trial& trial = trials[{row.trial, arms[row.arm], cases[row.case_]}];
        if (trial.record.samples.empty() && trial.record.ending != measure::Ending::probe_failed) {
            trial.arm = arms[row.arm];
            trial.case_ = cases[row.case_];
            trial.number = row.trial;
            trial.seed = row.seed;
            trial.record.ending = measure::Ending::goodbye;
        }
        if (row.metric == kFailedMetric) {
            // An outcome, not a measurement: it is how the trial ended.
            if (row.value.value_or(0) > 0) {
                trial.record.ending = measure::Ending::probe_failed;
                trial.record.evidence = "imported: the file says trial.failed = 1";
            }
            continue;
        }
        if (!row.value) {
            ++trial.unknown;
            note_loss(imported, row.line, rows.value_column,
                      row.metric + " is unknown in this row");
        }
        trial.record.samples.push_back(
            {row.metric, row.iteration, measure::Moment::whole, row.value});
    }
    std::vector<Trial> ordered;
    for (auto& [key, trial] : trials)
        ordered.push_back(std::move(trial));
    return ordered;
}

// A metric that neither the catalogue nor the experiment knows: the file is all there is.
measure::Metric metric_of(const std::string& name, const MetricNote& note) {
    measure::Metric metric;
    metric.name = name;
    metric.unit = note.unit;
    // Without a kind there is one value a trial, and any kind folds that to itself.
    metric.kind = note.kind.value_or(measure::Kind::gauge);
    metric.better = measure::Better::neither;
    metric.meaning = "imported; the file doesn't say what it is";
    return metric;
}

void fill_plan(const Rows& rows, const ImportOptions& options, plan::Plan& plan) {
    plan.experiment = options.experiment.empty() ? "imported" : options.experiment;
    plan.experiment_sha256 = sha256("");
    plan.substrate = "import";
    plan.shared_seeds = false;
    plan.key_metrics = options.key_metrics;
    plan.derived = options.derived;
    for (const std::string& name : rows.arms) {
        plan::Arm arm;
        arm.name = name;
        plan.arms.push_back(std::move(arm));
    }
    for (const std::string& name : rows.cases) {
        plan::Case each;
        each.name = name;
        plan.cases.push_back(std::move(each));
    }
    for (const std::string& name : rows.metrics) {
        const bool listed =
            std::any_of(plan.key_metrics.begin(), plan.key_metrics.end(),
                        [&](const plan::KeyMetric& key) { return key.metric.name == name; });
        if (listed || measure::find_metric(name)) continue;
        const measure::Metric metric = metric_of(name, rows.notes.at(name));
        if (options.key_metrics.empty()) {
            plan.key_metrics.push_back({metric, false, ""});
        } else {
            // Not judged as key, but its unit and kind are kept.
            plan.derived.push_back({metric, ""});
        }
    }
}

}  // namespace

Result<Imported> make_imported(Rows rows, const ImportOptions& options) {
    Imported imported;
    imported.rows = rows.rows.size();
    store::NewRunSet& runset = imported.runset;
    runset.name = options.name;
    runset.version = options.version;
    runset.command_line = options.command_line;
    fill_plan(rows, options, runset.plan);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> next_row;
    bool seeds_known = true;
    for (Trial& trial : collect_trials(rows, imported)) {
        plan::PlannedTrial planned;
        planned.position = static_cast<std::uint32_t>(runset.plan.trials.size());
        planned.arm = trial.arm;
        planned.case_ = trial.case_;
        planned.row = next_row[{trial.arm, trial.case_}]++;
        planned.seed = trial.seed.value_or(0);
        seeds_known = seeds_known && trial.seed.has_value();
        runset.plan.trials_per_cell = std::max(runset.plan.trials_per_cell, planned.row + 1);
        runset.plan.trials.push_back(planned);
        if (trial.unknown > 0) {
            trial.record.losses.push_back(
                {"import", trial.unknown, "cells of the imported file that are empty (unknown)"});
        }
        imported.records.push_back(std::move(trial.record));
    }
    runset.identity = {{"substrate", "import"}};
    if (!seeds_known) runset.identity["seeds"] = "unknown";
    runset.remarks.push_back(
        fmt::format("imported from {}: kernels, machine and conditions are unknown to Manometer",
                    options.file.empty() ? "a CSV file" : options.file));
    for (const std::string& name : rows.arms)
        runset.arms.push_back({name, "{}"});
    imported.arms = std::move(rows.arms);
    imported.metrics = std::move(rows.metrics);
    return imported;
}

store::RunSet as_runset(const Imported& imported) {
    const store::NewRunSet& source = imported.runset;
    store::RunSet runset;
    runset.name = source.name;
    runset.state = store::RunState::complete;
    runset.command_line = source.command_line;
    runset.version = source.version;
    runset.plan = source.plan;
    runset.arms = source.arms;
    runset.identity = source.identity;
    runset.remarks = source.remarks;
    for (const plan::PlannedTrial& planned : source.plan.trials) {
        store::StoredTrial trial;
        trial.planned = planned;
        trial.done = true;
        trial.record = imported.records[planned.position];
        trial.standing = measure::standing(trial.record.ending);
        runset.trials.push_back(std::move(trial));
    }
    return runset;
}

Result<std::string> save(store::Store& store, const Imported& imported) {
    MANO_ASSIGN(std::string id, store.create(imported.runset));
    for (std::size_t i = 0; i < imported.records.size(); ++i) {
        MANO_TRY(store.finish_trial(id, static_cast<std::uint32_t>(i), imported.records[i]));
    }
    MANO_TRY(store.complete(id));
    return id;
}

}  // namespace mano::interchange
