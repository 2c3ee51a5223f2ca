// SPDX-License-Identifier: GPL-2.0-or-later
// A folder of module files → what is in it. The names are the files' own, with '-' as '_'. Called
// by modules.cpp's public functions (kernel.h) and by resolve*.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace mano::kernels {

// "lz4hc-compress.ko.xz" → "lz4hc_compress"; empty when it isn't a module's file name.
std::string module_name(std::string_view file);

// name → path of all modules below `folder`.
Result<std::map<std::string, std::filesystem::path>> find_modules(
    const std::filesystem::path& folder);

// One digest for all modules below `folder`: over each one's name and contents, in order of name.
Result<std::string> modules_digest(const std::filesystem::path& folder);

}  // namespace mano::kernels
