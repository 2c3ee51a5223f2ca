// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/lab_spec.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

// In the order in which they are merged.
constexpr std::array<std::string_view, 3> kFragments = {"numa", "rt", "debug"};
constexpr unsigned kMaxPlacebo = 99;
constexpr std::string_view kExpected =
    "expected source:VERSION[+PATCH…] or tree:DIR[@REV][+PATCH…], then perhaps ,rt ,numa ,debug "
    ",config=FILE ,cc=PROGRAM ,placebo";

bool digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "1" of "7.3.4-1~bpo13+1", "deb13u1": what Debian puts behind a '+' in a version.
bool version_tail(std::string_view part) {
    if (digits(part)) return true;
    return part.starts_with("deb") && part.size() > 3 &&
           part.find_first_not_of("0123456789u~.", 3) == std::string_view::npos;
}

bool version_shaped(std::string_view text) {
    const auto fine = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '.' || c == '-' || c == '~' || c == '+';
    };
    return !text.empty() && text.size() < 64 && text.front() >= '0' && text.front() <= '9' &&
           text.find('.') != std::string_view::npos && text.back() != '.' &&
           std::all_of(text.begin(), text.end(), fine);
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> out;
    while (true) {
        const std::size_t at = text.find(separator);
        out.emplace_back(text.substr(0, at));
        if (at == std::string_view::npos) return out;
        text.remove_prefix(at + 1);
    }
}

// One ",OPTION". False: it is none.
Result<bool> take_option(std::string_view word, LabSpec& out, std::string_view spec) {
    if (std::find(kFragments.begin(), kFragments.end(), word) != kFragments.end()) {
        out.fragments.emplace_back(word);
        return true;
    }
    if (word == "placebo" || word.starts_with("placebo=")) {
        out.placebo = 1;
        const std::string_view number = word.size() > 8 ? word.substr(8) : "1";
        const auto end = number.data() + number.size();
        const auto [stop, error] = std::from_chars(number.data(), end, out.placebo);
        if (error != std::errc() || stop != end || out.placebo < 1 || out.placebo > kMaxPlacebo) {
            return fail(Code::invalid,
                        "'{}': '{}': expected placebo or placebo=N with N from 1 to {}", spec, word,
                        kMaxPlacebo);
        }
        return true;
    }
    for (const std::string_view key : {"config=", "cc="}) {
        if (!word.starts_with(key)) continue;
        const std::string_view value = word.substr(key.size());
        if (value.empty()) return fail(Code::invalid, "'{}': '{}' is empty", spec, key);
        if (key == "cc=") {
            out.compiler = value;
        } else {
            out.configs.insert(out.configs.begin(), fs::path(value));
        }
        return true;
    }
    return false;
}

// Takes the options off the end.
Result<std::string_view> take_options(std::string_view rest, LabSpec& out, std::string_view spec,
                                      const Exists& exists) {
    while (true) {
        const std::size_t comma = rest.rfind(',');
        if (comma == std::string_view::npos) break;
        MANO_ASSIGN(const bool taken, take_option(rest.substr(comma + 1), out, spec));
        if (!taken) {
            // A comma in a path.
            const std::size_t plus = rest.rfind('+');
            const std::string last(rest.substr(plus == std::string_view::npos ? 0 : plus + 1));
            if (exists.file(last) || exists.folder(last)) break;
            return fail(Code::invalid, "'{}': '{}' isn't known; {}", spec, rest.substr(comma + 1),
                        kExpected);
        }
        rest = rest.substr(0, comma);
    }
    std::vector<std::string> sorted;
    for (const std::string_view known : kFragments) {
        const auto count = std::count(out.fragments.begin(), out.fragments.end(), known);
        if (count > 1) return fail(Code::invalid, "'{}': '{}' is given twice", spec, known);
        if (count == 1) sorted.emplace_back(known);
    }
    out.fragments = std::move(sorted);
    return rest;
}

// The pieces between '+' as paths: a file may have a '+' in its name.
Result<std::vector<std::string>> take_patches(const std::vector<std::string>& pieces,
                                              std::string_view spec, const Exists& exists) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < pieces.size();) {
        if (pieces[at].empty()) {
            return fail(Code::invalid, "'{}': the path of a patch is missing behind a '+'", spec);
        }
        std::string path = pieces[at];
        std::size_t end = at + 1;
        if (!exists.file(path)) {
            std::string longer = path;
            for (std::size_t next = at + 1; next < pieces.size(); ++next) {
                longer += "+" + pieces[next];
                if (!exists.file(longer)) continue;
                path = longer;
                end = next + 1;
                break;
            }
        }
        out.push_back(path);
        at = end;
    }
    return out;
}

