// SPDX-License-Identifier: GPL-2.0-or-later
// remove: run sets that nobody needs any more.
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "store/store.h"

namespace mano::cli {
namespace {

struct Options {
    std::vector<std::string> runsets;
    std::string store;
};

// Elsewhere a name that several run sets have means the newest; what is removed is gone.
Status check_single(store::Store& store, const std::string& name) {
    MANO_ASSIGN(const std::vector<store::Summary> all, store.list());
    std::string ids;
    std::size_t count = 0;
    for (const store::Summary& each : all) {
        if (each.name != name) continue;
        ids += (count++ == 0 ? "" : ", ") + each.id;
    }
    if (count < 2) return {};
    return fail(Code::invalid, "'{}' names {} run sets: {}; give an id", name, count, ids);
}

Result<int> remove(const Options& options) {
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store)));
    // All names are looked up first: a mistyped one removes nothing.
    std::vector<std::string> ids;
    for (const std::string& reference : options.runsets) {
        if (reference == "last") {
            return fail(Code::invalid,
                        "remove takes no 'last': what is the newest may have changed since you "
                        "looked; expected an id or a name (manometer list)");
        }
        MANO_ASSIGN(std::string id, store.find(reference));
        MANO_TRY(check_single(store, reference));
        ids.push_back(std::move(id));
    }
    for (const std::string& id : ids) {
        MANO_TRY(store.remove(id));
        MANO_TRY(print("removed " + id + "\n"));
    }
    return 0;
}

}  // namespace

void add_remove(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("remove", "remove run sets from the store, for good");
    auto options = std::make_shared<Options>();
    verb->add_option("RUNSET", options->runsets, "id, beginning of an id, or name")->required();
    declare_store(*verb, options->store);
    verb->footer(
        "\nExample: manometer remove 20261130-154434\n\nExit codes: 0; 1 no such run set; "
        "2 the store can't be written.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return remove(*options); }; });
}

}  // namespace mano::cli
