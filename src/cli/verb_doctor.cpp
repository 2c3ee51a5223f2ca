// SPDX-License-Identifier: GPL-2.0-or-later
// doctor: what this machine can do, and the one line that mends what it can't. Changes nothing.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/checks.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/verb.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    std::string store;
    bool json = false;
};

json to_json(const std::vector<Check>& checks, bool ok) {
    json list = json::array();
    for (const Check& check : checks) {
        list.push_back({{"name", check.name},
                        {"found", check.found ? json(*check.found) : json(nullptr)},
                        {"required", check.required},
                        {"detail", check.detail},
                        {"mend", check.mend.empty() ? json(nullptr) : json(check.mend)}});
    }
    return {{"schema", "manometer.doctor/1"}, {"ok", ok}, {"checks", list}};
}

std::string to_text(const std::vector<Check>& checks, bool ok) {
    std::vector<std::vector<std::string>> rows;
    std::string mends;
    for (const Check& check : checks) {
        const std::string state = !check.found     ? "unknown"
                                  : *check.found   ? "found"
                                  : check.required ? "MISSING"
                                                   : "missing";
        rows.push_back({state, check.name, check.detail});
        if (check.found.value_or(true) || check.mend.empty()) continue;
        mends += fmt::format("{}{}: {}\n", check.name, check.required ? "" : " (not required)",
                             check.mend);
    }
    std::string text = columns(rows);
    if (!mends.empty()) text += "\nto mend:\n" + mends;
    text += ok ? "\nThis machine can run experiments.\n"
               : "\nThis machine can't run experiments yet: see MISSING above.\n";
    return printable(text);
}

Result<int> doctor(const Options& options) {
    const std::vector<Check> checks = check_machine(store_path(options.store));
    bool ok = true;
    for (const Check& check : checks)
        ok = ok && (!check.required || check.found.value_or(true));
    if (options.json) {
        MANO_TRY(
            print(to_json(checks, ok).dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    } else {
        MANO_TRY(print(to_text(checks, ok)));
    }
    return ok ? 0 : 2;
}

}  // namespace

void add_doctor(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("doctor", "what this machine can do, and how to mend the rest");
    auto options = std::make_shared<Options>();
    declare_store(*verb, options->store);
    verb->add_flag("--json", options->json, "as JSON");
    verb->footer(
        "\nLooks and changes nothing. Whether KVM works is known only after a first run has "
        "tried it:\nthere are machines where /dev/kvm opens and its guests never start.\n\n"
        "Exit codes: 0 experiments can be run; 2 something required is missing.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return doctor(*options); }; });
}

}  // namespace mano::cli
