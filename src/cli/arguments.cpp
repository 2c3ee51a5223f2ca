// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "experiment/settings.h"
#include "measure/metric.h"

namespace mano::cli {
namespace {

constexpr std::size_t kMaxName = 64;

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '+' || c == '-';
}

bool is_plain_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxName && text.front() != '-' &&
           std::all_of(text.begin(), text.end(), is_name_char);
}

// "vm.swappiness", "10" → what the agent writes, by the same rules as an experiment's.
Result<plan::Setting> sysctl_setting(std::string_view name, std::string_view value) {
    plan::GuestShape shape;
    plan::TrialPlan trial;
    std::uint64_t wall = 0;
    std::uint32_t trials = 0;
    bool pairs = false;
    MANO_TRY(experiment::apply_setting({shape, trial, wall, trials, pairs},
                                       fmt::format("guest.sysctl.{}", name), value));
    if (trial.settings.empty()) return fail(Code::internal, "sysctl {} sets nothing", name);
    return trial.settings.front();
}

Status set_arm_key(plan::Arm& arm, std::string_view key, std::string_view value) {
    constexpr std::string_view kSysctl = "sysctl.";
    if (value.empty()) return fail(Code::invalid, "'{}=' has no value", key);
    if (key == "kernel") {
        arm.kernel_spec = value;
    } else if (key == "cmdline") {
        // One word of the kernel's command line, which is text that consoles and tables show.
        const bool plain =
            std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < '\x7f'; });
        if (!plain) {
            return fail(Code::invalid,
                        "'cmdline={}', expected a word of printable ASCII such as mitigations=off",
                        value);
        }
        arm.cmdline.emplace_back(value);
    } else if (key.starts_with(kSysctl)) {
        MANO_ASSIGN(plan::Setting setting, sysctl_setting(key.substr(kSysctl.size()), value));
        arm.settings.push_back(std::move(setting));
    } else if (key.starts_with("probe.")) {
        // What it means is known once the experiment is (make_plan).
        arm.params.push_back({std::string(key), std::string(value), 0});
    } else if (key == "thp") {
        const std::vector<std::string_view> choices{"always", "madvise", "never"};
        if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
            return fail(Code::invalid, "'thp={}', expected always, madvise or never", value);
        }
        arm.settings.push_back(
            {"/sys/kernel/mm/transparent_hugepage/enabled", std::string(value), true});
    } else if (key == "lru_gen") {
        if (value != "y" && value != "n") {
            return fail(Code::invalid, "'lru_gen={}', expected y or n", value);
        }
        arm.settings.push_back({"/sys/kernel/mm/lru_gen/enabled", std::string(value), true});
    } else {
        const std::vector<std::string_view> keys{"kernel",  "cmdline",        "thp",
                                                 "lru_gen", "sysctl.vm.NAME", "probe.NAME"};
        const std::string nearest = measure::nearest_name(key, keys);
        return fail(Code::invalid,
                    "'{}' is no key of an arm, expected kernel, cmdline, thp, lru_gen, "
                    "sysctl.NAME or probe.PARAMETER{}",
                    key, nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
    }
    return {};
}

}  // namespace

Result<plan::Arm> parse_live_arm(std::string_view text, std::string_view kernel_spec) {
    plan::Arm base;
    base.kernel_spec = kernel_spec;
    if (text.find('=') != std::string_view::npos) {
        MANO_ASSIGN(plan::Arm arm, parse_arm_option(text, base));
        return arm;
    }
    if (!is_plain_name(text)) {
        return fail(Code::invalid,
                    "--arm '{}': expected NAME, or NAME='KEY=VALUE ...' such as "
                    "calm='sysctl.vm.swappiness=10'",
                    text.substr(0, 100));
    }
    base.name = text;
    return base;
}

