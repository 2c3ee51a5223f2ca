// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/app.h"

#include <algorithm>
#include <array>
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/verb.h"
#include "measure/metric.h"

namespace mano::cli {
namespace {

constexpr std::size_t kHelpColumn = 26;

struct Verb {
    std::string_view name;
    void (*add)(CLI::App&, const Chosen&);
};

// Every verb of the program, in the order in which a newcomer needs them.
constexpr std::array kVerbs{
    Verb{"doctor", add_doctor},     Verb{"experiments", add_experiments},
    Verb{"describe", add_describe}, Verb{"kernel", add_kernel},
    Verb{"plan", add_plan},         Verb{"run", add_run},
    Verb{"list", add_list},         Verb{"show", add_show},
    Verb{"compare", add_compare},   Verb{"why", add_why},
    Verb{"watch", add_watch},       Verb{"aa", add_aa},
    Verb{"export", add_export},     Verb{"import", add_import},
    Verb{"report", add_report},     Verb{"history", add_history},
    Verb{"remove", add_remove},     Verb{"reproduce", add_reproduce},
    Verb{"man", add_man},           Verb{"completion", add_completion},
};

constexpr std::string_view kAbout =
    "Measures what a kernel does under memory pressure, and what a change to the\n"
    "kernel does to that: boots both kernels in throwaway guests, repeats, and\n"
    "prints a table with a verdict.\n";

constexpr std::string_view kFooter =
    "First steps:\n"
    "  manometer doctor                               what this machine can do\n"
    "  manometer run idle -k 7.3=debian:7.3 --trials 2         a kernel, a guest, a table\n"
    "  manometer run shm-churn -k 7.1=debian:7.1 -k 7.3=debian:7.3 --exact\n"
    "\n`manometer VERB --help` explains a verb, with examples.\n"
    "\nExit codes: 0 done, no regression; 1 usage or invalid input; 2 this machine lacks\n"
    "something; 3 no answer (spoiled, too few, not comparable); 4 regression found;\n"
    "130 stopped by Ctrl-C (128 plus the signal).\n";

std::vector<std::string_view> verb_names() {
    std::vector<std::string_view> names;
    names.reserve(std::size(kVerbs));
    for (const Verb& verb : kVerbs)
        names.push_back(verb.name);
    return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    const std::string near = measure::nearest_name(word, names);
    return near.empty() ? "" : "; did you mean '" + near + "'?";
}

// Words before and after "--".
Call split(std::vector<std::string> words) {
    Call call;
    const auto dashes = std::find(words.begin(), words.end(), "--");
    call.dashes = dashes != words.end();
    if (call.dashes) call.after_dashes.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
    call.arguments = std::move(words);
    return call;
}

// "help kernel add" → "kernel add --help"; "help" → "--help".
void rewrite_help(std::vector<std::string>& words) {
    if (words.empty() || words.front() != "help") return;
    words.erase(words.begin());
    words.emplace_back("--help");
}

// The innermost verb that the words have named so far.
CLI::App& innermost(CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? app : innermost(*chosen.front());
}

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

std::vector<std::string> sub_verb_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands({}))
        names.push_back(sub->get_name());
    return names;
}

// "kernel add", "run"; "" for the program itself.
std::string full_name(const CLI::App& verb) {
    const CLI::App* parent = verb.get_parent();
    if (parent == nullptr) return "";
    const std::string before = full_name(*parent);
    return before.empty() ? verb.get_name() : before + " " + verb.get_name();
}

// The library's exceptions in our words.
std::string usage_message(CLI::App& app, const CLI::ParseError& error) {
    CLI::App& verb = innermost(app);
    const std::string where = &verb == &app ? "" : full_name(verb) + ": ";
    const std::vector<std::string> extra = app.remaining(true);
    if (!extra.empty()) {
        const std::string word = extra.front().substr(0, extra.front().find('='));
        if (word.starts_with("-")) {
            return fmt::format("{}no option {}{}", where, word,
                               did_you_mean(word, option_names(verb)));
        }
        const auto subs = sub_verb_names(verb);
        if (!subs.empty()) {
            return fmt::format("{}no '{}' here{}", where, word, did_you_mean(word, subs));
        }
        return fmt::format("{}'{}' wasn't expected here", where, extra.front());
    }
    const auto subs = sub_verb_names(verb);
    if (!subs.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        std::string names;
        for (const std::string& name : subs)
            names += (names.empty() ? "" : ", ") + name;
        return fmt::format("{}expected one of {}", where, names);
    }
    const std::string text = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        std::string option = text.substr(0, text.find_first_of(": "));
        if (!option.starts_with("-")) option.insert(0, "--");
        if (text.find("missing") != std::string::npos) return where + option + " needs a value";
        if (text.find("override") != std::string::npos) return where + option + " takes no value";
        return where + option + " is given more than once";
    }
    return where + text;
}

