// SPDX-License-Identifier: GPL-2.0-or-later
// Draft → a plan that lists the trials, and what each trial yielded.
#include "interchange/draft.h"

#include <algorithm>

#include "base/digest.h"

namespace mano::interchange {
namespace {

measure::Metric metric_of(const std::string& name, const MetricNote& note) {
    measure::Metric metric;
    metric.name = name;
    if (note.foreign) {
        metric.unit = note.foreign->unit;
        metric.kind = note.foreign->kind;
        metric.better = note.foreign->better;
        metric.meaning = note.foreign->meaning;
        return metric;
    }
    // A metric that neither the catalogue nor the experiment knows: the file is all there is.
    metric.unit = note.unit;
    // Without a kind there is one value a trial, and any kind folds that to itself.
    metric.kind = note.kind.value_or(measure::Kind::gauge);
    metric.better = measure::Better::neither;
    metric.meaning = "imported; the file doesn't say what it is";
    return metric;
}

}  // namespace

Draft::Draft(std::string format, const ImportOptions& options)
    : format_(std::move(format)), options_(options) {
    begin_file(options.file);
}

void Draft::begin_file(std::string file) {
    file_ = std::move(file);
    // The first may have been a name for messages only.
    if (trials_.empty() && files_.size() == 1) files_.clear();
    if (files_.empty() || files_.back() != file_) files_.push_back(file_);
}

Result<std::uint32_t> Draft::intern(std::string_view name, std::vector<std::string>& names,
                                    Index& index, std::size_t most, std::string_view what,
                                    Place place) {
    if (const auto found = index.find(name); found != index.end()) return found->second;
    if (name.size() > kMaxNameBytes) {
        return fail_at(file_, place, "the name of {} is longer than {} bytes", what, kMaxNameBytes);
    }
    for (const char c : name) {
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
            return fail_at(file_, place, "a control character in the name of {}", what);
        }
    }
    if (names.size() >= most)
        return fail_at(file_, place, "more than {} {}s", most, what.substr(2));
    const auto number = static_cast<std::uint32_t>(names.size());
    names.emplace_back(name);
    index.emplace(name, number);
    return number;
}

Result<std::uint32_t> Draft::arm(std::string_view name, Place place) {
    if (name.empty()) return fail_at(file_, place, "no name for the arm; give one with --arm");
    return intern(name, arms_, arm_index_, kMaxArms, "an arm", place);
}

Result<std::uint32_t> Draft::case_(std::string_view name, Place place) {
    return intern(name, cases_, case_index_, kMaxCases, "a case", place);
}

Result<std::uint32_t> Draft::metric(std::string_view name, const ForeignMetric& what, Place place) {
    MANO_ASSIGN(const std::uint32_t number, own_metric(name, place));
    if (!notes_[number].foreign) {
        notes_[number].foreign = what;
        notes_[number].line = place.line;
    }
    return number;
}

Result<std::uint32_t> Draft::own_metric(std::string_view name, Place place) {
    if (name.empty()) return fail_at(file_, place, "a metric without a name");
    MANO_ASSIGN(const std::uint32_t number,
                intern(name, metrics_, metric_index_, kMaxMetrics, "a metric", place));
    if (number == notes_.size()) notes_.emplace_back();
    return number;
}

Result<std::uint32_t> Draft::trial(std::uint32_t arm, std::uint32_t case_,
                                   std::optional<std::uint32_t> number, Place place, bool* known) {
    std::uint32_t& next = next_number_[{arm, case_}];
    const std::uint32_t wanted = number.value_or(next);
    const auto [found, added] =
        trial_index_.try_emplace({arm, case_, wanted}, static_cast<std::uint32_t>(trials_.size()));
    if (known != nullptr) *known = !added;
    if (!added) return found->second;
    if (trials_.size() >= kMaxTrials)
        return fail_at(file_, place, "more than {} trials", kMaxTrials);
    if (wanted >= next && wanted < UINT32_MAX) next = wanted + 1;
    DraftTrial trial;
    trial.arm = arm;
    trial.case_ = case_;
    trial.number = wanted;
    trial.record.ending = measure::Ending::goodbye;
    trials_.push_back(std::move(trial));
    file_of_.push_back(files_.size() - 1);
    return found->second;
}

Status Draft::value(std::uint32_t trial, std::uint32_t metric, std::optional<double> value,
                    Place place, std::optional<std::uint32_t> iteration) {
    if (notes_[metric].foreign) {
        const auto [first, fresh] = seen_.try_emplace({trial, metric}, place.line);
        if (!fresh) {
            return fail_at(file_, place, "{} stands twice in one trial, first on line {}",
                           metrics_[metric], first->second);
        }
        count_row();
    }
    DraftTrial& of = trials_[trial];
    if (!value) ++of.unknown;
    of.record.samples.push_back({metrics_[metric], iteration, measure::Moment::whole, value});
    return {};
}

Status Draft::stated(std::uint32_t arm, std::uint32_t case_, std::uint32_t metric,
                     const measure::Stated& stated, Place place) {
    // Kept with a trial of the arm and case, or with one that stands for those that aren't here.
    auto found = stand_ins_.find({arm, case_});
    if (found == stand_ins_.end()) {
        bool known = false;
        MANO_ASSIGN(const std::uint32_t trial, this->trial(arm, case_, 0, place, &known));
        found = stand_ins_.emplace(std::pair(arm, case_), trial).first;
    }
    const auto [first, fresh] = seen_.try_emplace({found->second, metric}, place.line);
    if (!fresh) {
        return fail_at(file_, place, "{} stands twice for one arm, first on line {}",
                       metrics_[metric], first->second);
    }
    count_row();
    trials_[found->second].record.facts.push_back(measure::fact_of(metrics_[metric], stated));
    return {};
}

