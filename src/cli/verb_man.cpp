// SPDX-License-Identifier: GPL-2.0-or-later
// man, completion: the help of the verbs as manual pages and as a shell's completion. Both are made
// from what the verbs declare, so they can't say something else than --help.
#include <algorithm>
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/verb.h"

namespace mano::cli {
namespace {

// The verbs of the program, or of a verb that has some.
std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
    std::vector<const CLI::App*> verbs;
    for (const CLI::App* verb : app.get_subcommands({}))
        verbs.push_back(verb);
    return verbs;
}

// Text of a manual page: what roff would take as a command of its own is plain.
std::string roff(std::string_view text) {
    std::string out;
    bool at_start = true;
    for (const char c : text) {
        if (at_start && (c == '.' || c == '\'')) out += "\\&";
        at_start = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

// One paragraph: descriptions are wrapped for the terminal.
std::string flat(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string option_names(const CLI::Option& option) {
    std::string text;
    for (const std::string& name : option.get_snames())
        text += (text.empty() ? "" : ", ") + ("\\fB" + roff("-" + name) + "\\fR");
    for (const std::string& name : option.get_lnames())
        text += (text.empty() ? "" : ", ") + ("\\fB" + roff("--" + name) + "\\fR");
    return text;
}

std::string options_page(const CLI::App& app) {
    std::string words;
    std::string options;
    for (const CLI::Option* option : app.get_options()) {
        const bool word = option->get_lnames().empty() && option->get_snames().empty();
        std::string head =
            word ? "\\fI" + roff(option->get_name(true)) + "\\fR" : option_names(*option);
        if (!word && option->get_items_expected_max() > 0) {
            head += " \\fI" +
                    roff(option->get_option_text().empty() ? "VALUE" : option->get_option_text()) +
                    "\\fR";
        }
        (word ? words : options) +=
            ".TP\n" + head + "\n" + roff(flat(option->get_description())) + "\n";
    }
    std::string text;
    if (!words.empty()) text += ".SH ARGUMENTS\n" + words;
    if (!options.empty()) text += ".SH OPTIONS\n" + options;
    return text;
}

// "manometer-kernel" of the verb `kernel`.
std::string page_name(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name()
                                       : page_name(*app.get_parent()) + "-" + app.get_name();
}

std::string page(const CLI::App& app) {
    const std::string name = page_name(app);
    std::string upper = name;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    std::string what = flat(app.get_description());
    if (app.get_parent() == nullptr) what = "what a kernel does under memory pressure";
    std::string text = fmt::format(".TH {} 1 \"\" \"manometer {}\" \"User Commands\"\n",
                                   roff(upper), MANO_VERSION);
    text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(what));
    std::string call = name;
    std::replace(call.begin(), call.end(), '-', ' ');
    text += ".SH SYNOPSIS\n.B " + call + "\n";
    const auto verbs = verbs_of(app);
    if (!verbs.empty()) text += ".I VERB\n";
    text += ".RI [ options ]\n";
    if (app.get_parent() == nullptr) text += ".SH DESCRIPTION\n" + roff(app.get_description());
    text += options_page(app);
    if (!verbs.empty()) text += ".SH VERBS\n";
    for (const CLI::App* verb : verbs) {
        text += ".TP\n\\fB" + roff(verb->get_name()) + "\\fR\n" +
                roff(flat(verb->get_description())) + "\n";
    }
    if (!app.get_footer().empty()) text += ".SH NOTES\n.nf\n" + roff(app.get_footer()) + "\n.fi\n";
    return text;
}

// Words that may follow a verb: its own verbs and its options.
std::string words_of(const CLI::App& app) {
    std::string words;
    for (const CLI::App* verb : verbs_of(app))
        words += (words.empty() ? "" : " ") + verb->get_name();
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            words += (words.empty() ? "" : " ") + ("--" + name);
        for (const std::string& name : option->get_snames())
            words += (words.empty() ? "" : " ") + ("-" + name);
    }
    return words;
}

// Names of experiments and of run sets are asked for when they are wanted.
std::string bash_completion(const CLI::App& root) {
    std::string cases;
    for (const CLI::App* verb : verbs_of(root))
        cases += fmt::format("        {}) words='{}' ;;\n", verb->get_name(), words_of(*verb));
    return "# Completion of manometer for bash (and zsh by bashcompinit).\n"
           "_manometer() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words=\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '" +
           words_of(root) +
           "' -- \"$word\")\n"
           "        return\n"
           "    fi\n"
           "    case $verb in\n" +
           cases +
           "    esac\n"
           "    if [ \"${word#-}\" = \"$word\" ]; then\n"
           "        case $verb in\n"
           "            run | plan | aa | describe | history)\n"
           "                words+=\" $(manometer experiments 2>/dev/null | awk 'NR > 1 { print $1 "
           "}')\"\n"
           "                ;;\n"
           "            show | compare | report | reproduce | remove)\n"
           "                words+=\" last $(manometer list 2>/dev/null | awk 'NR > 1 { print $1 "
           "}')\"\n"
           "                ;;\n"
           "        esac\n"
           "    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _manometer manometer\n";
}

// In single quotes for fish.
std::string fish_text(std::string_view text) {
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "'";
}

std::string fish_completion(const CLI::App& root) {
    std::string text = "# Completion of manometer for fish.\n";
    for (const CLI::App* verb : verbs_of(root)) {
        text += fmt::format("complete -c manometer -n __fish_use_subcommand -f -a {} -d {}\n",
                            verb->get_name(), fish_text(flat(verb->get_description())));
        for (const CLI::Option* option : verb->get_options()) {
            for (const std::string& name : option->get_lnames()) {
                text += fmt::format(
                    "complete -c manometer -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n",
                    verb->get_name(), name, option->get_items_expected_max() > 0 ? " -r" : "",
                    fish_text(flat(option->get_description())));
            }
        }
    }
    return text;
}

Result<std::string> completion(const CLI::App& root, const std::string& shell) {
    if (shell == "bash") return bash_completion(root);
    if (shell == "zsh") {
        return "#compdef manometer\nautoload -U +X bashcompinit && bashcompinit\n" +
               bash_completion(root);
    }
    if (shell == "fish") return fish_completion(root);
    return fail(Code::invalid, "completion {}: expected bash, zsh or fish", shell);
}

Result<std::string> manual(const CLI::App& root, const std::vector<std::string>& names) {
    const CLI::App* at = &root;
    for (const std::string& name : names) {
        const auto verbs = verbs_of(*at);
        const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const CLI::App* each) {
            return each->get_name() == name;
        });
        if (found == verbs.end()) {
            return fail(Code::not_found, "man: no verb '{}'; `manometer --help` lists them", name);
        }
        at = *found;
    }
    return page(*at);
}

