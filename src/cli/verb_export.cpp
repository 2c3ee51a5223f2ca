// SPDX-License-Identifier: GPL-2.0-or-later
// export: a run set's raw values as other tools read them.
#include <CLI/CLI.hpp>

#include "base/file.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "measure/metric.h"
#include "report/report.h"

namespace mano::cli {
namespace {

struct Options {
    std::string format, runset, store, output;
};

Result<int> export_runset(const Options& options) {
    if (options.format != "csv") {
        return fail(Code::invalid, "export {}: no such format, expected csv", options.format);
    }
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    MANO_ASSIGN(const store::RunSet runset, store.load(options.runset, true, false));
    MANO_ASSIGN(const std::string csv, report::render_csv(runset));
    if (options.output.empty()) {
        MANO_TRY(print(csv));
    } else {
        MANO_TRY(write_file_atomic(options.output, csv));
    }
    return 0;
}

}  // namespace

void add_export(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("export", "raw values of a run set as CSV");
    auto options = std::make_shared<Options>();
    verb->add_option("FORMAT", options->format, "csv")->required();
    verb->add_option("RUNSET", options->runset, "id, beginning of an id, name, or last")
        ->required();
    verb->add_option("-o,--output", options->output, "a file instead of standard output");
    declare_store(*verb, options->store);
    verb->footer(
        "\nOne row a raw value: arm,case,trial,seed,iteration,metric,unit,value,kind. An "
        "empty\nvalue is unknown, which is not 0.\n\nExample: manometer export csv last -o "
        "run.csv\n\nExit codes: 0; 1 no such run set; 2 the store can't be read.\n");
    verb->callback([options, chosen] {
        *chosen = [options](const Call&) { return export_runset(*options); };
    });
}

}  // namespace mano::cli
