// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/debian.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

namespace mano::kernels {

namespace {

bool digit(char c) {
    return c >= '0' && c <= '9';
}
bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Weight of a character in the non-digit parts: '~' before the end, the end before letters, letters
// before all else.
int weight(std::string_view text, std::size_t at) {
    if (at >= text.size() || digit(text[at])) return 0;
    if (text[at] == '~') return -1;
    if (letter(text[at])) return static_cast<unsigned char>(text[at]);
    return static_cast<unsigned char>(text[at]) + 256;
}

// Upstream part or revision, by alternating non-digit and digit parts.
int compare_part(std::string_view left, std::string_view right) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < left.size() || j < right.size()) {
        while ((i < left.size() && !digit(left[i])) || (j < right.size() && !digit(right[j]))) {
            const int difference = weight(left, i) - weight(right, j);
            if (difference != 0) return difference;
            ++i;
            ++j;
        }
        while (i < left.size() && left[i] == '0')
            ++i;
        while (j < right.size() && right[j] == '0')
            ++j;
        const std::size_t i_start = i;
        const std::size_t j_start = j;
        while (i < left.size() && digit(left[i]))
            ++i;
        while (j < right.size() && digit(right[j]))
            ++j;
        const std::string_view a = left.substr(i_start, i - i_start);
        const std::string_view b = right.substr(j_start, j - j_start);
        if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
        if (const int order = a.compare(b); order != 0) return order;
    }
    return 0;
}

struct Split {
    std::string_view epoch = "0";
    std::string_view upstream;
    std::string_view revision;
};

Split split(std::string_view version) {
    Split out;
    if (const std::size_t colon = version.find(':'); colon != std::string_view::npos) {
        out.epoch = version.substr(0, colon);
        version.remove_prefix(colon + 1);
    }
    const std::size_t dash = version.rfind('-');
    out.upstream = version.substr(0, dash);
    if (dash != std::string_view::npos) out.revision = version.substr(dash + 1);
    return out;
}

constexpr std::array<std::string_view, 3> kFlavours = {"cloud", "rt", "generic"};

}  // namespace

int compare_versions(std::string_view left, std::string_view right) {
    const Split a = split(left);
    const Split b = split(right);
    if (const int order = compare_part(a.epoch, b.epoch); order != 0) return order;
    if (const int order = compare_part(a.upstream, b.upstream); order != 0) return order;
    return compare_part(a.revision, b.revision);
}

std::string upstream_of(std::string_view package_version) {
    return std::string(split(package_version).upstream);
}

bool DebianSpec::exact() const {
    // A Debian revision in it ("6.1.0-50", "+deb13"), or three numbers.
    return version.find_first_of("+-~") != std::string::npos ||
           std::count(version.begin(), version.end(), '.') >= 2;
}

Result<DebianSpec> parse_debian_spec(std::string_view spec) {
    std::string_view rest = spec;
    if (rest.starts_with("debian:")) rest.remove_prefix(7);
    DebianSpec out;
    out.flavour = "cloud";
    if (rest.ends_with("-amd64")) rest.remove_suffix(6);
    for (const std::string_view flavour : kFlavours) {
        if (rest.size() > flavour.size() && rest.ends_with(flavour) &&
            rest[rest.size() - flavour.size() - 1] == '-') {
            out.flavour = flavour;
            rest.remove_suffix(flavour.size() + 1);
            break;
        }
    }
    out.version = rest;
    const bool plain =
        !rest.empty() && digit(rest.front()) && rest.back() != '.' &&
        rest.find('.') != std::string_view::npos && rest.size() < 64 &&
        std::all_of(rest.begin(), rest.end(), [](char c) {
            return digit(c) || letter(c) || c == '.' || c == '+' || c == '-' || c == '~';
        });
    if (!plain) {
        return fail(
            Code::invalid,
            "'{}': expected debian:VERSION or debian:VERSION-FLAVOUR with a version such as "
            "7.1 or 7.3.4 and the flavour cloud, rt or generic",
            spec);
    }
    // A letter behind a dash that isn't a release candidate is a flavour that doesn't exist.
    const std::size_t dash = rest.rfind('-');
    if (dash != std::string_view::npos && dash + 1 < rest.size() && letter(rest[dash + 1]) &&
        !rest.substr(dash + 1).starts_with("rc")) {
        return fail(Code::invalid,
                    "'{}': there is no flavour '{}'; known are cloud, rt and generic", spec,
                    rest.substr(dash + 1));
    }
    // Linux says 7.3-rc7, Debian 7.3~rc7.
    if (dash != std::string_view::npos && rest.substr(dash + 1).starts_with("rc")) {
        out.version[dash] = '~';
    }
    return out;
}

namespace {

bool sha256_shaped(std::string_view text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
               return digit(c) || (c >= 'a' && c <= 'f');
           });
}

// Package names and versions end up in file names and arguments of apt-get.
bool name_shaped(std::string_view text) {
    return !text.empty() && text.size() < 200 && text.front() != '-' && text.front() != '.' &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return digit(c) || letter(c) || c == '.' || c == '+' || c == '-' || c == '~' ||
                      c == ':';
           });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

}  // namespace

