// SPDX-License-Identifier: GPL-2.0-or-later
// history: one experiment's metrics over many kernels, from the store.
#include <CLI/CLI.hpp>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "report/history.h"

namespace mano::cli {
namespace {

struct Options {
    std::string experiment, store, cases;
    std::vector<std::string> metrics, runsets;
    bool json = false;
};

// More would be slow to read and to test, and say no more.
constexpr std::size_t kMostRunSets = 50;

Result<int> show_history(const Options& options) {
    std::vector<std::string> cases;
    if (!options.cases.empty()) {
        MANO_ASSIGN(cases, parse_list("--cases", options.cases));
    }
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    std::vector<std::string> wanted = options.runsets;
    if (wanted.empty()) {
        MANO_ASSIGN(const std::vector<store::Summary> all, store.list());
        for (const store::Summary& each : all) {
            const bool useful = each.experiment == options.experiment && each.trials > 0;
            if (useful && wanted.size() < kMostRunSets) wanted.push_back(each.id);
        }
    }
    if (wanted.empty()) {
        return fail(Code::not_found,
                    "no run set of {} here; make one with `manometer run {} -k debian:6.1..7.3 "
                    "--exact`",
                    options.experiment, options.experiment);
    }
    std::vector<store::RunSet> runsets;
    for (const std::string& reference : wanted) {
        MANO_ASSIGN(store::RunSet runset, store.load(reference, true, false));
        if (runset.plan.experiment != options.experiment) {
            return fail(Code::invalid, "--runset {}: is one of {}, not of {}", reference,
                        runset.plan.experiment, options.experiment);
        }
        runsets.push_back(std::move(runset));
    }
    MANO_ASSIGN(const report::History history,
                report::build_history(runsets, options.metrics, cases));
    MANO_TRY(print(options.json ? report::render_history_json(history)
                                : report::render_history(history)));
    return 0;
}

constexpr std::string_view kFooter =
    "Takes all run sets of the experiment that were made on the same ground as the newest; of a\n"
    "kernel that several have, the newest counts. Arms with settings of their own aren't part of\n"
    "it. Where the values change from one kernel to the next is marked with its evidence.\n"
    "\nExamples:\n"
    "  manometer run shm-churn -k debian:6.1..7.3 --exact\n"
    "  manometer history shm-churn\n"
    "  manometer history shm-churn --metric 'tp.*' --json\n"
    "\nExit codes: 0; 1 usage, no such run set or metric; 2 the store can't be read.\n";

}  // namespace

void add_history(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("history", "a metric over many kernels, with its changes");
    auto options = std::make_shared<Options>();
    verb->add_option("EXPERIMENT", options->experiment, "the experiment's name")->required();
    verb->add_option("--metric", options->metrics,
                     "metrics whose names match, with * and ? (the primary one)")
        ->allow_extra_args(false);
    verb->add_option("--cases", options->cases, "only these cases, as A,B");
    verb->add_option("--runset", options->runsets,
                     "only these run sets (repeatable; the first counts before the next)")
        ->allow_extra_args(false);
    verb->add_flag("--json", options->json, "as JSON (manometer.history/1)");
    declare_store(*verb, options->store);
    verb->footer(std::string(kFooter));
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return show_history(*options); }; });
}

}  // namespace mano::cli
