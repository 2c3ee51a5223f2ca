// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/internal.h"

namespace mano::report {
namespace {

// The stored provenance is ours, but the store may come from anybody: take text where there is
// text, in the object itself or in its "provenance".
std::string text_at(const nlohmann::json& json, const char* key) {
    if (!json.is_object()) return "";
    if (const auto found = json.find(key); found != json.end() && found->is_string()) {
        return found->get<std::string>();
    }
    if (const auto inner = json.find("provenance"); inner != json.end() && inner->is_object()) {
        if (const auto found = inner->find(key); found != inner->end() && found->is_string()) {
            return found->get<std::string>();
        }
    }
    return "";
}

ArmReport describe_arm(const store::RunSet& runset, std::uint32_t index) {
    const plan::Arm& arm = runset.plan.arms[index];
    ArmReport report;
    report.name = arm.name;
    report.spec = arm.kernel_spec;
    report.placebo = arm.placebo;
    for (const std::string& word : arm.cmdline) {
        report.cmdline += (report.cmdline.empty() ? "" : " ") + word;
    }
    for (const store::StoredArm& stored : runset.arms) {
        if (stored.name != arm.name) continue;
        const auto json = nlohmann::json::parse(stored.kernel_json, nullptr, false);
        report.release = text_at(json, "release");
        report.compiler = text_at(json, "compiler");
        if (report.spec.empty()) report.spec = text_at(json, "spec");
        if (std::string sha = text_at(json, "config_sha256"); !sha.empty()) {
            report.config_sha256 = std::move(sha);
        }
    }
    return report;
}

std::string case_name(const store::RunSet& runset, std::uint32_t index) {
    return index < runset.plan.cases.size() ? runset.plan.cases[index].name : "";
}

// Losses, failed and spoiled trials, and their numbers by arm.
void add_trials(const store::RunSet& runset, const Collected& collected, ReportData& data) {
    std::set<std::uint64_t> seeds;
    for (const store::StoredTrial& trial : runset.trials) {
        const auto arm = std::find(collected.arms.begin(), collected.arms.end(), trial.planned.arm);
        const bool chosen =
            arm != collected.arms.end() && std::find(collected.cases.begin(), collected.cases.end(),
                                                     trial.planned.case_) != collected.cases.end();
        if (!trial.done || trial.planned.traced || !chosen) continue;
        ArmReport& report = data.arms[static_cast<std::size_t>(arm - collected.arms.begin())];
        const std::string name = case_name(runset, trial.planned.case_);
        seeds.insert(trial.planned.seed);
        for (const measure::Loss& loss : trial.record.losses) {
            data.losses.push_back({report.name, name, trial.planned.position, loss});
        }
        const Mishap mishap{report.name,
                            name,
                            std::string(measure::name_of(trial.record.ending)),
                            trial.record.evidence,
                            trial.planned.position,
                            trial.planned.seed};
        if (measure::stands_for_others(trial.record)) {
            report.stated = true;
            continue;
        }
        switch (trial.standing) {
            case measure::Standing::counted:
                ++report.trials;
                break;
            case measure::Standing::failed:
                ++report.trials;
                ++report.failed;
                data.failed.push_back(mishap);
                break;
            case measure::Standing::spoiled:
                ++report.spoiled;
                data.spoiled.push_back(mishap);
                break;
        }
    }
    const auto unknown = runset.identity.find("seeds");
    if (unknown == runset.identity.end() || unknown->second != "unknown") {
        data.seeds.assign(seeds.begin(), seeds.end());
    }
}

// A summary of trials that aren't here. What the file doesn't say stays unknown.
void take_stated(const StatedValues& stated, const std::string& name, ArmValues& values) {
    const auto found = stated.find(name);
    if (found == stated.end() || values.summary.n > 0) return;
    values.stated = found->second;
    values.summary.n = found->second.n.value_or(0);
    values.summary.mean = found->second.mean;
    values.summary.median = found->second.median;
    values.summary.minimum = found->second.minimum;
    values.summary.maximum = found->second.maximum;
    values.summary.stddev_pct = found->second.stddev_pct;
}

// The plan's metrics by name: an imported run set may bring thousands.
struct Described {
    explicit Described(const plan::Plan& plan) {
        for (const plan::KeyMetric& each : plan.key_metrics)
            keys.try_emplace(each.metric.name, &each);
        for (const plan::DerivedMetric& each : plan.derived)
            derived.try_emplace(each.metric.name, &each);
    }
    std::map<std::string_view, const plan::KeyMetric*> keys;
    std::map<std::string_view, const plan::DerivedMetric*> derived;
};

MetricRow make_row(const plan::Plan& plan, const Described& described, const std::string& name,
                   const std::vector<std::vector<FoldedTrial>>& cell,
                   const std::vector<StatedValues>& stated) {
    MetricRow row;
    if (const auto key = described.keys.find(name); key != described.keys.end()) {
        row.metric = key->second->metric;
        row.key = true;
        row.primary = key->second->primary;
    } else if (const auto derived = described.derived.find(name);
               derived != described.derived.end()) {
        row.metric = derived->second->metric;
    } else if (auto found = measure::find_metric(name)) {
        row.metric = *found;
        row.metric.name = name;
    } else {
        row.metric.name = name;
        row.known = false;
    }
    if (name == kFailedMetric) {
        row.key = true;
        row.known = true;
        row.metric.unit = "count";
        row.metric.better = measure::Better::lower;
        row.metric.floor = 0;
    }
    for (const plan::NotObservable& each : plan.not_observable) {
        if (matches(each.metric, name)) row.not_observable = each.reason;
    }
    for (const auto& trials : cell) {
        ArmValues values;
        std::vector<double> known;
        for (const FoldedTrial& folded : trials) {
            const auto value = folded.values.find(name);
            values.values.push_back(value == folded.values.end() ? std::nullopt : value->second);
            if (values.values.back()) known.push_back(*values.values.back());
        }
        values.summary = stats::summarize(known);
        take_stated(stated[row.arms.size()], name, values);
        row.arms.push_back(std::move(values));
    }
    return row;
}

// Key metrics in the experiment's order, the primary first, then trial.failed, then the others.
std::vector<std::string> row_order(const plan::Plan& plan,
                                   const std::vector<std::vector<FoldedTrial>>& cell,
                                   const std::vector<StatedValues>& stated, bool outcomes) {
    std::vector<std::string> order;
    for (const bool primary : {true, false}) {
        for (const plan::KeyMetric& key : plan.key_metrics) {
            if (key.primary == primary) order.push_back(key.metric.name);
        }
    }
    if (outcomes && std::find(order.begin(), order.end(), kFailedMetric) == order.end()) {
        order.emplace_back(kFailedMetric);
    }
    std::set<std::string> names;
    for (const auto& trials : cell) {
        for (const FoldedTrial& folded : trials) {
            for (const auto& [name, value] : folded.values)
                names.insert(name);
        }
    }
    for (const StatedValues& of_arm : stated) {
        for (const auto& [name, value] : of_arm)
            names.insert(name);
    }
    for (const std::string& name : order)
        names.erase(name);
    order.insert(order.end(), names.begin(), names.end());
    return order;
}

void apply_lkp_rule(const ReportData& data, CaseReport& report) {
    for (MetricRow& row : report.rows) {
        if (row.arms[0].stated) continue;  // it needs the runs
        const std::string name = lkp_name(row.metric.name, data.foreign);
        for (std::size_t i = 0; i < row.changes.size(); ++i) {
            row.changes[i].lkp = lkp_rule(name, row.arms[0].values, row.arms[i + 1].values);
        }
    }
}

// The largest of a row's changes by the wanted measure; a change from 0 has no size and comes
// first.
double rank_of(Sort sort, const MetricRow& row) {
    double rank = sort == Sort::p ? 1 : 0;
    for (const Change& change : row.changes) {
        const stats::Comparison& of = change.comparison;
        if (sort == Sort::p) {
            rank = std::min(rank, of.p_adjusted.value_or(1));
            continue;
        }
        const auto pct = of.median_pct ? of.median_pct : of.mean_pct;
        const bool from_zero = !pct && of.shift && of.shift->estimate != 0;
        rank = std::max(rank, from_zero ? HUGE_VAL : std::fabs(pct.value_or(0)));
    }
    return sort == Sort::p ? rank : -rank;
}

// Key metrics stay in front, the primary first of all.
void sort_rows(Sort sort, CaseReport& report) {
    if (sort == Sort::table) return;
    std::stable_sort(report.rows.begin(), report.rows.end(),
                     [&](const MetricRow& a, const MetricRow& b) {
                         if (a.primary != b.primary) return a.primary;
                         if (a.key != b.key) return a.key;
                         if (sort == Sort::name) return a.metric.name < b.metric.name;
                         return rank_of(sort, a) < rank_of(sort, b);
                     });
}

// No answer is not "no change": too few trials, values that aren't known, or a doubt.
bool undecided(const MetricRow& row) {
    return std::any_of(row.changes.begin(), row.changes.end(), [](const Change& change) {
        const stats::Verdict verdict = change.verdict;
        return verdict != stats::Verdict::no_change && verdict != stats::Verdict::better &&
               verdict != stats::Verdict::worse;
    });
}

void choose_shown(const plan::Plan& plan, const Options& options, CaseReport& report) {
    for (MetricRow& row : report.rows) {
        for (Change& change : row.changes) {
            change.told = change.comparison.p_adjusted.value_or(1) <= plan.alpha ||
                          change.reason == stats::Reason::identical_outcomes ||
                          (change.lkp && change.lkp->changed);
        }
        const bool changed = std::any_of(row.changes.begin(), row.changes.end(),
                                         [](const Change& change) { return change.told; });
        // Of what is only stated nothing can be tested: it is shown as the file shows it.
        const bool stated = std::any_of(row.arms.begin(), row.arms.end(), [](const ArmValues& arm) {
            return arm.stated.has_value();
        });
        if (row.metric.name == kFailedMetric) {
            row.shown = options.all ||
                        std::any_of(row.arms.begin(), row.arms.end(), [](const ArmValues& values) {
                            return values.summary.total.value_or(0) > 0;
                        });
        } else if (stated || options.all || row.changes.empty()) {
            row.shown = row.asked = true;
        } else if (!options.changed && (row.key || !options.metrics.empty())) {
            row.shown = row.asked = true;
        } else if (row.below_floor) {
            ++report.hidden_below_floor;
        } else if (!changed && undecided(row)) {
            ++report.hidden_undecided;
        } else if (!changed) {
            ++report.hidden_unchanged;
        } else {
            row.shown = true;
        }
    }
}

// Why an arm did none of the work: no trial of it counts, and one found that its kernel lacks what
// the experiment needs. The evidence's first sentence.
std::optional<std::string> lacks(const ReportData& data, const std::string& case_name,
                                 const std::string& arm, const std::vector<FoldedTrial>& trials) {
    if (!trials.empty()) return std::nullopt;
    const std::string_view ending = measure::name_of(measure::Ending::precondition_missing);
    for (const Mishap& mishap : data.spoiled) {
        if (mishap.arm != arm || mishap.case_ != case_name || mishap.how != ending) continue;
        const std::string& text = mishap.evidence;
        return fmt::format("{}: {}", ending,
                           text.substr(0, std::min(text.find(": "), text.find('\n'))));
    }
    return std::nullopt;
}

void check_preconditions(const ReportData& data, const std::vector<std::vector<FoldedTrial>>& cell,
                         CaseReport& report) {
    const auto base = lacks(data, report.name, data.arms[0].name, cell[0]);
    for (std::size_t arm = 1; arm < cell.size(); ++arm) {
        const auto other = lacks(data, report.name, data.arms[arm].name, cell[arm]);
        if (!base && !other) continue;
        std::string text = base ? fmt::format("{}: {}", data.arms[0].name, *base) : std::string();
        if (other) {
            text += fmt::format("{}{}: {}", base ? "; " : "", data.arms[arm].name, *other);
        }
        report.not_comparable_arms[arm] = text;
        if (!report.not_comparable) report.not_comparable = text;
    }
}

Result<CaseReport> build_case(const store::RunSet& runset, const Options& options,
                              const Collected& collected, std::size_t index, ReportData& data) {
    const plan::Plan& plan = runset.plan;
    const plan::Case& source = plan.cases[collected.cases[index]];
    const auto& cell = collected.cells[index];
    CaseReport report;
    report.name = source.name;
    report.parameters = source.parameters;
    check_equivalence(plan, cell, report);
    check_in_use(plan, cell, report);
    check_preconditions(data, cell, report);
    const auto& stated = collected.stated[index];
    const Described described(plan);
    for (const std::string& name : row_order(plan, cell, stated, collected.outcomes)) {
        // Tests see every row, chosen or not: leaving rows out must not make p-values smaller.
        MetricRow row = make_row(plan, described, name, cell, stated);
        for (std::size_t arm = 1; arm < data.arms.size(); ++arm) {
            row.changes.emplace_back().arm = data.arms[arm].name;
        }
        report.rows.push_back(std::move(row));
    }
    for (std::size_t arm = 1; arm < cell.size(); ++arm) {
        if (!report.not_comparable_arms[arm]) continue;
        warn(data, "not-comparable",
             fmt::format("{}{} against {}: {}", report.name.empty() ? "" : report.name + ": ",
                         data.arms[arm].name, data.base, *report.not_comparable_arms[arm]),
             "bring both kernels into the same state, or list it under expected_differences if "
             "the difference is what you ask about");
    }
    judge_case(plan, cell, report, data);
    if (!options.metrics.empty()) {
        report.hidden_unmatched = std::erase_if(
            report.rows, [&](const MetricRow& row) { return !wanted(options, row.metric.name); });
    }
    if (options.key_only) {
        report.hidden_others =
            std::erase_if(report.rows, [](const MetricRow& row) { return !row.key; });
    }
    if (options.rule == Rule::lkp) apply_lkp_rule(data, report);
    sort_rows(options.sort, report);
    choose_shown(plan, options, report);
    return report;
}

void warn_of_run(const store::RunSet& runset, ReportData& data) {
    const auto done = static_cast<std::size_t>(
        std::count_if(runset.trials.begin(), runset.trials.end(),
                      [](const store::StoredTrial& trial) { return trial.done; }));
    // A sequential run may end at a look, before all that was planned.
    const bool early = runset.state == store::RunState::complete && !runset.plan.looks.empty();
    if (done < runset.trials.size() && !early) {
        warn(data, "partial",
             fmt::format("{} of {} planned trials have run", done, runset.trials.size()),
             fmt::format("manometer run --resume {}", runset.id));
    }
    if (!data.spoiled.empty()) {
        warn(data, "spoiled",
             data.spoiled.size() == 1
                 ? "a trial is spoiled: it says nothing about the kernel and isn't counted"
                 : fmt::format("{} trials are spoiled: they say nothing about the kernel and "
                               "aren't counted",
                               data.spoiled.size()),
             "see the list of spoiled trials; mend the cause and run again");
    }
    if (data.arms.size() < 2) {
        warn(data, "one-arm", "there is only one arm: nothing to compare it with",
             runset.plan.substrate == "live"
                 ? "give two arms with --arm, or compare two run sets of two boots"
                 : "give a second kernel with -k");
    }
    if (runset.plan.key_metrics.empty()) {
        warn(data, "no-key-metric", "no metric was declared as key before the run: no verdict",
             "read the rows below as hints; fix a primary metric and run again");
    } else if (runset.plan.primary() == nullptr) {
        warn(data, "no-primary",
             "no primary metric was fixed before the run: the verdict is over all key metrics",
             "name the primary metric in the experiment");
    }
    if (runset.plan.exact && data.seeds.size() == 1) {
        warn(data, "one-seed",
             "exact mode with one seed: a difference is real for these two binaries and this seed, "
             "and says nothing about others",
             "run more seeds (--trials)");
    }
}

}  // namespace

std::string warn(ReportData& data, std::string code, std::string text, std::string what_to_do) {
    const bool known =
        std::any_of(data.warnings.begin(), data.warnings.end(), [&](const Warning& warning) {
            return warning.code == code && warning.text == text && warning.what_to_do == what_to_do;
        });
    if (!known) data.warnings.push_back({code, std::move(text), std::move(what_to_do)});
    return code;
}

Result<ReportData> build(const store::RunSet& runset, const Options& options) {
    MANO_ASSIGN(const Collected collected, collect(runset, options));
    ReportData data;
    data.header = runset;
    for (store::StoredTrial& trial : data.header.trials) {
        trial.record = {};
    }
    for (const std::uint32_t arm : collected.arms)
        data.arms.push_back(describe_arm(runset, arm));
    data.base = data.arms[0].name;
    data.sort = options.sort;
    data.rule = options.rule;
    data.published = options.published;
    const auto format = runset.identity.find("format");
    data.foreign = format != runset.identity.end();
    add_trials(runset, collected, data);
    warn_of_run(runset, data);
    std::vector<stats::Verdict> verdicts;
    bool any_row = false;
    for (std::size_t i = 0; i < collected.cases.size(); ++i) {
        MANO_ASSIGN(CaseReport report, build_case(runset, options, collected, i, data));
        // Not those of placebo arms: they are the control.
        for (std::size_t arm = 1; arm < data.arms.size(); ++arm) {
            if (!data.arms[arm].placebo) verdicts.push_back(report.verdicts[arm - 1]);
        }
        any_row = any_row || !report.rows.empty();
        data.cases.push_back(std::move(report));
    }
    if (!options.metrics.empty() && !any_row) {
        return fail(Code::not_found, "no metric of this run set matches \"{}\"; try --all",
                    options.metrics.front());
    }
    data.confounders = find_confounders(runset, collected, data.arms);
    if (options.aa != nullptr) MANO_TRY(quote_noise(*options.aa, data));
    data.verdict = verdicts.empty() && data.arms.size() < 2 ? stats::Verdict::inconclusive
                                                            : stats::combine(verdicts);
    return data;
}

int exit_code(const ReportData& data) {
    bool any = false;
    bool answered = true;
    for (const CaseReport& report : data.cases) {
        for (const MetricRow& row : report.rows) {
            for (std::size_t i = 0; i < row.changes.size(); ++i) {
                const bool judged = row.key && !data.arms[i + 1].placebo;
                if (judged && row.changes[i].verdict == stats::Verdict::worse) return 4;
            }
        }
        for (std::size_t i = 0; i < report.verdicts.size(); ++i) {
            if (data.arms[i + 1].placebo) continue;
            const stats::Verdict verdict = report.verdicts[i];
            if (verdict == stats::Verdict::worse) return 4;
            if (verdict == stats::Verdict::too_few || verdict == stats::Verdict::not_comparable) {
                answered = false;
            }
        }
    }
    for (const ArmReport& arm : data.arms)
        any = any || arm.trials > 0;
    return any && answered ? 0 : 3;
}

}  // namespace mano::report
