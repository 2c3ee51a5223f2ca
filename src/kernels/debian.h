// SPDX-License-Identifier: GPL-2.0-or-later
// A list of Debian packages and "7.3-rt" → the packages that make up that kernel. Pure: knows
// nothing of files, apt or the network. Called by fetch.cpp (index) and cache.cpp (what is cached).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::kernels {

// Debian's order of versions (deb-version(7)): negative, 0, positive.
int compare_versions(std::string_view left, std::string_view right);

// "debian:VERSION[-FLAVOUR]" taken apart.
struct DebianSpec {
    std::string version;  // "7.1", "7.3.4", "6.1.0-50", "7.3.4+deb13"
    std::string flavour;  // "cloud", "rt" or "generic"
    // A full version ("7.3.4", a release name): a cached match can't be outdone by a newer one.
    bool exact() const;
};
// `spec` without or with "debian:". Code::invalid says what was expected.
Result<DebianSpec> parse_debian_spec(std::string_view spec);

struct Package {
    std::string name;
    std::string version;
    std::uint64_t size = 0;  // of the .deb, bytes
    std::string sha256;      // of the .deb, lower-case hex
};
// The paragraphs of a Packages file (or of `apt-cache show`). Paragraphs without name, version or a
// well-formed sha256 are left out, as they can't be fetched safely.
std::vector<Package> parse_packages(std::string_view text);
// Back to paragraphs, only with the fields above.
std::string show_packages(const std::vector<Package>& packages);

// One kernel in the list.
struct DebianKernel {
    std::string release;             // out of the package's name: "7.3.4+deb13-cloud-amd64"
    std::string flavour;             // "cloud", "rt", "generic"
    std::string upstream;            // "7.3.4", "7.3~rc7"
    bool candidate = false;          // a release candidate
    Package image;                   // linux-image-* or linux-binary-*
    std::optional<Package> modules;  // linux-modules-*, of the same version
    std::optional<Package> base;     // linux-base-* (config), of the same version
    // True when `image` holds modules and config itself.
    bool whole = false;
};

// All kernels for amd64 in the list, each once per version.
std::vector<DebianKernel> debian_kernels(const std::vector<Package>& packages);

// The newest that matches; releases before release candidates, and of one version the one with more
// parts. nullptr when none matches.
const DebianKernel* choose(const std::vector<DebianKernel>& kernels, const DebianSpec& wanted);
bool matches(const DebianSpec& wanted, std::string_view upstream, std::string_view release,
             std::string_view flavour);
// Is `left` the better answer to a SPEC that both match? By release/candidate, then by version.
bool newer(std::string_view left_version, std::string_view right_version);

// "6.1 6.12 7.1 7.3", the series that the list has in this flavour, for an error message.
std::string series_of(const std::vector<DebianKernel>& kernels, std::string_view flavour);

// "7.3.4-1~bpo13+1" → "7.3.4"; "7.3~rc7-1~exp1" → "7.3~rc7".
std::string upstream_of(std::string_view package_version);

}  // namespace mano::kernels
