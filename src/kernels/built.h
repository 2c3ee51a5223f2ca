// SPDX-License-Identifier: GPL-2.0-or-later
// Kernels that were built here, as the cache keeps them:
//
//   built/KEY/entry.json   what they were made of
//   built/KEY/config, symbols, modules/, devel/, patches/, build.log
//   built/KEY/extra/HASH/  modules of ours, built against it (module_build.cpp)
//
// KEY is the hash of source, patches, configuration and compiler. Knows nothing of how a kernel is
// built. Called by resolve_lab.cpp, lab_build.cpp, names.cpp and prune.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/cache.h"
#include "kernels/kernel.h"

namespace mano::kernels {

struct BuiltEntry {
    std::string key;
    std::string inputs;    // the same hash without the compiler
    std::string workshop;  // name of the folder under build/ where it was made
    std::string image_id;
    std::string spec;  // gives this very kernel again
    std::string release;
    std::string compiler;  // "gcc (Debian 12.2.0-14) 12.2.0, GNU ld …"
    std::string cc;        // the program: "gcc"
    std::string source;    // "linux-source-7.3 7.3.4-1", "v7.3-12-g0123… of ~/linux"
    std::map<std::string, std::string> packages;
    std::map<std::string, std::string> sha256;  // "config", "modules", "source", "patch 1: NAME" …
    std::vector<std::string> notes;
    std::uint64_t seconds = 0;  // of the build
    std::uint64_t objects = 0;  // compiled in it
    std::filesystem::path folder;
    std::optional<std::filesystem::path> config, modules, devel;
    std::filesystem::path symbols() const { return folder / "symbols"; }
};

// nullopt: not there, or damaged.
std::optional<BuiltEntry> built_entry(const Cache& cache, std::string_view key);
std::vector<BuiltEntry> all_built(const Cache& cache);
// Writes entry.json into `folder` and moves it into place.
Result<BuiltEntry> store_built(const Cache& cache, const std::filesystem::path& folder,
                               const BuiltEntry& entry);

// nullopt: its image is missing.
std::optional<Kernel> kernel_of(const Cache& cache, const BuiltEntry& entry);

// Says that an entry or a workshop is in use, for prune: the modification time of its folder.
void touch(const std::filesystem::path& folder);

}  // namespace mano::kernels
