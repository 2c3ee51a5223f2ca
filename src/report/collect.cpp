// SPDX-License-Identifier: GPL-2.0-or-later
// Which trials a report is made of, and their folded values.
#include <algorithm>
#include <cmath>

#include "report/internal.h"

namespace mano::report {
namespace {

std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::vector<std::string> arm_names(const plan::Plan& plan) {
    std::vector<std::string> names;
    for (const plan::Arm& arm : plan.arms)
        names.push_back(arm.name);
    return names;
}

Result<std::uint32_t> find_arm(const plan::Plan& plan, const std::string& name) {
    for (std::uint32_t i = 0; i < plan.arms.size(); ++i) {
        if (plan.arms[i].name == name) return i;
    }
    return fail(Code::not_found, "no arm \"{}\" in this run set; it has {}", name,
                join(arm_names(plan)));
}

Result<std::vector<std::uint32_t>> choose_arms(const plan::Plan& plan, const Options& options) {
    std::uint32_t base = 0;
    if (options.base) {
        MANO_ASSIGN(base, find_arm(plan, *options.base));
    }
    std::vector<std::uint32_t> arms = {base};
    std::vector<std::string> wanted = options.arms;
    if (wanted.empty()) wanted = arm_names(plan);
    for (const std::string& name : wanted) {
        MANO_ASSIGN(const std::uint32_t arm, find_arm(plan, name));
        if (std::find(arms.begin(), arms.end(), arm) == arms.end()) arms.push_back(arm);
    }
    return arms;
}

Result<std::vector<std::uint32_t>> choose_cases(const plan::Plan& plan, const Options& options) {
    std::vector<std::uint32_t> cases;
    const auto add = [&](std::uint32_t index) {
        if (std::find(cases.begin(), cases.end(), index) == cases.end()) cases.push_back(index);
    };
    for (const std::string& wanted : options.cases) {
        const std::size_t before = cases.size();
        for (std::uint32_t i = 0; i < plan.cases.size(); ++i) {
            if (plan.cases[i].name == wanted) add(i);
        }
        for (std::uint32_t i = 0; i < plan.cases.size() && cases.size() == before; ++i) {
            if (plan.cases[i].name.find(wanted) != std::string::npos) add(i);
        }
        if (cases.size() == before) {
            std::vector<std::string> names;
            for (const plan::Case& each : plan.cases)
                names.push_back(each.name);
            return fail(Code::not_found, "no case \"{}\" in this run set; it has {}", wanted,
                        join(names));
        }
    }
    if (options.cases.empty()) {
        for (std::uint32_t i = 0; i < plan.cases.size(); ++i)
            add(i);
    }
    std::sort(cases.begin(), cases.end());
    return cases;
}

struct Derivation {
    std::string name;
    measure::Formula formula;
};

Result<std::vector<Derivation>> derivations(const plan::Plan& plan) {
    std::vector<Derivation> found;
    const auto add = [&](const std::string& name, const std::string& formula) -> Status {
        if (formula.empty()) return {};
        auto parsed = measure::Formula::parse(formula);
        if (!parsed) {
            return wrap(parsed.error(), "formula \"{}\" of metric {} in the stored plan", formula,
                        name);
        }
        found.push_back({name, std::move(*parsed)});
        return {};
    };
    for (const plan::KeyMetric& key : plan.key_metrics)
        MANO_TRY(add(key.metric.name, key.formula));
    for (const plan::DerivedMetric& each : plan.derived) {
        MANO_TRY(add(each.metric.name, each.formula));
    }
    return found;
}

void take_statements(const measure::TrialRecord& record, StatedValues& stated) {
    for (const measure::Fact& fact : record.facts) {
        if (auto found = measure::stated_from(fact)) {
            stated[fact.key.substr(measure::kStatedPrefix.size())] = std::move(*found);
        }
    }
}

void derive(const std::vector<Derivation>& derivations, Values& values) {
    // A derived metric may use one that is derived later in the list: a second pass finds those.
    for (int pass = 0; pass < 2; ++pass) {
        for (const Derivation& derivation : derivations) {
            values[derivation.name] =
                derivation.formula.evaluate([&](std::string_view name) -> std::optional<double> {
                    const auto value = values.find(name);
                    return value == values.end() ? std::nullopt : value->second;
                });
        }
    }
}

}  // namespace

Result<Choice> choose(const store::RunSet& runset, const Options& options) {
    if (runset.plan.arms.empty() || runset.plan.cases.empty()) {
        return fail(Code::corrupt, "run set {}: its plan has no arm or no case", runset.id);
    }
    Choice choice;
    MANO_ASSIGN(choice.arms, choose_arms(runset.plan, options));
    MANO_ASSIGN(choice.cases, choose_cases(runset.plan, options));
    return choice;
}

bool wanted(const Options& options, std::string_view name) {
    return options.metrics.empty() ||
           std::any_of(options.metrics.begin(), options.metrics.end(),
                       [&](const std::string& glob) { return matches(glob, name); });
}

bool outcomes_known(const store::RunSet& runset) {
    const auto outcomes = runset.identity.find("outcomes");
    return outcomes == runset.identity.end() || outcomes->second != "unknown";
}

Result<Collected> collect(const store::RunSet& runset, const Options& options) {
    const plan::Plan& plan = runset.plan;
    MANO_ASSIGN(Choice choice, choose(runset, options));
    Collected collected;
    collected.arms = std::move(choice.arms);
    collected.cases = std::move(choice.cases);
    MANO_ASSIGN(const std::vector<Derivation> derived, derivations(plan));
    std::vector<measure::Metric> extra;
    for (const plan::KeyMetric& key : plan.key_metrics)
        extra.push_back(key.metric);
    for (const plan::DerivedMetric& each : plan.derived)
        extra.push_back(each.metric);

    collected.cells.assign(collected.cases.size(),
                           std::vector<std::vector<FoldedTrial>>(collected.arms.size()));
    collected.stated.assign(collected.cases.size(),
                            std::vector<StatedValues>(collected.arms.size()));
    collected.outcomes = outcomes_known(runset);
    for (const store::StoredTrial& trial : runset.trials) {
        const auto case_ =
            std::find(collected.cases.begin(), collected.cases.end(), trial.planned.case_);
        const auto arm = std::find(collected.arms.begin(), collected.arms.end(), trial.planned.arm);
        if (!trial.done || trial.planned.traced || trial.standing == measure::Standing::spoiled ||
            case_ == collected.cases.end() || arm == collected.arms.end()) {
            continue;
        }
        const auto in_case = static_cast<std::size_t>(case_ - collected.cases.begin());
        const auto in_arm = static_cast<std::size_t>(arm - collected.arms.begin());
        take_statements(trial.record, collected.stated[in_case][in_arm]);
        if (measure::stands_for_others(trial.record)) continue;
        FoldedTrial folded;
        folded.trial = &trial;
        for (auto& [name, value] : measure::fold(trial.record.samples, extra)) {
            folded.values.emplace(name, value && std::isfinite(*value) ? value : std::nullopt);
        }
        derive(derived, folded.values);
        const bool failed = trial.standing == measure::Standing::failed;
        if (collected.outcomes) folded.values[std::string(kFailedMetric)] = failed ? 1 : 0;
        collected.cells[in_case][in_arm].push_back(std::move(folded));
    }
    for (auto& cell : collected.cells) {
        for (auto& trials : cell) {
            std::stable_sort(trials.begin(), trials.end(),
                             [](const FoldedTrial& a, const FoldedTrial& b) {
                                 return a.trial->planned.row < b.trial->planned.row;
                             });
        }
    }
    return collected;
}

bool matches(std::string_view pattern, std::string_view text) {
    // Backtracks to the last '*' only: linear enough for any pattern.
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() &&
            (pattern[p] == '?' || (pattern[p] == text[t] && pattern[p] != '*'))) {
            ++p;
            ++t;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

}  // namespace mano::report