Status take_version(std::string_view rest, LabSpec& out, std::string_view spec,
                    const Exists& exists) {
    std::vector<std::string> pieces = split(rest, '+');
    out.version = pieces[0];
    std::size_t used = 1;
    while (used < pieces.size() && version_tail(pieces[used]) && !exists.file(pieces[used])) {
        out.version += "+" + pieces[used];
        ++used;
    }
    // Linux says 7.3-rc7, Debian 7.3~rc7.
    if (const std::size_t rc = out.version.find("-rc"); rc != std::string::npos) {
        out.version[rc] = '~';
    }
    if (!version_shaped(out.version) || out.version.find("-rc") != std::string::npos) {
        return fail(Code::invalid, "'{}': '{}' is no version such as 7.3 or 7.3.4; {}", spec,
                    out.version, kExpected);
    }
    for (const std::string_view flavour : kFragments) {
        if (out.version.ends_with(std::string("-") + std::string(flavour))) {
            return fail(Code::invalid, "'{}': write ',{}' in place of '-{}': source:7.3,{}", spec,
                        flavour, flavour, flavour);
        }
    }
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(used));
    MANO_ASSIGN(out.patches, take_patches(pieces, spec, exists));
    return {};
}

// DIR ends where a folder of that name is: it may have a '+' or '@' in it.
Status take_tree(std::string_view rest, LabSpec& out, std::string_view spec, const Exists& exists) {
    std::size_t end = std::string_view::npos;
    for (std::size_t at = 0; at <= rest.size(); ++at) {
        const bool boundary = at == rest.size() || rest[at] == '@' || rest[at] == '+';
        if (!boundary || at == 0) continue;
        if (end == std::string_view::npos) end = at;
        if (exists.folder(std::string(rest.substr(0, at)))) {
            end = at;
            break;
        }
    }
    if (end == std::string_view::npos || rest.empty()) {
        return fail(Code::invalid, "'{}': the folder of the git tree is missing; {}", spec,
                    kExpected);
    }
    out.tree = true;
    out.folder = fs::path(rest.substr(0, end));
    rest.remove_prefix(end);
    if (rest.starts_with('@')) {
        const std::size_t plus = std::min(rest.find('+'), rest.size());
        out.revision = rest.substr(1, plus - 1);
        rest.remove_prefix(plus);
        if (out.revision.empty() || out.revision.starts_with('-')) {
            return fail(Code::invalid, "'{}': '{}' is no revision such as v7.3 or a commit's id",
                        spec, out.revision);
        }
    }
    if (rest.empty()) return {};
    MANO_ASSIGN(out.patches, take_patches(split(rest.substr(1), '+'), spec, exists));
    return {};
}

}  // namespace

Exists exists_on_disk() {
    return {[](const std::string& path) {
                std::error_code error;
                return fs::exists(path, error) && !fs::is_directory(path, error);
            },
            [](const std::string& path) {
                std::error_code error;
                return fs::is_directory(path, error);
            }};
}

bool looks_like_lab_spec(std::string_view spec) {
    return spec.starts_with("source:") || spec.starts_with("tree:");
}

std::string LabSpec::text() const {
    std::string out = tree ? "tree:" + folder.string() + (revision == "HEAD" ? "" : "@" + revision)
                           : "source:" + version;
    for (const std::string& patch : patches)
        out += "+" + patch;
    for (const std::string& fragment : fragments)
        out += "," + fragment;
    for (const fs::path& config : configs)
        out += ",config=" + config.string();
    if (!compiler.empty()) out += ",cc=" + compiler;
    if (placebo == 1) out += ",placebo";
    if (placebo > 1) out += fmt::format(",placebo={}", placebo);
    return out;
}

Result<LabSpec> parse_lab_spec(std::string_view spec, const Exists& exists) {
    LabSpec out;
    std::string_view rest = spec;
    const bool tree = rest.starts_with("tree:");
    if (!looks_like_lab_spec(spec)) return fail(Code::invalid, "'{}': {}", spec, kExpected);
    rest.remove_prefix(tree ? 5 : 7);
    MANO_ASSIGN(rest, take_options(rest, out, spec, exists));
    if (tree) {
        MANO_TRY(take_tree(rest, out, spec, exists));
    } else {
        MANO_TRY(take_version(rest, out, spec, exists));
    }
    return out;
}

}  // namespace mano::kernels
