// SPDX-License-Identifier: GPL-2.0-or-later
// What a SPEC becomes: a kernel that can be booted, its modules, and where it came from. The guest
// substrate boots it, the store keeps its provenance. Knows nothing of experiments.
//
// Errors: invalid (the SPEC, or what a path leads to, with what was found there), not_found (no
// such file, name, version or module), environment (network, apt, a cache that is full or can't be
// written), interrupted (options.stop said so), corrupt (the cache's own files).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::kernels {

// Where a kernel came from. Unknown is empty or nullopt, never a guess.
struct Provenance {
    // As the user wrote it; for a name, the SPEC that it stands for.
    std::string spec;
    std::string release;   // "7.3.4+deb13-cloud-amd64" (uname -r)
    std::string banner;    // "Linux version …" out of the image
    std::string compiler;  // "gcc-14 (Debian 14.2.0-19) 14.2.0, GNU ld …"
    // Debian package → version.
    std::map<std::string, std::string> packages;
    // File ("bzImage", "config", "modules", a package's name) → hex. "modules" is over all of them.
    std::map<std::string, std::string> sha256;
    std::optional<std::string> config_sha256;  // nullopt: the kernel's config isn't to be had
    std::vector<std::string> notes;            // what is missing and why, a sentence each
    // A SPEC that gives this very kernel again, for a reproduce line and for going on with a run:
    // "debian:7.1.13-cloud" for "debian:7.1", a path made absolute.
    std::string exact_spec;
};

// A kernel ready to boot. Image and ELF always lie in the cache, so a kernel that is rebuilt while
// a run goes on doesn't change under it; modules and config of a path SPEC are the user's own.
struct Kernel {
    Provenance provenance;
    std::string id;                                // content address: sha256 of the image
    std::filesystem::path image;                   // bzImage as it came
    std::optional<std::filesystem::path> elf;      // vmlinux ELF out of the bzImage
    bool pvh = false;                              // the ELF carries the PVH entry note
    std::optional<std::filesystem::path> modules;  // folder with *.ko[.xz|.zst|.gz] below it
    std::optional<std::filesystem::path> config;   // its .config
    // Kernels built here: headers, scripts and Module.symvers, against which modules are built
    // (module_build.h).
    std::optional<std::filesystem::path> devel;
};

// Says what goes on ("downloading linux-binary-7.3.4+deb13-cloud-amd64", done/total in bytes, total
// 0 when unknown). May be empty.
using Progress =
    std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

// Where a build is.
struct Building {
    std::string_view what;       // "building source:7.3"
    std::string_view phase;      // "preparing", "compiling", "linking", "compressing"
    std::uint64_t done = 0;      // objects
    std::uint64_t expected = 0;  // 0: unknown
    double seconds_left = -1;    // < 0: unknown
};

struct Options {
    std::filesystem::path cache;  // cache_folder() unless a test says otherwise
    Progress progress;
    std::function<void(const Building&)> building;  // some times a second while a kernel is built
    std::function<bool()> stop;                     // true: give up with Code::interrupted
    bool offline = false;                           // use only what is cached
    // Where the machine's own apt sources are, which name the mirror; tests say otherwise.
    std::filesystem::path system_apt = "/etc/apt";
};

// SPEC → Kernel. "debian:VERSION[-FLAVOUR]", "source:VERSION[+PATCH…][,OPTION…]",
// "tree:DIR[@REV][+PATCH…][,OPTION…]" (see lab_spec.h), a path to a bzImage (optionally
// "PATH,modules=DIR,config=FILE"), or a name given with add(). A cached kernel needs no network.
// One that isn't built yet is built here, which takes minutes; offline: Code::environment.
Result<Kernel> resolve(std::string_view spec, const Options& options);

// Names → SPECs, as kept in the cache's names file.
struct Known {
    std::string name;  // empty: in the cache, but not named
    Kernel kernel;
    std::uint64_t bytes = 0;  // on disk
};
Result<std::vector<Known>> list(const Options& options);
Result<Kernel> add(std::string_view name, std::string_view spec, const Options& options);
Result<Known> show(std::string_view name_or_spec, const Options& options);
// Removes a name, or a cached kernel (by name, SPEC or id) with its files.
Status remove(std::string_view name_or_spec, const Options& options);

// One module file, decompressed, ready for finit_module.
struct Module {
    std::string name;  // "zram"
    std::string bytes;
};
// The named modules and all that they depend on (read from each module's .modinfo "depends="), in
// an order in which they can be loaded. A module that the kernel has built in (modules.builtin, or
// the config says =y) is left out. A module that is nowhere: Code::not_found, naming it.
Result<std::vector<Module>> modules_for(const Kernel& kernel,
                                        const std::vector<std::string>& names);

// Value of a config option without "CONFIG_" ("y", "m", "250", "n" when not set); nullopt when the
// kernel's config isn't known.
Result<std::optional<std::string>> config_value(const Kernel& kernel, std::string_view option);

}  // namespace mano::kernels