std::vector<Package> parse_packages(std::string_view text) {
    std::vector<Package> out;
    Package current;
    const auto finish = [&] {
        if (name_shaped(current.name) && name_shaped(current.version) &&
            sha256_shaped(current.sha256)) {
            out.push_back(current);
        }
        current = {};
    };
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (trimmed(line).empty()) {
            finish();
            continue;
        }
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || line.front() == ' ') continue;
        const std::string_view key = line.substr(0, colon);
        const std::string_view value = trimmed(line.substr(colon + 1));
        if (key == "Package") current.name = value;
        if (key == "Version") current.version = value;
        if (key == "SHA256") current.sha256 = value;
        if (key == "Size") std::from_chars(value.data(), value.data() + value.size(), current.size);
    }
    finish();
    return out;
}

std::string show_packages(const std::vector<Package>& packages) {
    std::string out;
    for (const Package& one : packages) {
        out += fmt::format("Package: {}\nVersion: {}\nSize: {}\nSHA256: {}\n\n", one.name,
                           one.version, one.size, one.sha256);
    }
    return out;
}

namespace {

// "linux-binary-7.3.4+deb13-cloud-amd64" with "linux-binary-" → its release; nullopt for packages
// that aren't one kernel's for amd64.
std::optional<std::string_view> release_in(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    if (name.empty() || !digit(name.front()) || !name.ends_with("-amd64")) return std::nullopt;
    return name;
}

std::string flavour_of(std::string_view release) {
    release.remove_suffix(6);  // "-amd64"
    if (release.ends_with("-cloud")) return "cloud";
    if (release.ends_with("-rt")) return "rt";
    return "generic";
}

bool is_candidate(std::string_view upstream) {
    return upstream.find("~rc") != std::string_view::npos;
}

// From some size on a linux-image package is the kernel itself, below it a meta package of 2 kB.
constexpr std::uint64_t kMetaPackage = std::uint64_t{1} << 20;

}  // namespace

std::vector<DebianKernel> debian_kernels(const std::vector<Package>& packages) {
    std::map<std::pair<std::string_view, std::string_view>, const Package*> known;
    for (const Package& one : packages)
        known[{one.name, one.version}] = &one;
    std::vector<DebianKernel> out;
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (const Package& one : packages) {
        auto release = release_in(one.name, "linux-image-");
        const bool whole = release.has_value();
        if (whole && one.size < kMetaPackage) continue;
        if (!whole) release = release_in(one.name, "linux-binary-");
        if (!release || !seen.insert({one.name, one.version}).second) continue;
        DebianKernel kernel;
        kernel.release = *release;
        kernel.flavour = flavour_of(*release);
        kernel.upstream = upstream_of(one.version);
        kernel.candidate = is_candidate(kernel.upstream);
        kernel.image = one;
        kernel.whole = whole;
        const auto companion = [&](std::string_view prefix) -> std::optional<Package> {
            const std::string name = std::string(prefix) + kernel.release;
            const auto found = known.find({name, one.version});
            return found == known.end() ? std::nullopt : std::optional<Package>(*found->second);
        };
        if (!whole) {
            kernel.modules = companion("linux-modules-");
            kernel.base = companion("linux-base-");
        }
        out.push_back(std::move(kernel));
    }
    return out;
}

namespace {

// "7.1" matches 7.1 and 7.1.3, not 7.13.
bool dotted_prefix(std::string_view wanted, std::string_view version) {
    if (!version.starts_with(wanted)) return false;
    return version.size() == wanted.size() || !digit(version[wanted.size()]);
}

}  // namespace

bool matches(const DebianSpec& wanted, std::string_view upstream, std::string_view release,
             std::string_view flavour) {
    if (wanted.flavour != flavour) return false;
    return dotted_prefix(wanted.version, upstream) || dotted_prefix(wanted.version, release);
}

bool newer(std::string_view left_version, std::string_view right_version) {
    const bool left_candidate = is_candidate(upstream_of(left_version));
    const bool right_candidate = is_candidate(upstream_of(right_version));
    if (left_candidate != right_candidate) return right_candidate;
    return compare_versions(left_version, right_version) > 0;
}

const DebianKernel* choose(const std::vector<DebianKernel>& kernels, const DebianSpec& wanted) {
    const DebianKernel* best = nullptr;
    const auto parts = [](const DebianKernel& one) {
        return one.whole ? 2 : int{one.modules.has_value()} + int{one.base.has_value()};
    };
    for (const DebianKernel& one : kernels) {
        if (!matches(wanted, one.upstream, one.release, one.flavour)) continue;
        if (best == nullptr) {
            best = &one;
            continue;
        }
        const bool same = one.upstream == best->upstream;
        // The same kernel rebuilt for another suite: the one that is all there serves better.
        if (same && parts(one) != parts(*best)) {
            if (parts(one) > parts(*best)) best = &one;
            continue;
        }
        if (newer(one.image.version, best->image.version)) best = &one;
    }
    return best;
}

std::string series_of(const std::vector<DebianKernel>& kernels, std::string_view flavour) {
    const auto less = [](const std::string& a, const std::string& b) {
        return compare_versions(a, b) < 0;
    };
    std::set<std::string, decltype(less)> series(less);
    for (const DebianKernel& one : kernels) {
        if (one.flavour != flavour) continue;
        const std::size_t dot = one.upstream.find('.');
        if (dot == std::string::npos) continue;
        series.insert(one.upstream.substr(0, one.upstream.find_first_of(".~", dot + 1)));
    }
    std::string out;
    for (const std::string& one : series)
        out += (out.empty() ? "" : " ") + one;
    return out;
}

}  // namespace mano::kernels
