// SPDX-License-Identifier: GPL-2.0-or-later
// Fragments and finished configurations. What Kconfig files say is in kconfig_read.cpp.
#include "kernels/kconfig.h"

#include <algorithm>
#include <charconv>

namespace mano::kernels {

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

bool option_char(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool option_name(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), option_char);
}

bool number(std::string_view value) {
    const bool hex = value.starts_with("0x") || value.starts_with("0X");
    if (hex) value.remove_prefix(2);
    if (!hex && value.starts_with('-')) value.remove_prefix(1);
    return !value.empty() && value.find_first_not_of(hex ? "0123456789abcdefABCDEF"
                                                         : "0123456789") == std::string_view::npos;
}

bool value_shaped(std::string_view value) {
    if (value == "y" || value == "m" || value == "n" || number(value)) return true;
    return value.size() >= 2 && value.front() == '"' && value.back() == '"';
}

template <typename Each>
void each_line(std::string_view text, const Each& each) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        each(trimmed(text.substr(at, end - at)));
        at = end + 1;
    }
}

// "# CONFIG_X is not set" → "X".
std::optional<std::string_view> not_set(std::string_view line) {
    constexpr std::string_view kTail = " is not set";
    if (!line.starts_with("# CONFIG_") || !line.ends_with(kTail)) return std::nullopt;
    return line.substr(9, line.size() - 9 - kTail.size());
}

// Do the lines behind "#@ …" hold for this kernel?
Result<bool> condition(std::string_view line, Series kernel, std::string_view where) {
    const std::string_view rest = trimmed(line.substr(2));
    if (rest == "all") return true;
    const std::size_t space = rest.find(' ');
    const std::string_view word = rest.substr(0, space);
    const auto series =
        space == std::string_view::npos ? std::nullopt : parse_series(trimmed(rest.substr(space)));
    if (series && word == "from") return kernel >= *series;
    if (series && word == "before") return kernel < *series;
    return fail(Code::invalid, "{}: '{}': expected '#@ from 6.12', '#@ before 6.12' or '#@ all'",
                where, line);
}

}  // namespace

std::optional<Series> parse_series(std::string_view text) {
    Series out;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, out.version);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, out.patchlevel);
    if (second.ec != std::errc()) return std::nullopt;
    return out;
}

Result<std::vector<Setting>> parse_fragment(std::string_view text, std::string_view name,
                                            Series kernel) {
    std::vector<Setting> out;
    bool holds = true;
    std::size_t number = 0;
    std::optional<Error> error;
    each_line(text, [&](std::string_view line) {
        ++number;
        if (error) return;
        const std::string where = fmt::format("{}:{}", name, number);
        if (line.starts_with("#@")) {
            const auto now = condition(line, kernel, where);
            if (now) {
                holds = *now;
            } else {
                error = now.error();
            }
            return;
        }
        if (const auto option = not_set(line); option && option_name(*option)) {
            if (holds) out.push_back({std::string(*option), "n", where});
            return;
        }
        if (line.empty() || line.front() == '#') return;
        const std::size_t equals = line.find('=');
        const std::string_view left = trimmed(line.substr(0, equals));
        const std::string_view value =
            equals == std::string_view::npos ? "" : trimmed(line.substr(equals + 1));
        if (!left.starts_with("CONFIG_") || !option_name(left.substr(7)) || !value_shaped(value)) {
            error = Error{Code::invalid,
                          fmt::format("{}: '{}': expected a line like CONFIG_PSI=y, CONFIG_HZ=250, "
                                      "CONFIG_NAME=\"text\" or # CONFIG_PSI is not set",
                                      where, line.substr(0, 200)),
                          nullptr};
            return;
        }
        if (holds) out.push_back({std::string(left.substr(7)), std::string(value), where});
    });
    if (error) return tl::unexpected<Error>(*error);
    return out;
}

Merged merge_settings(const std::vector<std::vector<Setting>>& fragments) {
    std::map<std::string, Setting> wanted;
    Merged out;
    for (const auto& fragment : fragments) {
        for (const Setting& setting : fragment) {
            const auto [at, fresh] = wanted.emplace(setting.option, setting);
            if (fresh) continue;
            if (at->second.value != setting.value) {
                out.notes.push_back(fmt::format("{}: CONFIG_{}={} in place of {} ({}).",
                                                setting.where, setting.option, setting.value,
                                                at->second.value, at->second.where));
            }
            at->second = setting;
        }
    }
    for (auto& [option, setting] : wanted)
        out.settings.push_back(std::move(setting));
    return out;
}

std::string settings_text(const std::vector<Setting>& settings) {
    std::string out;
    for (const Setting& setting : settings) {
        out += setting.value == "n" ? fmt::format("# CONFIG_{} is not set\n", setting.option)
                                    : fmt::format("CONFIG_{}={}\n", setting.option, setting.value);
    }
    return out;
}

Config parse_config(std::string_view text) {
    Config out;
    each_line(text, [&](std::string_view line) {
        if (const auto option = not_set(line)) {
            out[std::string(*option)] = "n";
            return;
        }
        const std::size_t equals = line.find('=');
        if (!line.starts_with("CONFIG_") || equals == std::string_view::npos) return;
        out[std::string(line.substr(7, equals - 7))] = line.substr(equals + 1);
    });
    return out;
}

std::vector<std::string> unmet_settings(const std::vector<Setting>& settings, const Config& config,
                                        const Kconfig& kconfig) {
    std::vector<std::string> out;
    for (const Setting& setting : settings) {
        const auto found = config.find(setting.option);
        const std::string got = found == config.end() ? "n" : found->second;
        // "Off" for an option that doesn't exist is a typo, too.
        if (got == setting.value && (got != "n" || kconfig.has(setting.option))) continue;
        out.push_back(fmt::format("{}: CONFIG_{}={} became {}: {}", setting.where, setting.option,
                                  setting.value, got, kconfig.explain(setting, config)));
    }
    return out;
}

}  // namespace mano::kernels
