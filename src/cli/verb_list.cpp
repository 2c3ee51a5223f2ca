// SPDX-License-Identifier: GPL-2.0-or-later
// list: what the store holds, newest first.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "store/store.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string store;
    bool json = false;
};

std::string_view state_name(store::RunState state) {
    return state == store::RunState::complete ? "complete" : "partial";
}

json to_json(const std::vector<store::Summary>& runsets) {
    json list = json::array();
    for (const store::Summary& each : runsets) {
        list.push_back({{"id", each.id},
                        {"name", each.name},
                        {"experiment", each.experiment},
                        {"started", each.started},
                        {"state", state_name(each.state)},
                        {"arms", each.arms},
                        {"trials", each.trials},
                        {"planned", each.planned},
                        {"failed", each.failed},
                        {"spoiled", each.spoiled}});
    }
    return {{"schema", "manometer.list/1"}, {"runsets", list}};
}

std::string to_text(const std::vector<store::Summary>& runsets) {
    std::vector<std::vector<std::string>> rows{
        {"run set", "state", "trials", "failed", "spoiled", "arms", "name"}};
    for (const store::Summary& each : runsets) {
        std::string arms;
        for (const std::string& arm : each.arms)
            arms += (arms.empty() ? "" : ",") + arm;
        rows.push_back({each.id, std::string(state_name(each.state)),
                        fmt::format("{}/{}", each.trials, each.planned),
                        fmt::format("{}", each.failed), fmt::format("{}", each.spoiled), arms,
                        each.name});
    }
    return printable(columns(rows, {2, 3, 4}));
}

Result<int> list(const Options& options) {
    const auto path = store_path(options.store);
    auto store = store::Store::open(path, true);
    // The store that nobody has made yet is simply empty; a file that was asked for must be there.
    std::vector<store::Summary> runsets;
    if (store) {
        MANO_ASSIGN(runsets, store->list());
    } else if (store.error().code != Code::not_found || !options.store.empty()) {
        return tl::unexpected<Error>(store.error());
    }
    if (options.json) {
        MANO_TRY(
            print(to_json(runsets).dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    } else if (runsets.empty()) {
        MANO_TRY(
            print(fmt::format("{} holds no run set yet; manometer run idle -k debian:7.3 makes "
                              "one\n",
                              path.string())));
    } else {
        MANO_TRY(print(to_text(runsets)));
    }
    return 0;
}

}  // namespace

void add_list(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("list", "the run sets in the store, newest first");
    auto options = std::make_shared<Options>();
    declare_store(*verb, options->store);
    verb->add_flag("--json", options->json, "as JSON");
    verb->footer(
        "\nA run set is named elsewhere by its id, the beginning of one, its --name, or "
        "`last`.\n\nExit codes: 0; 2 the store can't be read.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return list(*options); }; });
}

}  // namespace mano::cli