int refuse(const std::string& message, std::string_view verb) {
    complain({Code::invalid, message, nullptr});
    print_error(
        fmt::format("try: manometer {}--help\n", verb.empty() ? "" : std::string(verb) + " "));
    return 1;
}

int finish(const Result<int>& result) {
    if (result) return *result;
    complain(result.error());
    return exit_code_of(result.error());
}

struct Shown {
    std::string_view option;
    std::string_view value;
};
// What an option takes, in the help. Options that aren't listed take nothing.
constexpr std::array kShown{
    Shown{"kernel", "[NAME=]SPEC"},
    Shown{"arm", "NAME='...'"},
    Shown{"trials", "N"},
    Shown{"iterations", "N"},
    Shown{"until", "PCT"},
    Shown{"max-trials", "N"},
    Shown{"of", "RUNSET"},
    Shown{"cases", "A,B"},
    Shown{"set", "PARAM=VALUE"},
    Shown{"seed", "N"},
    Shown{"seeds", "HOW"},
    Shown{"accel", "WHICH"},
    Shown{"substrate", "WHERE"},
    Shown{"timeout", "TIME"},
    Shown{"add", "FILE"},
    Shown{"jobs", "N"},
    Shown{"store", "FILE"},
    Shown{"name", "NAME"},
    Shown{"resume", "RUNSET"},
    Shown{"format", "FORMAT"},
    Shown{"trial", "N"},
    Shown{"base", "ARM"},
    Shown{"arms", "A,B"},
    Shown{"metric", "GLOB"},
    Shown{"output", "FILE"},
    Shown{"experiment", "NAME"},
    Shown{"interval", "TIME"},
    Shown{"count", "N"},
};

void show_value(CLI::Option& option) {
    if (option.get_lnames().empty()) {
        option.type_name("");
        return;
    }
    const std::string& name = option.get_lnames().front();
    for (const Shown& shown : kShown) {
        if (shown.option != name) continue;
        option.option_text(std::string(shown.value) + (option.get_required() ? " (needed)" : ""));
    }
}

// The library prints descriptions as they are: they get their line ends here.
void wrap_descriptions(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        std::string text = fill(option->get_description(), kHelpColumn);
        show_value(*option);
        // `--json=3` is a slip, not a yes.
        if (option->get_expected_max() == 0) option->disable_flag_override();
        if (text.size() <= kHelpColumn) continue;
        // Indented by the library; the last line end is its own.
        std::string lines;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            lines += (at == 0 ? "" : "\n") + text.substr(at + kHelpColumn, end - at - kHelpColumn);
            at = end + 1;
        }
        option->description(lines);
    }
    for (CLI::App* sub : app.get_subcommands({})) {
        sub->group("Verbs");
        wrap_descriptions(*sub);
    }
}

int printed(const std::string& text) {
    const Status done = print(text);
    if (!done) complain(done.error());
    return done ? 0 : exit_code_of(done.error());
}

int parse_and_run(std::vector<std::string> words) {
    rewrite_help(words);
    const Call call = split(std::move(words));
    CLI::App app{std::string(kAbout), "manometer"};
    app.set_help_flag("-h,--help", "this text, or that of a verb");
    app.set_version_flag("--version", std::string("manometer ") + MANO_VERSION,
                         "the program's version");
    app.footer(std::string(kFooter));
    app.get_formatter()->label("REQUIRED", "");
    app.get_formatter()->label("SUBCOMMAND", "VERB ...");
    app.get_formatter()->label("Positionals", "Words");
    app.get_formatter()->column_width(kHelpColumn);
    app.require_subcommand(1);
    const Chosen chosen = std::make_shared<Action>();
    for (const Verb& verb : kVerbs)
        verb.add(app, chosen);
    wrap_descriptions(app);
    if (call.arguments.empty()) {
        print_error(app.help());
        return 1;
    }
    const std::string& first = call.arguments.front();
    const auto names = verb_names();
    if (!first.starts_with("-") && std::find(names.begin(), names.end(), first) == names.end()) {
        return refuse(
            fmt::format("no verb '{}'{}", first, did_you_mean(first, {names.begin(), names.end()})),
            "");
    }
    try {
        std::vector<std::string> reversed(call.arguments.rbegin(), call.arguments.rend());
        app.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        return printed(app.help());
    } catch (const CLI::CallForVersion& version) {
        return printed(std::string(version.what()) + "\n");
    } catch (const CLI::ParseError& error) {
        return refuse(usage_message(app, error), full_name(innermost(app)));
    }
    if (call.dashes && first != "run" && first != "plan" && first != "aa") {
        return refuse(fmt::format("{}: nothing is expected after --", first), first);
    }
    return finish((*chosen)(call));
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments) {
    try {
        return parse_and_run(arguments);
    } catch (const std::exception& error) {
        complain(
            {Code::internal, fmt::format("a fault of manometer's own: {}", error.what()), nullptr});
        return 3;
    }
}

}  // namespace mano::cli