std::string arm_name_of(std::string_view spec) {
    constexpr std::string_view kDebian = "debian:";
    constexpr std::string_view kModel = "model:";
    constexpr std::string_view kLive = "live:";
    std::string_view part = spec;
    if (part.starts_with(kDebian)) {
        part.remove_prefix(kDebian.size());
    } else if (part.starts_with(kModel)) {
        part.remove_prefix(kModel.size());
    } else if (part.starts_with(kLive)) {
        part.remove_prefix(kLive.size());
    } else if (part.find('/') != std::string_view::npos) {
        for (const std::string_view option : {",modules=", ",config="})
            part = part.substr(0, part.find(option));
        part = part.substr(part.rfind('/') + 1);
    }
    std::string name;
    for (const char c : part.substr(0, kMaxName))
        name += is_name_char(c) ? c : '_';
    while (!name.empty() && name.front() == '-')
        name.erase(0, 1);
    return name.empty() ? "kernel" : name;
}

Result<plan::Arm> parse_kernel_option(std::string_view text) {
    plan::Arm arm;
    const std::size_t equals = text.find('=');
    const bool named = equals != std::string_view::npos && is_plain_name(text.substr(0, equals));
    arm.name = named ? std::string(text.substr(0, equals)) : std::string();
    arm.kernel_spec = named ? text.substr(equals + 1) : text;
    if (arm.kernel_spec.empty()) {
        return fail(Code::invalid,
                    "-k '{}': no kernel, expected [NAME=]SPEC such as old=debian:7.1", text);
    }
    if (!named) arm.name = arm_name_of(arm.kernel_spec);
    return arm;
}

Result<plan::Arm> parse_arm_option(std::string_view text, const std::optional<plan::Arm>& base) {
    constexpr std::string_view kForm =
        "expected NAME='KEY=VALUE …' such as calm='kernel=debian:7.3 sysctl.vm.swappiness=10'";
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_plain_name(text.substr(0, equals))) {
        return fail(Code::invalid, "--arm '{}': {}", text, kForm);
    }
    plan::Arm arm;
    arm.name = text.substr(0, equals);
    std::string_view rest = text.substr(equals + 1);
    std::set<std::string_view> given;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        const std::string_view word = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (word.empty()) continue;
        const std::size_t is = word.find('=');
        if (is == std::string_view::npos) {
            return fail(Code::invalid, "--arm {}: '{}' has no '=', {}", arm.name, word, kForm);
        }
        const std::string_view key = word.substr(0, is);
        if (key != "cmdline" && !given.insert(key).second) {
            return fail(Code::invalid, "--arm {}: {} is given twice, expected one value", arm.name,
                        key);
        }
        if (auto set = set_arm_key(arm, key, word.substr(is + 1)); !set) {
            return wrap(set.error(), "--arm {}", arm.name);
        }
    }
    if (arm.kernel_spec.empty() && base) arm.kernel_spec = base->kernel_spec;
    if (arm.kernel_spec.empty()) {
        return fail(Code::invalid,
                    "--arm {}: no kernel, expected kernel=SPEC, or a -k before it "
                    "whose kernel it shares",
                    arm.name);
    }
    return arm;
}

Result<std::uint64_t> parse_count(std::string_view option, std::string_view text,
                                  std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
        return fail(Code::invalid, "{} {}: expected a whole number from {} to {}", option, text,
                    least, most);
    }
    return value;
}

Result<std::map<std::string, std::string>> parse_settings(const std::vector<std::string>& texts) {
    std::map<std::string, std::string> settings;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(Code::invalid, "--set {}: expected PARAM=VALUE such as pressure.demand=95%",
                        text);
        }
        if (!settings.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
            return fail(Code::invalid, "--set {}: given twice, expected one value",
                        text.substr(0, equals));
        }
    }
    return settings;
}

Result<std::vector<std::string>> parse_list(std::string_view option, std::string_view text) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        if (end == at) {
            return fail(Code::invalid, "{} '{}': a part is empty, expected A,B,C", option, text);
        }
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

std::string quoted(std::string_view word) {
    const auto plain = [](char c) {
        return is_name_char(c) || std::string_view("/:=@%,").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
    std::string out = "'";
    for (const char c : word) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words)
        line += (line.empty() ? "" : " ") + quoted(word);
    return line;
}

std::string probe_command(const std::vector<std::string>& words) {
    return words.size() == 1 ? words.front() : shell_line(words);
}

}  // namespace mano::cli
