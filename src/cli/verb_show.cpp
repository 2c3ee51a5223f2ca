// SPDX-License-Identifier: GPL-2.0-or-later
// show: a run set as it was planned and as it went; with --trial, one trial with its values.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/kernel_json.h"
#include "cli/output.h"
#include "cli/result.h"
#include "cli/run_options.h"
#include "cli/show_json.h"
#include "cli/show_plots.h"
#include "cli/trial_values.h"
#include "cli/verb.h"
#include "store/store.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string runset, store, trial;
    bool json = false;
    bool all = false;
};

constexpr std::size_t kConsoleLines = 40;

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.10g}", *value) : "unknown";
}

// Of host time; "-" when the trial hasn't run, or not here.
std::string seconds(const store::StoredTrial& trial) {
    if (!trial.done || trial.record.host_ns == 0) return "-";
    return fmt::format("{:.1f}", static_cast<double>(trial.record.host_ns) / 1e9);
}

std::string head_text(const store::RunSet& runset) {
    const plan::Plan& plan = runset.plan;
    std::string text = fmt::format(
        "{}{}: {}, {}\n", runset.id, runset.name.empty() ? "" : " (" + runset.name + ")",
        plan.experiment, runset.state == store::RunState::complete ? "complete" : "partial");
    text += fmt::format("started {}, {}; manometer {}\n", runset.started,
                        runset.finished.empty() ? "not finished" : "finished " + runset.finished,
                        runset.version);
    if (!runset.command_line.empty()) text += fmt::format("command: {}\n", runset.command_line);
    text += fmt::format("plan {}\n", runset.plan_hash);
    std::string machine;
    for (const auto& [key, value] : runset.identity)
        machine += (machine.empty() ? "" : ", ") + key + " " + value;
    if (!machine.empty()) text += fill("machine: " + machine, 0);
    for (const std::string& remark : runset.remarks)
        text += fill("note: " + remark, 0);
    return text;
}

std::string arms_text(const store::RunSet& runset) {
    std::string text = "\narms:\n";
    for (std::size_t i = 0; i < runset.plan.arms.size(); ++i) {
        const plan::Arm& arm = runset.plan.arms[i];
        text += fmt::format("  {}{}: {}\n", arm.name, i == 0 ? " (base)" : "",
                            arm.kernel_spec.empty() ? "kernel unknown" : arm.kernel_spec);
        for (const std::string& word : arm.cmdline)
            text += fmt::format("      cmdline {}\n", word);
        for (const plan::Setting& setting : arm.settings)
            text += fmt::format("      {} = {}\n", setting.path, setting.value);
        for (const plan::ArmParam& param : arm.params)
            text += fmt::format("      {} = {}\n", param.name, param.text);
        if (i >= runset.arms.size()) continue;
        const json kernel = json::parse(runset.arms[i].kernel_json, nullptr, false);
        if (!kernel.is_object()) continue;
        for (const char* key : {"release", "compiler", "id"}) {
            const auto found = kernel.find(key);
            if (found != kernel.end() && found->is_string()) {
                text += fmt::format("      {} {}\n", key, found->get<std::string>());
            }
        }
        const auto notes = kernel.find("notes");
        if (notes == kernel.end() || !notes->is_array()) continue;
        for (const json& note : *notes) {
            if (note.is_string()) text += fill("note: " + note.get<std::string>(), 6);
        }
    }
    return text;
}

std::string case_name(const store::RunSet& runset, const store::StoredTrial& trial) {
    const std::string& name = runset.plan.cases.at(trial.planned.case_).name;
    return name.empty() ? "-" : name;
}

std::string trials_text(const store::RunSet& runset) {
    std::vector<std::vector<std::string>> rows{
        {"trial", "seconds", "seed", "arm", "case", "standing", "ending"}};
    for (const store::StoredTrial& trial : runset.trials) {
        rows.push_back({fmt::format("{}", trial.planned.position), seconds(trial),
                        fmt::format("{}", trial.planned.seed),
                        runset.plan.arms.at(trial.planned.arm).name, case_name(runset, trial),
                        trial.done ? std::string(measure::name_of(trial.standing)) +
                                         (trial.planned.traced ? " (attribution)" : "")
                                   : "planned",
                        trial.done ? std::string(measure::name_of(trial.record.ending)) : "-"});
    }
    return "\n" + columns(rows, {0, 1, 2});
}

std::string losses_text(const measure::TrialRecord& record, const std::string& before) {
    std::string text;
    for (const measure::Loss& loss : record.losses) {
        text += fill(fmt::format("{}{}: {}: {}", before, loss.source, loss.count, loss.meaning), 2);
    }
    return text;
}

std::string runset_text(const store::RunSet& runset) {
    std::string text = head_text(runset) + arms_text(runset) + trials_text(runset);
    std::string losses;
    std::string evidence;
    for (const store::StoredTrial& trial : runset.trials) {
        const std::string name = fmt::format("trial {}: ", trial.planned.position);
        losses += losses_text(trial.record, name);
        if (!trial.done || trial.record.ending == measure::Ending::goodbye) continue;
        evidence += fill(name + trial.record.evidence, 2);
    }
    if (!losses.empty()) text += "\nlost data:\n" + losses;
    if (!evidence.empty()) text += "\nfailed and spoiled trials:\n" + evidence;
    // Facts are the same in nearly all trials: those of the first that has any.
    for (const store::StoredTrial& trial : runset.trials) {
        if (trial.record.facts.empty()) continue;
        text += fmt::format("\nfacts (trial {}):\n", trial.planned.position);
        for (const measure::Fact& fact : trial.record.facts)
            text += fmt::format("  {}: {}\n", fact.key, fact.value);
        break;
    }
    text += runset_plots(runset, charset());
    text += "\nthe table: manometer compare " + runset.id + "\n";
    return printable(text);
}

