// SPDX-License-Identifier: GPL-2.0-or-later
// why: where stalled time and late wake-ups came from, by kernel stack.
#include <CLI/CLI.hpp>

#include <optional>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "why/why.h"

namespace mano::cli {
namespace {

struct Options {
    std::optional<std::string> arms, case_;
    std::string runset, store, top = "10", format = "text", out = "-";
    std::vector<std::string> diff;
    bool all_tasks = false;
};

Result<int> explain(const Options& options) {
    why::Options how;
    if (options.arms) {
        MANO_ASSIGN(how.arms, parse_list("--arms", *options.arms));
    }
    how.case_ = options.case_;
    MANO_ASSIGN(how.top, parse_count("--top", options.top, 1, 100'000));
    how.all_tasks = options.all_tasks;
    const auto& format = options.format;
    if (format != "text" && format != "json" && format != "folded" && format != "perfetto") {
        return fail(Code::invalid, "--format {}: expected one of text, json, folded, perfetto",
                    format);
    }
    std::optional<std::pair<std::string, std::string>> diff;
    if (!options.diff.empty()) {
        diff.emplace(options.diff.front(), options.diff.back());
        if (diff->first == diff->second) {
            return fail(Code::invalid, "--diff {} {}: expected two different arms", diff->first,
                        diff->second);
        }
    }
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    MANO_ASSIGN(const store::RunSet runset, store.load(options.runset, true, false));
    MANO_ASSIGN(const why::Why result, why::build(store, runset, how, diff));
    std::string text;
    if (format == "text") text = printable(why::render_text(result, how));
    if (format == "json") text = why::render_json(result);
    if (format == "folded") text = why::render_folded(result);
    if (format == "perfetto") text = why::render_perfetto(result);
    MANO_TRY(write_output(options.out, text));
    return 0;
}

constexpr std::string_view kFooter =
    "It reads the attribution trials of a run set (run ... --attribute N). A stall is the time\n"
    "from psi_memstall_enter to psi_memstall_leave of a task; each piece of it belongs to the\n"
    "stack in which the task slept, waited for a CPU, or ran. docs/why.md has the details.\n"
    "\nExamples:\n"
    "  manometer run aux-alloc -k before=source:7.3 \\\n"
    "      -k after=source:7.3+kernel/patches/aux-no-reclaim.patch --exact --attribute 4\n"
    "  manometer why last\n"
    "  manometer why last --diff before after\n"
    "  manometer why last --format folded > stalls.folded && flamegraph.pl stalls.folded\n"
    "  manometer why last --format perfetto -o worst.json    (open in ui.perfetto.dev)\n"
    "\nExit codes: 0; 1 usage, or no attribution trial; 2 the store can't be read; 3 a trace is\n"
    "damaged.\n";

}  // namespace

void add_why(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("why", "where stalled time came from, by kernel stack");
    auto options = std::make_shared<Options>();
    verb->add_option("RUNSET", options->runset, "id, beginning of an id, name, or last")
        ->required();
    verb->add_option("--diff", options->diff, "two arms: what grew, shrank, vanished, appeared")
        ->expected(2);
    verb->add_option("--arms", options->arms, "only these arms, as A,B");
    verb->add_option("--case", options->case_, "only this case");
    verb->add_flag("--all-tasks", options->all_tasks, "stalls of every task, not just the probe's");
    verb->add_option("--top", options->top, "how many rows of each table (10)");
    verb->add_option("--format", options->format, "text, json, folded or perfetto");
    verb->add_option("-o,--output", options->out, "a file; - is standard output");
    declare_store(*verb, options->store);
    verb->footer(std::string(kFooter));
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return explain(*options); }; });
}

}  // namespace mano::cli
