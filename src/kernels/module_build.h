// SPDX-License-Identifier: GPL-2.0-or-later
// Sources of a kernel module + a lab kernel → the .ko, built once and kept with that kernel. Knows
// nothing of what a module does. Called by whoever puts modules of ours into a guest; building
// kernels leaves what it needs in Kernel::devel.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"

namespace mano::kernels {

// What is compiled. `files` maps names without a '/' to texts and has a "Kbuild" with
// "obj-m := NAME.o" in it.
struct ModuleSource {
    std::string name;  // "aux_pmu": the build must leave aux_pmu.ko
    std::map<std::string, std::string> files;
};

// The module that ships with the program as kernel/modules/NAME/: all files of that folder.
// Code::not_found names those there are.
Result<ModuleSource> shipped_module(std::string_view name);

// Can modules be built against it? Only kernels that were built here (source:, tree:) can tell.
bool can_build_modules(const Kernel& kernel);

// The module for this kernel, ready for finit_module. The first call compiles it (some seconds,
// with the kernel's own compiler), later ones find it in the cache: the key is the kernel, the
// sources and the compiler. Two callers at once: the second waits. Errors: Code::environment (a
// kernel that wasn't built here, with the mend; a build tool is missing; the cache can't be
// written), Code::invalid (the compiler's first error, and where the log is), Code::interrupted.
Result<Module> build_module(const Kernel& kernel, const ModuleSource& source,
                            const Options& options);

}  // namespace mano::kernels
