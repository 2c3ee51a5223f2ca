// SPDX-License-Identifier: GPL-2.0-or-later
// compare: the table again, from the store alone.
#include <CLI/CLI.hpp>

#include "cli/arguments.h"
#include "cli/evidence.h"
#include "cli/output.h"
#include "cli/result.h"
#include "cli/run_options.h"
#include "cli/verb.h"

namespace mano::cli {
namespace {

struct Options {
    std::vector<std::string> runsets;
    std::string store, base, arms, cases;
    std::vector<std::string> metrics;
    FormatOptions format;
    bool all = false;
    bool force = false;
};

Result<report::Options> report_options(const Options& options) {
    report::Options out;
    if (!options.base.empty()) out.base = options.base;
    if (!options.arms.empty()) {
        MANO_ASSIGN(out.arms, parse_list("--arms", options.arms));
    }
    if (!options.cases.empty()) {
        MANO_ASSIGN(out.cases, parse_list("--cases", options.cases));
    }
    out.metrics = options.metrics;
    out.all = options.all;
    return out;
}

Result<int> compare(const Options& options) {
    MANO_ASSIGN(const Format format, chosen_format(options.format));
    MANO_ASSIGN(report::Options how, report_options(options));
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    std::vector<store::RunSet> runsets;
    for (const std::string& reference : options.runsets) {
        MANO_ASSIGN(store::RunSet runset, store.load(reference, true, false));
        for (const store::RunSet& other : runsets) {
            if (other.id == runset.id) {
                return fail(Code::invalid, "{} is given twice", runset.id);
            }
        }
        runsets.push_back(std::move(runset));
    }
    const auto aa = find_aa(store, runsets.front());
    how.aa = aa ? &*aa : nullptr;
    if (runsets.size() == 1) return print_result(runsets.front(), how, format);
    MANO_ASSIGN(const store::RunSet merged, report::merge(runsets, options.force));
    return print_result(merged, how, format);
}

constexpr std::string_view kFooter =
    "Several run sets of one experiment are compared as one, if machine and QEMU are the same:\n"
    "the arms of the second follow those of the first.\n"
    "\nExamples:\n"
    "  manometer compare last\n"
    "  manometer compare last --base 7.3 --all\n"
    "  manometer compare last --metric 'vmstat.pgscan*' --metric 'psi.probe.*'\n"
    "  manometer compare 20261130-154434 20261201-091500 --arms 7.1,7.3\n"
    "  manometer compare last --json | jq .verdict\n"
    "\nExit codes: as those of run: 0 no regression; 1 usage; 2 no store; 3 no answer; 4 "
    "regression.\n";

}  // namespace

void add_compare(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("compare", "the table of run sets again, in any format");
    auto options = std::make_shared<Options>();
    verb->add_option("RUNSET", options->runsets, "id, beginning of an id, name, or last")
        ->required();
    verb->add_option("--base", options->base, "the arm that others are compared with (the first)");
    verb->add_option("--arms", options->arms, "only these arms, as A,B");
    verb->add_option("--cases", options->cases, "only these cases, as A,B");
    verb->add_option("--metric", options->metrics, "only metrics whose names match, with * and ?")
        ->allow_extra_args(false);
    verb->add_flag("--all", options->all, "unchanged rows and those below their floor as well");
    verb->add_flag("--force", options->force, "even where machines or QEMU differ");
    declare_store(*verb, options->store);
    declare_format(*verb, options->format);
    verb->footer(std::string(kFooter));
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return compare(*options); }; });
}

}  // namespace mano::cli
