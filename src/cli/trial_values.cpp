// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/trial_values.h"

#include "measure/formula.h"

namespace mano::cli {
namespace {

using measure::Formula;
using measure::Metric;
using measure::Sample;

struct Named {
    std::string name;
    Formula formula;
};

// Formulas that can't be parsed have no value; that a stored plan is damaged is said by the report.
std::vector<Named> formulas_of(const plan::Plan& plan) {
    std::vector<Named> found;
    const auto add = [&](const std::string& name, const std::string& text) {
        if (text.empty()) return;
        if (auto parsed = Formula::parse(text)) found.push_back({name, std::move(*parsed)});
    };
    for (const plan::KeyMetric& key : plan.key_metrics)
        add(key.metric.name, key.formula);
    for (const plan::DerivedMetric& derived : plan.derived)
        add(derived.metric.name, derived.formula);
    return found;
}

Values fold_with(const std::vector<Sample>& samples, const std::vector<Metric>& extra,
                 const std::vector<Named>& formulas) {
    Values values = measure::fold(samples, extra);
    // A derived metric may use one that comes later in the list.
    for (int pass = 0; pass < 2; ++pass) {
        for (const Named& named : formulas) {
            values[named.name] =
                named.formula.evaluate([&](std::string_view name) -> std::optional<double> {
                    const auto found = values.find(std::string(name));
                    return found == values.end() ? std::nullopt : found->second;
                });
        }
    }
    return values;
}

}  // namespace

TrialValues values_of(const plan::Plan& plan, const measure::TrialRecord& record) {
    std::vector<Metric> extra;
    for (const plan::KeyMetric& key : plan.key_metrics)
        extra.push_back(key.metric);
    for (const plan::DerivedMetric& derived : plan.derived)
        extra.push_back(derived.metric);
    const std::vector<Named> formulas = formulas_of(plan);
    TrialValues values;
    values.whole = fold_with(record.samples, extra, formulas);
    std::map<std::uint32_t, std::vector<Sample>> by_iteration;
    for (const Sample& sample : record.samples) {
        if (sample.iteration) by_iteration[*sample.iteration].push_back(sample);
    }
    for (const auto& [iteration, samples] : by_iteration)
        values.iterations[iteration] = fold_with(samples, extra, formulas);
    return values;
}

}  // namespace mano::cli
