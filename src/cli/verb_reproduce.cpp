// SPDX-License-Identifier: GPL-2.0-or-later
// reproduce: what somebody else needs to see a run set's effect: the exact commands, and the
// experiment's pressure and probe as one C file.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "reproduce/reproduce.h"
#include "store/store.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string runset, store, case_name, output;
    bool json = false;
};

std::string text_of(const json& kernel, const char* key) {
    const auto found = kernel.find(key);
    return found != kernel.end() && found->is_string() ? found->get<std::string>() : "unknown";
}

// The commands, and by what one sees that it is the same thing.
std::string commands(const store::RunSet& runset) {
    std::string text = fmt::format("# {}: {}\n", runset.id, runset.plan.experiment);
    text += fill(fmt::format("# with manometer {}", runset.version), 0);
    for (const auto& [key, value] : runset.identity)
        text += fmt::format("#   {}: {}\n", key, value);
    for (std::size_t i = 0; i < runset.plan.arms.size(); ++i) {
        const plan::Arm& arm = runset.plan.arms[i];
        const json kernel = i < runset.arms.size()
                                ? json::parse(runset.arms[i].kernel_json, nullptr, false)
                                : json();
        text += fmt::format("# arm {}: {}", arm.name,
                            arm.kernel_spec.empty() ? "kernel unknown" : arm.kernel_spec);
        if (kernel.is_object()) {
            text += fmt::format("\n#   release {}, image sha256 {}", text_of(kernel, "release"),
                                text_of(kernel, "id"));
        }
        text += "\n";
    }
    text += fmt::format("# plan {}\n", runset.plan_hash);
    return text + runset.command_line + "\n";
}

Result<int> reproduce(const Options& options) {
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store), true));
    MANO_ASSIGN(const store::RunSet runset, store.load(options.runset, false));
    if (runset.command_line.empty()) {
        return fail(Code::invalid, "run set {} was imported: nothing is known of how it was made",
                    runset.id);
    }
    auto source = reproduce::stand_alone_c(runset.plan, options.case_name, runset.command_line);
    if (!source && (!options.output.empty() || !options.case_name.empty()))
        return tl::make_unexpected(source.error());
    if (!options.output.empty()) {
        MANO_TRY(write_output(options.output, *source));
        if (options.output == "-") return 0;
    }
    if (options.json) {
        MANO_TRY(print(json{{"schema", "manometer.reproduce/1"},
                            {"runset", runset.id},
                            {"command", runset.command_line},
                            {"source", source ? json(*source) : json(nullptr)}}
                           .dump(2, ' ', false, json::error_handler_t::replace) +
                       "\n"));
        return 0;
    }
    std::string text = printable(commands(runset));
    if (options.output.empty()) {
        text += fmt::format(
            "\n# the experiment's pressure and probe as one C file:\n"
            "manometer reproduce {} -o reproduce.c\n",
            runset.id);
    } else {
        text += fmt::format("\nwritten: {}\n  gcc -O2 -o reproduce {} && ./reproduce\n",
                            options.output, options.output);
    }
    MANO_TRY(print(text));
    return 0;
}

}  // namespace

void add_reproduce(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand(
        "reproduce", "how somebody else makes this run set again; its experiment as a C file");
    auto options = std::make_shared<Options>();
    verb->add_option("RUNSET", options->runset, "id, beginning of an id, name, or last")
        ->required();
    verb->add_option("--case", options->case_name, "the case of the C file; default: the last");
    verb->add_option("-o,--output", options->output,
                     "writes the C file there; - for standard output");
    verb->add_flag("--json", options->json, "command and C text as JSON");
    declare_store(*verb, options->store);
    verb->footer(
        "\nThe C file holds the pressure and the probe of one case with all parameters, for a mail "
        "to people\nwithout Manometer. It is run as root in a virtual machine, fills its memory, "
        "and prints PSI and\nreclaim counts of each iteration.\n\n"
        "  manometer reproduce last\n"
        "  manometer reproduce last --case demand=95% -o reproduce.c\n"
        "  gcc -O2 -o reproduce reproduce.c\n\n"
        "Exit codes: 0; 1 no such run set or case, or nothing is known of how it was made; 2 the "
        "store can't\nbe read or the file not written.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return reproduce(*options); }; });
}

}  // namespace mano::cli
