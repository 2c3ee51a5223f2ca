// SPDX-License-Identifier: GPL-2.0-or-later
// import: other tools' files become a run set.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
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

json to_json(const std::string& id, const interchange::Imported& imported) {
    json losses = json::array();
    for (const interchange::Lost& lost : imported.losses) {
        losses.push_back({{"line", lost.line}, {"column", lost.column}, {"meaning", lost.meaning}});
    }
    return {{"format", "csv"},       {"runset", id},
            {"arms", imported.arms}, {"metrics", imported.metrics},
            {"rows", imported.rows}, {"lost", imported.lost},
            {"losses", losses}};
}

std::string to_text(const std::string& id, const interchange::Imported& imported) {
    constexpr std::size_t kShown = 10;
    std::string text = fmt::format("run set {}: {} rows, {} arms, {} metrics\n", id, imported.rows,
                                   imported.arms.size(), imported.metrics.size());
    for (std::size_t i = 0; i < imported.losses.size() && i < kShown; ++i) {
        const interchange::Lost& lost = imported.losses[i];
        text += fmt::format("line {}, column {}: {}\n", lost.line, lost.column, lost.meaning);
    }
    if (imported.lost > kShown) text += fmt::format("and {} more\n", imported.lost - kShown);
    return printable(text);
}

Result<interchange::ImportOptions> import_options(const Options& options, const std::string& file) {
    interchange::ImportOptions out;
    out.file = file;
    out.name = options.name;
    if (!options.arm.empty()) out.arm = options.arm;
    out.version = MANO_VERSION;
    std::vector<std::string> words{"manometer", "import", "csv", file};
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
    if (options.format != "csv") {
        return fail(Code::invalid, "import {}: no such format, expected csv", options.format);
    }
    // All files are understood before the first is kept.
    std::vector<interchange::Imported> all;
    for (const std::string& file : options.files) {
        MANO_ASSIGN(const interchange::ImportOptions how, import_options(options, file));
        const auto text = read_file(file);
        if (!text) return fail(Code::invalid, "{}", text.error().text());
        auto imported = interchange::import_csv(*text, how);
        if (!imported && imported.error().code == Code::hostile) {
            return fail(Code::invalid, "{}", imported.error().text());
        }
        if (!imported) return tl::unexpected<Error>(imported.error());
        all.push_back(std::move(*imported));
    }
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store)));
    json list = json::array();
    for (const interchange::Imported& imported : all) {
        MANO_ASSIGN(const std::string id, interchange::save(store, imported));
        list.push_back(to_json(id, imported));
        if (!options.json) MANO_TRY(print(to_text(id, imported)));
    }
    if (options.json) {
        const json& shown = list.size() == 1 ? list.front() : list;
        MANO_TRY(print(shown.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    }
    return 0;
}

}  // namespace

void add_import(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("import", "a CSV file of numbers becomes a run set");
    auto options = std::make_shared<Options>();
    verb->add_option("FORMAT", options->format, "csv")->required();
    verb->add_option("FILE", options->files, "each becomes a run set of its own")->required();
    verb->add_option("--arm", options->arm, "the arm of rows that name none");
    verb->add_option("--name", options->name, "a name for the run set");
    verb->add_option("--experiment", options->experiment,
                     "the experiment whose key metrics and formulas the numbers are judged by");
    declare_store(*verb, options->store);
    verb->add_flag("--json", options->json, "what was understood, as JSON");
    verb->footer(
        "\nHeader: arm,case,trial,seed,iteration,metric,unit,value and optionally kind. A "
        "file with a\nfault is refused whole, with line and column.\n\nExample: manometer "
        "import csv run.csv && manometer compare last\n\nExit codes: 0; 1 the file can't be "
        "understood; 2 the store can't be written.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return import_files(*options); }; });
}

}  // namespace mano::cli
