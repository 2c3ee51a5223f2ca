// SPDX-License-Identifier: GPL-2.0-or-later
// kernel list, add, show, remove: names and the cache.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/kernel_json.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "cli/verb.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string name, spec;
    bool json = false;
};

kernels::Options kernel_options(Progress& progress) {
    kernels::Options options;
    options.cache = cache_folder();
    options.stop = stop_requested;
    options.progress = [&progress](std::string_view what, std::uint64_t done, std::uint64_t total) {
        progress.download(what, done, total);
    };
    return options;
}

json known_json(const kernels::Known& known) {
    json value = kernel_to_json(known.kernel);
    value["name"] = known.name.empty() ? json(nullptr) : json(known.name);
    value["bytes"] = known.bytes;
    return value;
}

std::string known_text(const kernels::Known& known) {
    const kernels::Kernel& kernel = known.kernel;
    const kernels::Provenance& from = kernel.provenance;
    std::vector<std::vector<std::string>> rows;
    const auto add = [&](std::string what, const std::string& value) {
        rows.push_back({std::move(what), value.empty() ? "unknown" : value});
    };
    if (!known.name.empty()) add("name", known.name);
    add("SPEC", from.spec);
    add("exactly", from.exact_spec);
    add("release", from.release);
    add("banner", from.banner);
    add("compiler", from.compiler);
    add("id", kernel.id);
    for (const auto& [package, version] : from.packages)
        add("package", package + " " + version);
    for (const auto& [file, digest] : from.sha256)
        add("sha256", digest + "  " + file);
    add("config", kernel.config ? kernel.config->string() : "");
    add("modules", kernel.modules ? kernel.modules->string() : "none");
    add("boots", kernel.elf && kernel.pvh ? "its ELF by PVH" : "its bzImage");
    add("on disk", show_bytes(known.bytes));
    for (const std::string& note : from.notes)
        add("note", note);
    return printable(columns(rows));
}

Result<int> list(const Options& options) {
    Progress progress(true);
    MANO_ASSIGN(const std::vector<kernels::Known> all, kernels::list(kernel_options(progress)));
    if (options.json) {
        json kernels = json::array();
        for (const kernels::Known& known : all)
            kernels.push_back(known_json(known));
        const json value = {{"schema", "manometer.kernels/1"}, {"kernels", kernels}};
        MANO_TRY(print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
        return 0;
    }
    if (all.empty()) {
        MANO_TRY(
            print("no kernel is cached yet; a run fetches what it needs, or: manometer kernel "
                  "add base debian:7.3\n"));
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"name", "SPEC", "release", "on disk", "id"}};
    for (const kernels::Known& known : all) {
        const kernels::Provenance& from = known.kernel.provenance;
        rows.push_back(
            {known.name.empty() ? "-" : known.name,
             known.name.empty() && !from.exact_spec.empty() ? from.exact_spec : from.spec,
             from.release, known.bytes > 0 ? show_bytes(known.bytes) : "-",
             known.kernel.id.substr(0, 12)});
    }
    MANO_TRY(print(printable(columns(rows, {3}))));
    return 0;
}

Result<int> add(const Options& options) {
    catch_signals();
    Progress progress(false);
    auto kernel = kernels::add(options.name, options.spec, kernel_options(progress));
    progress.clear();
    if (!kernel) return tl::unexpected<Error>(kernel.error());
    MANO_TRY(print(fmt::format("{} is {} ({})\n", options.name, kernel->provenance.release,
                               kernel->provenance.exact_spec)));
    return 0;
}

Result<int> show(const Options& options) {
    Progress progress(true);
    MANO_ASSIGN(const kernels::Known known, kernels::show(options.name, kernel_options(progress)));
    if (options.json) {
        MANO_TRY(
            print(known_json(known).dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    } else {
        MANO_TRY(print(known_text(known)));
    }
    return 0;
}

Result<int> remove(const Options& options) {
    Progress progress(true);
    MANO_TRY(kernels::remove(options.name, kernel_options(progress)));
    MANO_TRY(print("removed " + options.name + "\n"));
    return 0;
}

using Function = Result<int> (*)(const Options&);

void choose(CLI::App* verb, const Chosen& chosen, const std::shared_ptr<Options>& options,
            Function function) {
    verb->callback([options, chosen, function] {
        *chosen = [options, function](const Call&) { return function(*options); };
    });
}

}  // namespace

void add_kernel(CLI::App& app, const Chosen& chosen) {
    auto* kernel = app.add_subcommand("kernel", "kernels known here: list, add, show, remove");
    kernel->require_subcommand(1);
    kernel->footer(
        "\nSPEC: debian:7.3 (newest match), debian:7.3.4-rt (a flavour), a path to a "
        "bzImage\n[,modules=DIR][,config=FILE], or a name. `run` takes SPECs directly; a "
        "name only\nsaves typing.\n\nExit codes: 0; 1 no such kernel, or no kernel at "
        "all; 2 network, apt, or the cache.\n");
    auto options = std::make_shared<Options>();

    auto* verb = kernel->add_subcommand("list", "names, and what else is cached");
    verb->add_flag("--json", options->json, "as JSON");
    choose(verb, chosen, options, list);

    verb = kernel->add_subcommand("add", "fetch a kernel and give it a name");
    verb->add_option("NAME", options->name, "without blanks and / : , + = @")->required();
    verb->add_option("SPEC", options->spec, "what the name stands for")->required();
    verb->footer(
        "\nExamples:\n  manometer kernel add base debian:7.1\n  manometer kernel add mine "
        "../linux/arch/x86/boot/bzImage\n");
    choose(verb, chosen, options, add);

    verb = kernel->add_subcommand("show", "where a kernel came from, what is known of it");
    verb->add_option("KERNEL", options->name, "a name or SPEC")->required();
    verb->add_flag("--json", options->json, "as JSON");
    choose(verb, chosen, options, show);

    verb = kernel->add_subcommand("remove", "a name; or a cached kernel with its files");
    verb->add_option("KERNEL", options->name, "a name, a SPEC, or the beginning of an id")
        ->required();
    choose(verb, chosen, options, remove);
}

}  // namespace mano::cli
