// SPDX-License-Identifier: GPL-2.0-or-later
// export: a run set's raw values as other tools read them.
#include <algorithm>
#include <array>
#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/file.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "interchange/interchange.h"
#include "report/report.h"

namespace mano::cli {
namespace {

struct Options {
    std::string format, runset, store, output, origin = "manometer";
    std::vector<std::string> metrics;
    bool all = false;
};

// What an export makes: one text, or files below a folder.
struct Export {
    std::string text;
    interchange::Files files;
};

struct Exporter {
    std::string_view name, writes;
    bool folder;
    Result<Export> (*make)(const store::RunSet& runset, const report::Options& how,
                           const Options& options);
};

Result<Export> make_csv(const store::RunSet& runset, const report::Options& how, const Options&) {
    MANO_ASSIGN(std::string text, report::render_csv(runset, how));
    return Export{std::move(text), {}};
}
Result<Export> make_lkp(const store::RunSet& runset, const report::Options& how, const Options&) {
    MANO_ASSIGN(interchange::Files files, interchange::export_lkp(runset, how));
    return Export{"", std::move(files)};
}
Result<Export> make_kcidb(const store::RunSet& runset, const report::Options& how,
                          const Options& options) {
    MANO_ASSIGN(std::string text, interchange::export_kcidb(runset, how, options.origin));
    return Export{std::move(text), {}};
}

constexpr std::array<Exporter, 3> kExporters{{
    {"csv", "raw values, one row each (docs/methods.md)", false, make_csv},
    {"lkp", "LKP's result tree below the folder of -o", true, make_lkp},
    {"kcidb", "KCIDB v5 JSON: a test a trial and metric", false, make_kcidb},
}};

std::string format_names() {
    std::string text;
    for (const Exporter& each : kExporters)
        text += (text.empty() ? "" : ", ") + std::string(each.name);
    return text;
}

Status write_files(const std::string& folder, const interchange::Files& files) {
    for (const auto& [path, bytes] : files)
        MANO_TRY(write_file_atomic(std::filesystem::path(folder) / path, bytes));
    return print(fmt::format("{} files below {}\n", files.size(), folder));
}

Result<int> export_runset(const Options& options) {
    const auto* const exporter =
        std::find_if(kExporters.begin(), kExporters.end(),
                     [&](const Exporter& each) { return each.name == options.format; });
    if (exporter == kExporters.end()) {
        return fail(Code::invalid, "export {}: no such format, expected {}", options.format,
                    format_names());
    }
    if (exporter->folder && options.output.empty()) {
        return fail(Code::invalid, "export {} writes many files: name their folder with -o FOLDER",
                    exporter->name);
    }
    report::Options how;
    how.metrics = options.metrics;
    how.all = options.all;
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    MANO_ASSIGN(const store::RunSet runset, store.load(options.runset, true, false));
    MANO_ASSIGN(const Export made, exporter->make(runset, how, options));
    if (exporter->folder) {
        MANO_TRY(write_files(options.output, made.files));
    } else {
        MANO_TRY(write_output(options.output.empty() ? "-" : options.output, made.text));
    }
    return 0;
}

std::string export_footer() {
    std::string text = "\nFormats:\n";
    for (const Exporter& each : kExporters)
        text += fmt::format("  {:6} {}\n", each.name, each.writes);
    return text +
           "\nIn CSV an empty value is unknown, which is not 0. kcidb holds the rows that the "
           "table\n"
           "shows, with --all every one.\n"
           "\nExamples:\n"
           "  manometer export csv last -o run.csv\n"
           "  manometer export lkp last -o result\n"
           "  manometer export kcidb last --origin mylab -o report.json\n"
           "\nExit codes: 0; 1 no such run set; 2 the store can't be read.\n";
}

}  // namespace

void add_export(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("export", "a run set's values as other tools read them");
    auto options = std::make_shared<Options>();
    verb->add_option("FORMAT", options->format, format_names())->required();
    verb->add_option("RUNSET", options->runset, "id, beginning of an id, name, or last")
        ->required();
    verb->add_option("-o,--output", options->output,
                     "a file instead of standard output (-); a folder for lkp");
    verb->add_option("--metric", options->metrics, "only metrics whose names match, with * and ?")
        ->allow_extra_args(false);
    verb->add_flag("--all", options->all, "kcidb: every row, not only those of the table");
    verb->add_option("--origin", options->origin, "kcidb: the name of the reporting system");
    declare_store(*verb, options->store);
    verb->footer(export_footer());
    verb->callback([options, chosen] {
        *chosen = [options](const Call&) { return export_runset(*options); };
    });
}

}  // namespace mano::cli
