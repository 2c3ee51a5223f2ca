// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner/proof.h"

#include <map>
#include <optional>

namespace mano::runner {

Status Proofs::add_derived(const std::string& name, const std::string& formula) {
    auto parsed = measure::Formula::parse(formula);
    if (!parsed) return wrap(parsed.error(), "{} = {} can't be computed", name, formula);
    derived_.push_back({name, std::move(*parsed)});
    return {};
}

Result<Proofs> Proofs::parse(const plan::Plan& plan) {
    Proofs proofs;
    for (const plan::Proof& proof : plan.proofs) {
        auto formula = measure::Formula::parse(proof.formula);
        if (!formula) {
            return wrap(formula.error(), "the proof '{}' can't be computed", proof.formula);
        }
        proofs.proofs_.push_back({proof, std::move(*formula)});
    }
    if (proofs.proofs_.empty()) return proofs;
    for (const plan::DerivedMetric& derived : plan.derived) {
        MANO_TRY(proofs.add_derived(derived.metric.name, derived.formula));
    }
    for (const plan::KeyMetric& key : plan.key_metrics) {
        if (key.formula.empty()) {
            proofs.metrics_.push_back(key.metric);
        } else {
            MANO_TRY(proofs.add_derived(key.metric.name, key.formula));
        }
    }
    return proofs;
}

void Proofs::judge(measure::TrialRecord& record) const {
    if (proofs_.empty() || record.ending != measure::Ending::goodbye) return;
    auto values = measure::fold(record.samples, metrics_);
    const auto value_of = [&values](std::string_view name) -> std::optional<double> {
        const auto found = values.find(std::string(name));
        return found != values.end() ? found->second : std::nullopt;
    };
    // In the plan's order: a derived metric may use those before it.
    for (const auto& [name, formula] : derived_)
        values[name] = formula.evaluate(value_of);
    for (const auto& [proof, formula] : proofs_) {
        const std::optional<double> value = formula.evaluate(value_of);
        if (value && *value >= proof.at_least) continue;
        std::string unknown;
        for (const std::string& name : formula.names()) {
            if (value_of(name)) continue;
            unknown += unknown.empty() ? "unknown: " : ", ";
            unknown += name;
        }
        if (unknown.empty()) unknown = "no finite number";
        record.ending = measure::Ending::precondition_missing;
        if (!record.evidence.empty()) record.evidence += '\n';
        record.evidence += fmt::format(
            "no proof that the experiment's mechanism ran: {} ({} is {}, at least {:g} is needed)",
            proof.meaning, proof.formula, value ? fmt::format("{:g}", *value) : unknown,
            proof.at_least);
    }
}

}  // namespace mano::runner
