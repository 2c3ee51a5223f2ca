// SPDX-License-Identifier: GPL-2.0-or-later
// What a verb of the command line is: it declares its options and, when it was given, runs. One
// file a verb (verb_NAME.cpp), all listed in the table of app.cpp. Composition only: what a verb
// does is in the folders that it calls.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
}

namespace mano::cli {

// What comes beside the options.
struct Call {
    std::vector<std::string> arguments;     // all words, as given, without the program's name
    std::vector<std::string> after_dashes;  // the words after "--"
    bool dashes = false;                    // there was a "--"
};

// Runs the verb. The number is the exit code; an Error becomes "manometer: message" and the code
// that belongs to Error::code.
using Action = std::function<Result<int>(const Call&)>;
// Where a verb (or sub-verb) puts its action when the command line names it.
using Chosen = std::shared_ptr<Action>;

// Each adds its verb to `app` with options, help and examples.
void add_aa(CLI::App& app, const Chosen& chosen);
void add_compare(CLI::App& app, const Chosen& chosen);
void add_doctor(CLI::App& app, const Chosen& chosen);
void add_experiments(CLI::App& app, const Chosen& chosen);
void add_describe(CLI::App& app, const Chosen& chosen);
void add_export(CLI::App& app, const Chosen& chosen);
void add_history(CLI::App& app, const Chosen& chosen);
void add_import(CLI::App& app, const Chosen& chosen);
void add_kernel(CLI::App& app, const Chosen& chosen);
void add_completion(CLI::App& app, const Chosen& chosen);
void add_list(CLI::App& app, const Chosen& chosen);
void add_man(CLI::App& app, const Chosen& chosen);
void add_plan(CLI::App& app, const Chosen& chosen);
void add_report(CLI::App& app, const Chosen& chosen);
void add_reproduce(CLI::App& app, const Chosen& chosen);
void add_remove(CLI::App& app, const Chosen& chosen);
void add_run(CLI::App& app, const Chosen& chosen);
void add_show(CLI::App& app, const Chosen& chosen);
void add_watch(CLI::App& app, const Chosen& chosen);
void add_why(CLI::App& app, const Chosen& chosen);

}  // namespace mano::cli
