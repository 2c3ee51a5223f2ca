// SPDX-License-Identifier: GPL-2.0-or-later
// experiments, describe: what can be run, and everything that one of them can be told.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "experiment/experiment.h"

namespace mano::cli {
namespace {

using experiment::Experiment;
using nlohmann::json;

struct Options {
    std::string name;
    bool json = false;
    bool text = false;
};

json metric_json(const measure::Metric& metric, const std::string& formula) {
    return {{"name", metric.name},
            {"unit", metric.unit},
            {"kind", measure::name_of(metric.kind)},
            {"better", measure::name_of(metric.better)},
            {"margin_pct", metric.margin_pct},
            {"floor", metric.floor},
            {"formula", formula.empty() ? json(nullptr) : json(formula)},
            {"meaning", metric.meaning}};
}

json to_json(const Experiment& one) {
    json parameters = json::array();
    for (const experiment::Parameter& each : one.parameters) {
        parameters.push_back({{"name", each.name},
                              {"unit", each.unit},
                              {"value", each.value},
                              {"range", each.range},
                              {"meaning", each.meaning}});
    }
    json keys = json::array();
    for (const plan::KeyMetric& key : one.base.key_metrics) {
        json metric = metric_json(key.metric, key.formula);
        metric["primary"] = key.primary;
        keys.push_back(std::move(metric));
    }
    json proofs = json::array();
    for (const plan::Proof& proof : one.base.proofs) {
        proofs.push_back(
            {{"formula", proof.formula}, {"at_least", proof.at_least}, {"meaning", proof.meaning}});
    }
    json not_observable = json::array();
    for (const plan::NotObservable& each : one.not_observable_in_exact)
        not_observable.push_back({{"metric", each.metric}, {"reason", each.reason}});
    return {{"schema", "manometer.describe/1"},
            {"name", one.name},
            {"title", one.title},
            {"question", one.base.question},
            {"source", one.source},
            {"about", one.about},
            {"needs", one.needs},
            {"trials", one.default_trials},
            {"sweep", one.sweep ? json{{"parameter", *one.sweep}, {"values", one.sweep_values}}
                                : json(nullptr)},
            {"parameters", parameters},
            {"key_metrics", keys},
            {"proofs", proofs},
            {"not_observable_in_exact", not_observable},
            {"text", one.text}};
}

std::string key_metric_text(const plan::KeyMetric& key) {
    const measure::Metric& metric = key.metric;
    std::string line =
        fmt::format("{}{}: {}", metric.name, key.primary ? " (primary)" : "",
                    metric.better == measure::Better::neither
                        ? "no direction is better"
                        : fmt::format("{} is better", measure::name_of(metric.better)));
    line += fmt::format(", margin {:g} %", metric.margin_pct);
    if (metric.floor > 0) line += fmt::format(", floor {:g} {}", metric.floor, metric.unit);
    std::string text = fill(line, 2);
    if (!key.formula.empty()) text += fill("= " + key.formula, 6);
    return text + fill(metric.meaning, 6);
}

std::string parameters_text(const Experiment& one) {
    std::string text;
    for (const experiment::Parameter& each : one.parameters) {
        text += fmt::format("  {} = {}  ({})\n", each.name, each.value.empty() ? "-" : each.value,
                            each.range);
        text += fill(each.meaning, 6);
    }
    return text;
}

std::string to_text(const Experiment& one) {
    std::string text = fmt::format("{}: {}\n", one.name, one.title);
    text += fill(one.base.question, 2) + "\n" + fill(one.about, 0);
    if (!one.needs.empty()) {
        text += "\nThe kernel needs: ";
        for (const std::string& need : one.needs)
            text += (&need == &one.needs.front() ? "" : ", ") + need;
        text += '\n';
    }
    if (one.sweep) {
        text += "\nCases: " + *one.sweep + " =";
        for (const std::string& value : one.sweep_values)
            text += " " + value;
        text += '\n';
    }
    text += "\nJudged:\n";
    for (const plan::KeyMetric& key : one.base.key_metrics)
        text += key_metric_text(key);
    if (!one.base.proofs.empty()) text += "\nProof that the mechanism ran, in each trial:\n";
    for (const plan::Proof& proof : one.base.proofs) {
        text +=
            fill(fmt::format("{} >= {:g}: {}", proof.formula, proof.at_least, proof.meaning), 2);
    }
    if (one.exact_needs_one_cpu) {
        text += "\n" + fill("--exact needs one CPU: " + *one.exact_needs_one_cpu, 0);
    }
    if (!one.not_observable_in_exact.empty()) text += "\nNot to be seen with --exact:\n";
    for (const plan::NotObservable& each : one.not_observable_in_exact)
        text += fill(each.metric + ": " + each.reason, 2);
    text += "\nParameters (--set NAME=VALUE), with this experiment's values:\n";
    text += parameters_text(one);
    text += fmt::format("\nThe file itself: manometer describe {} --text\n", one.name);
    return printable(text);
}

Result<int> experiments(const Options& options) {
    json list = json::array();
    std::vector<std::vector<std::string>> rows;
    for (const std::string& name : experiment::built_in_names()) {
        MANO_ASSIGN(const Experiment one, experiment::load(name));
        list.push_back({{"name", one.name}, {"title", one.title}, {"question", one.base.question}});
        rows.push_back({one.name, one.title});
    }
    if (options.json) {
        const json all = {{"schema", "manometer.experiments/1"}, {"experiments", list}};
        MANO_TRY(print(all.dump(2) + "\n"));
    } else {
        MANO_TRY(print(columns(rows)));
    }
    return 0;
}

Result<int> describe(const Options& options) {
    MANO_ASSIGN(const Experiment one, load_experiment(options.name));
    if (options.json) {
        MANO_TRY(print(to_json(one).dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    } else {
        MANO_TRY(print(options.text ? one.text : to_text(one)));
    }
    return 0;
}

}  // namespace

void add_experiments(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("experiments", "the built-in experiments");
    auto options = std::make_shared<Options>();
    verb->add_flag("--json", options->json, "as JSON");
    verb->footer(
        "\n`manometer describe NAME` explains one. To write your own, see "
        "docs/tutorial.md.\n\nExit codes: 0.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return experiments(*options); }; });
}

void add_describe(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("describe", "one experiment: question, parameters, judgement");
    auto options = std::make_shared<Options>();
    verb->add_option("EXPERIMENT", options->name, "a built-in name or a path to a .toml file")
        ->required();
    verb->add_flag("--json", options->json, "as JSON");
    verb->add_flag("--text", options->text, "the TOML file as it is: a start for your own");
    verb->footer(
        "\nExamples:\n  manometer describe shm-churn\n  manometer describe idle --text > "
        "mine.toml\n\nExit codes: 0; 1 no such experiment, or its file has faults (all are "
        "said).\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return describe(*options); }; });
}

}  // namespace mano::cli
