// SPDX-License-Identifier: GPL-2.0-or-later
// A SPEC taken apart, and cache entries put together into Kernels. Called by resolve.cpp and
// names.cpp; others use kernel.h.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kernels/cache.h"
#include "kernels/debian.h"
#include "kernels/kernel.h"

namespace mano::kernels {

// "PATH[,modules=DIR][,config=FILE]".
struct PathSpec {
    std::filesystem::path image;
    std::optional<std::filesystem::path> modules;
    std::optional<std::filesystem::path> config;
    // With absolute paths, so that it means the same in every folder.
    std::string text() const;
};
Result<PathSpec> parse_path_spec(std::string_view spec);

Result<Kernel> resolve_debian(std::string_view spec, const Options& options);
Result<Kernel> resolve_lab(std::string_view spec, const Options& options);
Result<Kernel> resolve_path(std::string_view spec, const Options& options);

// The Kernel that a cached package or a bare cached image makes. nullopt: its image is missing.
std::optional<Kernel> kernel_of(const Cache& cache, const DebianEntry& entry);
Kernel kernel_of(const ImageEntry& entry);

// In Provenance::notes when options.offline kept a partial version from being looked up.
constexpr std::string_view kOfflineNote = "Offline: not checked for a newer kernel.";

// name → SPEC. An absent file has no names; a damaged one is Code::corrupt.
Result<std::map<std::string, std::string>> read_names(const Cache& cache);

}  // namespace mano::kernels