std::string values_text(const store::RunSet& runset, const TrialValues& values, bool all) {
    std::vector<std::vector<std::string>> rows{{"metric", "unit", "trial"}};
    for (const auto& [iteration, unused] : values.iterations)
        rows.front().push_back(fmt::format("iteration {}", iteration));
    const auto add = [&](const std::string& name, const std::string& unit) {
        const auto whole = values.whole.find(name);
        if (whole == values.whole.end()) return;
        std::vector<std::string> row{name, unit, number(whole->second)};
        for (const auto& [iteration, of_iteration] : values.iterations) {
            const auto found = of_iteration.find(name);
            row.push_back(found == of_iteration.end() ? "-" : number(found->second));
        }
        rows.push_back(std::move(row));
    };
    for (const plan::KeyMetric& key : runset.plan.key_metrics)
        add(key.metric.name, key.metric.unit);
    const std::size_t keys = rows.size();
    for (const auto& [name, value] : values.whole) {
        bool shown = !all;
        for (std::size_t i = 1; i < keys && !shown; ++i)
            shown = rows[i].front() == name;
        const auto metric = measure::find_metric(name);
        if (!shown) add(name, metric ? metric->unit : "?");
    }
    std::vector<std::size_t> right;
    for (std::size_t i = 2; i < rows.front().size(); ++i)
        right.push_back(i);
    std::string text = columns(rows, right);
    if (!all) text += fmt::format("and {} more (--all)\n", values.whole.size() + 1 - keys);
    return text;
}

std::string console_tail(const std::string& console) {
    std::size_t at = console.size();
    for (std::size_t lines = 0; at > 0 && lines <= kConsoleLines; ++lines) {
        const std::size_t end = console.rfind('\n', at - 1);
        at = end == std::string::npos ? 0 : end;
    }
    return console.substr(console.empty() || at == 0 ? 0 : at + 1);
}

std::string trial_text(const store::RunSet& runset, const store::StoredTrial& trial, bool all) {
    std::string text = fmt::format(
        "{}, trial {}: arm {}, case {}, seed {}\n", runset.id, trial.planned.position,
        runset.plan.arms.at(trial.planned.arm).name, case_name(runset, trial), trial.planned.seed);
    if (!trial.done) return printable(text + "planned, not run yet\n");
    const measure::TrialRecord& record = trial.record;
    text += fmt::format("{}: {}, {} s\n", measure::name_of(trial.standing),
                        measure::name_of(record.ending), seconds(trial));
    if (!record.evidence.empty()) text += "\nevidence:\n" + record.evidence + "\n";
    // Without metrics that are judged there is nothing to choose by.
    const bool every = all || runset.plan.key_metrics.empty();
    const TrialValues values = values_of(runset.plan, record);
    text += "\n" + values_text(runset, values, every);
    text += trial_plots(runset.plan, record, values, charset());
    if (const std::string losses = losses_text(record, ""); !losses.empty()) {
        text += "\nlost data:\n" + losses;
    }
    if (!record.facts.empty()) text += "\nfacts:\n";
    for (const measure::Fact& fact : record.facts)
        text += fmt::format("  {}: {}\n", fact.key, fact.value);
    if (!record.console.empty()) text += "\nend of the console:\n" + console_tail(record.console);
    return printable(text);
}

Result<int> show_trial(const Options& options, store::Store& store) {
    MANO_ASSIGN(const std::uint64_t wanted, parse_count("--trial", options.trial, 0, 1'000'000));
    MANO_ASSIGN(const store::RunSet runset, store.load(options.runset));
    if (wanted >= runset.trials.size()) {
        return fail(Code::not_found, "--trial {}: {} has trials 0 to {}", wanted, runset.id,
                    runset.trials.size() - 1);
    }
    const store::StoredTrial& trial = runset.trials[wanted];
    MANO_TRY(
        print(options.json ? trial_json(runset, trial) : trial_text(runset, trial, options.all)));
    return 0;
}

Result<int> show(const Options& options) {
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    if (!options.trial.empty()) return show_trial(options, store);
    MANO_ASSIGN(const store::RunSet runset, store.load(options.runset, !options.json, false));
    MANO_TRY(print(options.json ? runset_json(runset) : runset_text(runset)));
    return 0;
}

}  // namespace

void add_show(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("show", "a run set: plan, kernels, trials, what went wrong");
    auto options = std::make_shared<Options>();
    verb->add_option("RUNSET", options->runset, "id, beginning of an id, name, or last")
        ->required();
    verb->add_option(
        "--trial", options->trial,
        "one trial by its number: values by iteration, losses, facts, evidence, console");
    verb->add_flag("--all", options->all, "with --trial: every metric, not just the judged ones");
    verb->add_flag("--json", options->json, "as JSON; of one trial with every raw sample");
    declare_store(*verb, options->store);
    verb->footer(
        "\nExamples:\n  manometer show last\n  manometer show last --trial 3\n\nExit codes: "
        "0; 1 no such run set or trial; 2 the store can't be read.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return show(*options); }; });
}

}  // namespace mano::cli
