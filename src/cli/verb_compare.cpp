// SPDX-License-Identifier: GPL-2.0-or-later
// compare: the table again, from the store alone.
#include <array>
#include <CLI/CLI.hpp>

#include "base/file.h"
#include "cli/evidence.h"
#include "cli/output.h"
#include "cli/result.h"
#include "cli/run_options.h"
#include "cli/sensitivity.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "interchange/interchange.h"

namespace mano::cli {
namespace {

struct Options {
    std::vector<std::string> runsets;
    ChoiceOptions choice;
    std::string store;
    std::string sort = "table", rule = "ours", beside;
    std::vector<std::string> metrics;
    FormatOptions format;
    bool all = false;
    bool changed = false;
    bool force = false;
    bool plot = false;
    bool sensitivity = false;
};

// One of a few words; the error names them.
template <typename Value, std::size_t N>
Result<Value> one_of(std::string_view option, const std::string& word,
                     const std::array<std::pair<std::string_view, Value>, N>& words) {
    std::string names;
    for (const auto& [name, value] : words) {
        if (name == word) return value;
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return fail(Code::invalid, "{} {}: expected one of {}", option, word, names);
}

constexpr std::array<std::pair<std::string_view, report::Sort>, 4> kSorts{{
    {"table", report::Sort::table},
    {"name", report::Sort::name},
    {"change", report::Sort::change},
    {"p", report::Sort::p},
}};
constexpr std::array<std::pair<std::string_view, report::Rule>, 2> kRules{{
    {"ours", report::Rule::ours},
    {"lkp", report::Rule::lkp},
}};

Result<report::Options> report_options(const Options& options) {
    report::Options out;
    MANO_TRY(add_choice(options.choice, out));
    out.metrics = options.metrics;
    out.all = options.all;
    out.changed = options.changed;
    if (out.all && out.changed) {
        return fail(Code::invalid, "--all and --changed contradict each other: give one of them");
    }
    MANO_ASSIGN(out.sort, one_of("--sort", options.sort, kSorts));
    MANO_ASSIGN(out.rule, one_of("--rule", options.rule, kRules));
    if (!options.beside.empty()) {
        auto text = read_file(options.beside);
        if (!text) return fail(Code::invalid, "--beside: {}", text.error().text());
        MANO_ASSIGN(out.published, interchange::read_published(*text, options.beside));
    }
    return out;
}

Result<int> compare(const Options& options) {
    MANO_ASSIGN(const Format format, chosen_format(options.format));
    MANO_ASSIGN(report::Options how, report_options(options));
    if (options.plot && format->name != "text") {
        return fail(Code::invalid,
                    "--plot draws below the text table: leave out --format {}, or use `manometer "
                    "report` for pictures in a page",
                    format->name);
    }
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    MANO_ASSIGN(const store::RunSet runset, load_runsets(store, options.runsets, options.force));
    const auto aa = find_aa(store, runset);
    how.aa = aa ? &*aa : nullptr;
    if (!options.sensitivity) return print_result(runset, how, format, options.plot);
    catch_signals();
    Progress progress(false);
    return print_result(runset, how, format, options.plot, [&](report::ReportData& data) {
        return add_sensitivity(runset, how, progress, data);
    });
}

constexpr std::string_view kFooter =
    "Several run sets of one experiment are compared as one, if machine and QEMU are the same:\n"
    "the arms of the second follow those of the first.\n"
    "\nExamples:\n"
    "  manometer compare last\n"
    "  manometer compare last --base 7.3 --all\n"
    "  manometer compare last --plot\n"
    "  manometer compare last --beside docs/results/aux-alloc-published.csv\n"
    "  manometer compare last --metric 'vmstat.pgscan*' --metric 'psi.probe.*'\n"
    "  manometer compare 20261130-154434 20261201-091500 --arms 7.1,7.3\n"
    "  manometer compare last --format lkp --rule lkp\n"
    "  manometer compare last --format gobench --all > run.txt && benchstat -col arm run.txt\n"
    "  manometer compare last --json | jq .verdict\n"
    "\nExit codes: as of run: 0 no regression; 1 usage, or no such run set; 2 the store "
    "can't\nbe read; 3 no answer; 4 regression.\n";

}  // namespace

void add_compare(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("compare", "the table of run sets again, in any format");
    auto options = std::make_shared<Options>();
    verb->add_option("RUNSET", options->runsets, "id, beginning of an id, name, or last")
        ->required();
    declare_choice(*verb, options->choice);
    verb->add_option("--metric", options->metrics, "only metrics whose names match, with * and ?")
        ->allow_extra_args(false);
    verb->add_flag("--all", options->all, "unchanged rows and those below their floor as well");
    verb->add_flag("--changed", options->changed, "only what changed, of the key metrics too");
    verb->add_option("--sort", options->sort,
                     "rows by table (as the experiment has them), name, change or p");
    verb->add_option("--rule", options->rule,
                     "lkp: which rows LKP's robot would report, beside ours");
    verb->add_option("--beside", options->beside,
                     "below the table what others published: a CSV file with the columns "
                     "case,metric,arm,value and source");
    verb->add_flag("--plot", options->plot,
                   "below the table every trial as a mark, by arm, with median and interval");
    verb->add_flag("--sensitivity", options->sensitivity,
                   "of the model: the verdicts once more with each cost halved and doubled");
    verb->add_flag("--force", options->force, "even where machines or QEMU differ");
    declare_store(*verb, options->store);
    declare_format(*verb, options->format);
    verb->footer(std::string(kFooter));
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return compare(*options); }; });
}

}  // namespace mano::cli
