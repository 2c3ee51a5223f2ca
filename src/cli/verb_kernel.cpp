// SPDX-License-Identifier: GPL-2.0-or-later
// kernel list, add, build, show, remove, prune: names, builds and the cache.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/kernel_json.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "kernels/prune.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string name, spec, to = "20GiB";
    std::vector<std::string> variables, configs;
    unsigned placebo = 0;
    bool json = false;
    bool dry_run = false;
};

json known_json(const kernels::Known& known) {
    json value = kernel_to_json(known.kernel);
    value["name"] = known.name.empty() ? json(nullptr) : json(known.name);
    value["bytes"] = known.bytes;
    return value;
}

// One kernel is its fields; the schema's name says which.
Status print_one(json value) {
    value["schema"] = "manometer.kernel/1";
    return print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
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
        MANO_TRY(print_one(known_json(known)));
    } else {
        MANO_TRY(print(known_text(known)));
    }
    return 0;
}

// The SPEC with what the options add to it, so that a run can be given the same words.
Result<std::string> build_spec(const Options& options) {
    std::string spec = options.spec;
    if (!spec.starts_with("source:") && !spec.starts_with("tree:")) {
        return fail(Code::invalid,
                    "'{}' isn't built: expected source:VERSION[+PATCH...] or "
                    "tree:DIR[@REV][+PATCH...]",
                    spec);
    }
    for (const std::string& config : options.configs)
        spec += ",config=" + config;
    for (const std::string& variable : options.variables) {
        if (!variable.starts_with("CC=") || variable.size() == 3) {
            return fail(Code::invalid, "'{}': the only variable is CC=PROGRAM", variable);
        }
        spec += ",cc=" + variable.substr(3);
    }
    if (options.placebo == 1) spec += ",placebo";
    if (options.placebo > 1) spec += fmt::format(",placebo={}", options.placebo);
    return spec;
}

Result<int> build(const Options& options) {
    MANO_ASSIGN(const std::string spec, build_spec(options));
    catch_signals();
    Progress progress(false);
    const kernels::Options how = kernel_options(progress);
    auto kernel =
        options.name.empty() ? kernels::resolve(spec, how) : kernels::add(options.name, spec, how);
    progress.clear();
    if (!kernel) return tl::unexpected<Error>(kernel.error());
    // What a build leaves behind has its bound.
    if (const auto pruned = kernels::prune(kernels::kCacheBytes, false, how)) {
        for (const kernels::Pruned& one : pruned->removed)
            progress.say(fmt::format("note: removed from the cache: {}, {}", one.what,
                                     show_bytes(one.bytes)));
    }
    progress.clear();
    if (options.json) {
        MANO_TRY(print_one(kernel_to_json(*kernel)));
        return 0;
    }
    std::string text = fmt::format("{} is {}, id {}\n", spec, kernel->provenance.release,
                                   kernel->id.substr(0, 12));
    for (const std::string& note : kernel->provenance.notes)
        text += "note: " + note + "\n";
    MANO_TRY(print(printable(text)));
    return 0;
}

Result<int> prune(const Options& options) {
    MANO_ASSIGN(const Bytes bytes, parse_bytes(options.to));
    Progress progress(true);
    MANO_ASSIGN(const kernels::PruneResult done,
                kernels::prune(bytes.value, options.dry_run, kernel_options(progress)));
    if (options.json) {
        json removed = json::array();
        for (const kernels::Pruned& one : done.removed)
            removed.push_back({{"what", one.what}, {"bytes", one.bytes}});
        const json value = {
            {"schema", "manometer.prune/1"}, {"removed", removed}, {"bytes_before", done.before},
            {"bytes_after", done.after},     {"kept", done.kept},  {"dry_run", options.dry_run}};
        MANO_TRY(print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
        return 0;
    }
    std::string text;
    for (const kernels::Pruned& one : done.removed)
        text += fmt::format("{}{}: {}\n", options.dry_run ? "would remove " : "removed ", one.what,
                            show_bytes(one.bytes));
    text += fmt::format("the cache {} {} of {}\n", options.dry_run ? "would keep" : "keeps",
                        show_bytes(done.after), show_bytes(done.before));
    for (const std::string& why : done.kept)
        text += "kept: " + why + "\n";
    MANO_TRY(print(printable(text)));
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
    auto* kernel =
        app.add_subcommand("kernel", "kernels known here: list, add, build, show, remove, prune");
    kernel->require_subcommand(1);
    kernel->footer(
        "\nSPEC: debian:7.3 (newest match), debian:7.3.4-rt (a flavour), source:7.3[+PATCH...] "
        "and\ntree:DIR[@REV][+PATCH...] (built here, with the lab configuration), a path to a "
        "bzImage\n[,modules=DIR][,config=FILE], or a name. `run` takes SPECs directly; a name "
        "only\nsaves typing.\n\nExit codes: 0; 1 no such kernel, a patch that doesn't fit, "
        "sources that don't compile;\n2 network, apt, build tools, or the cache.\n");
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

    verb = kernel->add_subcommand("build", "build a kernel from source and patches");
    verb->add_option("SPEC", options->spec,
                     "source:VERSION[+PATCH...] or tree:DIR[@REV][+PATCH...]")
        ->required();
    verb->add_option("VARIABLE", options->variables, "CC=PROGRAM: the compiler (default gcc)");
    verb->add_option("--config", options->configs,
                     "a configuration fragment of your own, merged last; may be repeated")
        ->type_name("FILE");
    verb->add_flag("--placebo{1}", options->placebo,
                   "the same kernel with a meaningless change of layout; =N gives others");
    verb->add_option("--name", options->name, "give it a name");
    verb->add_flag("--json", options->json, "as JSON");
    verb->footer(
        "\nThe lab configuration has what Manometer needs and little else, so the first build "
        "takes about\n10 minutes on 2 idle cores; one that differs by a patch takes a minute or "
        "less. A run builds\nwhat it needs by itself, so this is for doing it beforehand. Stopped "
        "by Ctrl-C it goes on the next\ntime. In a SPEC the options are written "
        ",rt ,numa ,debug ,config=FILE ,cc=PROGRAM ,placebo\n\nExamples:\n  manometer kernel build "
        "source:7.3\n  manometer kernel build source:7.3+../fix.patch\n  manometer kernel build "
        "tree:../linux@v7.3 --config my.config CC=clang-14\n  manometer run mthp-fault -k "
        "before=source:7.3 -k after=source:7.3+fix.patch\n");
    choose(verb, chosen, options, build);

    verb = kernel->add_subcommand("prune", "bound the space that the cache takes");
    verb->add_option("--to", options->to, "how much may stay (20GiB unless said)")
        ->type_name("SIZE");
    verb->add_flag("--dry-run", options->dry_run, "only say what would go");
    verb->add_flag("--json", options->json, "as JSON");
    verb->footer(
        "\nWhat was used longest ago goes first: source trees with their objects (they only save "
        "time), and\nkernels. Kernels with a name, or used within the last day, stay. After each "
        "build the cache is\nbounded to 20 GiB by itself.\n\nExample: manometer kernel prune --to "
        "5GiB\n");
    choose(verb, chosen, options, prune);

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