// Every verb's page, and those of their verbs, as FOLDER/NAME.1.
Status write_pages(const CLI::App& app, const std::string& folder) {
    MANO_TRY(write_output(folder + "/" + page_name(app) + ".1", page(app)));
    for (const CLI::App* verb : verbs_of(app))
        MANO_TRY(write_pages(*verb, folder));
    return {};
}

struct ManOptions {
    std::vector<std::string> names;
    std::string folder;
};

Result<int> show_manual(const CLI::App& root, const ManOptions& options) {
    if (!options.folder.empty()) {
        MANO_TRY(write_pages(root, options.folder));
        return 0;
    }
    MANO_ASSIGN(const std::string text, manual(root, options.names));
    MANO_TRY(print(text));
    return 0;
}

}  // namespace

void add_man(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("man", "the manual page of the program or of a verb");
    auto options = std::make_shared<ManOptions>();
    verb->add_option("VERB", options->names, "whose page; without one, the program's");
    verb->add_option("-o,--output", options->folder, "all pages, as files in this folder");
    verb->footer(
        "\nExamples:\n  manometer man run | man -l -\n  manometer man kernel add | man -l -\n  "
        "manometer man -o ~/.local/share/man/man1\n\nExit codes: 0; 1 no such verb or folder.\n");
    verb->callback([options, chosen, root = &app] {
        *chosen = [options, root](const Call&) { return show_manual(*root, *options); };
    });
}

void add_completion(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("completion", "completion of the command line for a shell");
    auto shell = std::make_shared<std::string>();
    verb->add_option("SHELL", *shell, "bash, zsh or fish")->required();
    verb->footer(
        "\nExamples:\n  source <(manometer completion bash)\n  manometer completion fish > "
        "~/.config/fish/completions/manometer.fish\n\nExit codes: 0; 1 no such shell.\n");
    verb->callback([shell, chosen, root = &app] {
        *chosen = [shell, root](const Call&) -> Result<int> {
            MANO_ASSIGN(const std::string text, completion(*root, *shell));
            MANO_TRY(print(text));
            return 0;
        };
    });
}

}  // namespace mano::cli