void Draft::fact(std::uint32_t trial, std::string key, std::string value) {
    if (key.starts_with(measure::kStatedPrefix)) return;
    for (char& c : value) {
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
    }
    trials_[trial].record.facts.push_back({std::move(key), std::move(value)});
}

void Draft::lose(Place place, std::string meaning) {
    ++lost_;
    if (losses_.size() >= kMaxLosses) return;
    if (files_.size() > 1) meaning = file_ + ": " + meaning;
    losses_.push_back({place.line, place.column, std::move(meaning)});
}

void Draft::fill_plan(plan::Plan& plan) const {
    plan.experiment = options_.experiment.empty() ? "imported" : options_.experiment;
    // Numbers of two tools answer different questions, even where a name is the same.
    plan.experiment_sha256 = sha256(format_ == "csv" ? "" : format_);
    plan.substrate = "import";
    plan.shared_seeds = false;
    plan.key_metrics = options_.key_metrics;
    plan.derived = options_.derived;
    for (const std::string& name : arms_) {
        plan::Arm arm;
        arm.name = name;
        plan.arms.push_back(std::move(arm));
    }
    for (const std::string& name : cases_) {
        plan::Case each;
        each.name = name;
        plan.cases.push_back(std::move(each));
    }
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
        const MetricNote& note = notes_[i];
        const auto listed =
            std::any_of(plan.key_metrics.begin(), plan.key_metrics.end(),
                        [&](const plan::KeyMetric& key) { return key.metric.name == metrics_[i]; });
        if (listed || metrics_[i] == kFailedMetric) continue;
        if (!note.foreign && measure::find_metric(metrics_[i])) continue;
        const measure::Metric metric = metric_of(metrics_[i], note);
        const bool key = note.foreign ? note.foreign->key : true;
        if (key && options_.key_metrics.empty()) {
            plan.key_metrics.push_back({metric, false, ""});
        } else {
            // Not judged as key, but its unit and kind are kept.
            plan.derived.push_back({metric, ""});
        }
    }
}

void Draft::fill_trials(Imported& imported) {
    store::NewRunSet& runset = imported.runset;
    std::vector<DraftTrial*> ordered;
    for (DraftTrial& trial : trials_)
        ordered.push_back(&trial);
    std::stable_sort(ordered.begin(), ordered.end(), [](const DraftTrial* a, const DraftTrial* b) {
        return std::tie(a->number, a->arm, a->case_) < std::tie(b->number, b->arm, b->case_);
    });
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> next_row;
    bool seeds_known = true;
    for (DraftTrial* trial : ordered) {
        plan::PlannedTrial planned;
        planned.position = static_cast<std::uint32_t>(runset.plan.trials.size());
        planned.arm = trial->arm;
        planned.case_ = trial->case_;
        planned.row = next_row[{trial->arm, trial->case_}]++;
        planned.seed = trial->seed.value_or(0);
        seeds_known = seeds_known && trial->seed.has_value();
        outcomes_known_ = outcomes_known_ || trial->record.ending != measure::Ending::goodbye;
        runset.plan.trials_per_cell = std::max(runset.plan.trials_per_cell, planned.row + 1);
        runset.plan.trials.push_back(planned);
        if (trial->unknown > 0) {
            trial->record.losses.push_back(
                {"import", trial->unknown,
                 format_ == "csv" ? "cells of the imported file that are empty (unknown)"
                                  : "values that the imported file doesn't give"});
        }
        imported.records.push_back(std::move(trial->record));
    }
    if (!seeds_known) runset.identity["seeds"] = "unknown";
    if (!outcomes_known_) runset.identity["outcomes"] = "unknown";
}

Result<Imported> Draft::finish() {
    if (trials_.empty()) return fail_at(file_, {1, 1}, "nothing in it that could be imported");
    Imported imported;
    imported.format = format_;
    imported.rows = rows_;
    store::NewRunSet& runset = imported.runset;
    runset.name = options_.name;
    runset.version = options_.version;
    runset.command_line = options_.command_line;
    fill_plan(runset.plan);
    runset.identity = {{"substrate", "import"}};
    if (format_ != "csv") runset.identity["format"] = format_;
    fill_trials(imported);
    std::string from = files_.front().empty() ? "a " + format_ + " file" : files_.front();
    if (files_.size() > 1) from += fmt::format(" and {} more", files_.size() - 1);
    runset.remarks.push_back(fmt::format(
        "imported from {}: what the file doesn't say of kernels, machine and conditions is unknown",
        from));
    runset.remarks.insert(runset.remarks.end(), remarks_.begin(), remarks_.end());
    for (const std::string& name : arms_)
        runset.arms.push_back({name, "{}"});
    imported.arms = std::move(arms_);
    imported.metrics = std::move(metrics_);
    imported.losses = std::move(losses_);
    imported.lost = lost_;
    imported.traces = std::move(traces_);
    if (lost_ > imported.losses.size()) {
        imported.losses.push_back(
            {0, 0, fmt::format("and {} more losses", lost_ - imported.losses.size())});
    }
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
    return store.add(imported.runset, imported.records);
}

}  // namespace mano::interchange
