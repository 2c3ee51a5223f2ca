// SPDX-License-Identifier: GPL-2.0-or-later
// import: other tools' files become a run set.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "experiment/experiment.h"
#include "interchange/interchange.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string format, store, arm, name, experiment;
    std::vector<std::string> files;
    bool json = false;
};

// Of a latency tracer's text.
json to_json(const trace::LatencyTrace& trace) {
    const auto text_or_null = [](const std::string& text) {
        return text.empty() ? json(nullptr) : json(text);
    };
    return {{"tracer", trace.tracer},
            {"kernel", text_or_null(trace.kernel)},
            {"latency_us", trace.latency_us},
            {"cpu", trace.cpu ? json(*trace.cpu) : json(nullptr)},
            {"task", text_or_null(trace.task)},
            {"priority", trace.rt_priority ? json(*trace.rt_priority) : json(nullptr)},
            {"culprit", trace.culprit ? json(*trace.culprit) : json(nullptr)},
            {"culprit_task", text_or_null(trace.culprit_task)},
            {"stack", trace.stack},
            {"flags", text_or_null(trace.flags)}};
}

std::string to_text(const trace::LatencyTrace& trace) {
    std::string text = fmt::format("{} of {}: {} waited {} us", trace.tracer,
                                   trace.kernel.empty() ? "an unnamed kernel" : trace.kernel,
                                   trace.task.empty() ? "a task" : trace.task, trace.latency_us);
    if (trace.culprit)
        text += fmt::format(", {} in {}", trace.culprit_task, *trace.culprit);
    else
        text += ", for whom isn't known";
    return text + "\n";
}

// The contract: these keys and no others; "traces" of ftrace only.
json to_json(const std::string& id, const interchange::Imported& imported) {
    json losses = json::array();
    for (const interchange::Lost& lost : imported.losses) {
        losses.push_back({{"line", lost.line}, {"column", lost.column}, {"meaning", lost.meaning}});
    }
    json shown = {{"format", imported.format},   {"runset", id},          {"arms", imported.arms},
                  {"metrics", imported.metrics}, {"rows", imported.rows}, {"losses", losses}};
    if (imported.traces.empty()) return shown;
    json traces = json::array();
    for (const trace::LatencyTrace& trace : imported.traces)
        traces.push_back(to_json(trace));
    shown["traces"] = traces;
    return shown;
}

std::string to_text(const std::string& id, const interchange::Imported& imported) {
    constexpr std::size_t kShown = 10;
    std::string text = fmt::format("run set {}: {} rows, {} arms, {} metrics\n", id, imported.rows,
                                   imported.arms.size(), imported.metrics.size());
    for (std::size_t i = 0; i < imported.traces.size() && i < kShown; ++i)
        text += to_text(imported.traces[i]);
    if (imported.traces.size() > kShown)
        text += fmt::format("and {} more traces (--json lists them)\n",
                            imported.traces.size() - kShown);
    for (std::size_t i = 0; i < imported.losses.size() && i < kShown; ++i) {
        const interchange::Lost& lost = imported.losses[i];
        text += lost.line == 0
                    ? fmt::format("{}\n", lost.meaning)
                    : fmt::format("line {}, column {}: {}\n", lost.line, lost.column, lost.meaning);
    }
    if (imported.lost > kShown) {
        text += fmt::format("and {} more (--json lists them)\n", imported.lost - kShown);
    }
    return printable(text);
}

std::string format_names() {
    std::string text;
    for (const interchange::Importer& each : interchange::importers())
        text += (text.empty() ? "" : ", ") + std::string(each.name);
    return text;
}

Result<const interchange::Importer*> chosen_importer(const std::string& name) {
    if (const auto* const found = interchange::find_importer(name); found != nullptr) return found;
    std::vector<std::string_view> names;
    for (const interchange::Importer& each : interchange::importers())
        names.push_back(each.name);
    const std::string near = measure::nearest_name(name, std::span<const std::string_view>(names));
    return fail(Code::invalid, "import {}: no such format, expected {}{}", name, format_names(),
                near.empty() ? "" : "; did you mean '" + near + "'?");
}

Result<interchange::ImportOptions> import_options(const Options& options,
                                                  const interchange::Importer& importer) {
    interchange::ImportOptions out;
    out.name = options.name;
    if (!options.arm.empty()) out.arm = options.arm;
    out.version = MANO_VERSION;
    std::vector<std::string> words{"manometer", "import", std::string(importer.name)};
    words.insert(words.end(), options.files.begin(), options.files.end());
    if (!options.arm.empty()) words.insert(words.end(), {"--arm", options.arm});
    if (!options.experiment.empty()) {
        MANO_ASSIGN(const experiment::Experiment known, load_experiment(options.experiment));
        out.experiment = known.name;
        out.key_metrics = known.base.key_metrics;
        out.derived = known.base.derived;
        words.insert(words.end(), {"--experiment", options.experiment});
    }
    out.command_line = shell_line(words);
    return out;
}

Result<int> import_files(const Options& options) {
    MANO_ASSIGN(const interchange::Importer* const importer, chosen_importer(options.format));
    MANO_ASSIGN(const interchange::ImportOptions how, import_options(options, *importer));
    // All files are understood before anything is kept.
    auto imported = interchange::import_paths(*importer, options.files, how);
    if (!imported && imported.error().code == Code::hostile) {
        return fail(Code::invalid, "{}", imported.error().text());
    }
    if (!imported) return tl::unexpected<Error>(imported.error());
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store)));
    MANO_ASSIGN(const std::string id, interchange::save(store, *imported));
    if (!options.json) {
        MANO_TRY(print(to_text(id, *imported)));
        return 0;
    }
    const json shown = to_json(id, *imported);
    MANO_TRY(print(shown.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    return 0;
}

std::string import_footer() {
    std::string text = "\nFormats (docs/formats/import.md):\n";
    for (const interchange::Importer& each : interchange::importers()) {
        text += fmt::format("  {:17} {}\n", each.name, each.reads);
    }
    return text +
           "\nAll files become one run set. Each tool's file is a trial; files of one arm are its\n"
           "trials. ARM=FILE names the arm of one file, --arm that of all others. A file with a\n"
           "fault is refused whole, with line and column; a single value that can't be used is a\n"
           "loss, and listed.\n"
           "\nExamples:\n"
           "  manometer import csv run.csv && manometer compare last\n"
           "  manometer import hyperfine before=old.json after=new.json\n"
           "  manometer import stress-ng --arm 7.1 run1.yaml run2.yaml run3.yaml\n"
           "  manometer import lkp /result/vm-scalability && manometer compare last --rule lkp\n"
           "  manometer import ftrace before=one.trace after=two.trace --json\n"
           "  manometer import lkp robot-mail.txt && manometer compare last --format lkp\n"
           "\nExit codes: 0; 1 the file can't be understood; 2 the store can't be written.\n";
}

}  // namespace

void add_import(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("import", "other tools' files become a run set");
    auto options = std::make_shared<Options>();
    verb->add_option("FORMAT", options->format, format_names())->required();
    verb->add_option("FILE", options->files, "files, for lkp folders too; also ARM=FILE")
        ->required();
    verb->add_option("--arm", options->arm, "the arm of files and rows that name none");
    verb->add_option("--name", options->name, "a name for the run set");
    verb->add_option("--experiment", options->experiment,
                     "the experiment whose key metrics and formulas the numbers are judged by");
    declare_store(*verb, options->store);
    verb->add_flag("--json", options->json, "what was understood, as JSON");
    verb->footer(import_footer());
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return import_files(*options); }; });
}

}  // namespace mano::cli
