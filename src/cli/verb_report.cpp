// SPDX-License-Identifier: GPL-2.0-or-later
// report: run sets as one HTML file with plots.
#include <CLI/CLI.hpp>

#include "base/units.h"
#include "cli/evidence.h"
#include "cli/output.h"
#include "cli/result.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "report/html.h"

namespace mano::cli {
namespace {

struct Options {
    std::vector<std::string> runsets;
    ChoiceOptions choice;
    std::string store, output;
    bool force = false;
};

Result<int> write_report(const Options& options) {
    // Said before anything is read or computed.
    if (report::page_template().empty()) {
        return fail(Code::environment, "{}", report::page_missing());
    }
    report::Options how;
    MANO_TRY(add_choice(options.choice, how));
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    MANO_ASSIGN(const store::RunSet runset, load_runsets(store, options.runsets, options.force));
    const auto aa = find_aa(store, runset);
    how.aa = aa ? &*aa : nullptr;
    MANO_ASSIGN(const report::ReportData data, report::build(runset, how));
    MANO_ASSIGN(const std::string html, report::render_html(data, runset));
    MANO_TRY(write_output(options.output, html));
    if (options.output != "-") {
        MANO_TRY(print(fmt::format("{}: {} kB; open it with a browser\n", printable(options.output),
                                   (html.size() + 999) / 1000)));
    }
    return 0;
}

constexpr std::string_view kFooter =
    "One file that needs no network and no other file: verdict, tables, each trial as a point, "
    "the\n"
    "course of each trial, what was lost, failed or spoiled, and how to reproduce it. Light, "
    "dark,\n"
    "and on paper. Its numbers are those of `manometer compare --json`.\n"
    "\nExamples:\n"
    "  manometer report last -o shm-churn.html\n"
    "  manometer report last --base 7.1 --cases 95% -o for-the-meeting.html\n"
    "  manometer report 20261130-154434 20261201-091500 -o both.html\n"
    "\nExit codes: 0 written, whatever the verdict; 1 usage, or no such run set; 2 the store "
    "can't\nbe read, the file can't be written, or this program was built without the page.\n";

}  // namespace

void add_report(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("report", "run sets as one HTML file with plots");
    auto options = std::make_shared<Options>();
    verb->add_option("RUNSET", options->runsets, "id, beginning of an id, name, or last")
        ->required();
    verb->add_option("-o,--output", options->output, "the HTML file; - is standard output")
        ->required();
    declare_choice(*verb, options->choice);
    verb->add_flag("--force", options->force, "even where machines or QEMU differ");
    declare_store(*verb, options->store);
    verb->footer(std::string(kFooter));
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return write_report(*options); }; });
}

}  // namespace mano::cli
