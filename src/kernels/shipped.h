// SPDX-License-Identifier: GPL-2.0-or-later
// What kernels are built with, out of the source tree's kernel/ folder and put into the program at
// build time: config/*.config, patches/*.patch, modules/NAME/*.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.h"

namespace mano::kernels {

// Named by their paths below kernel/: "config/base.config".
std::span<const Embedded> shipped_files();

// nullopt: there is none of that name.
std::optional<std::string_view> shipped_file(std::string_view path);
// Names of the shipped files in `folder` ("patches"), without the folder.
std::vector<std::string> shipped_names(std::string_view folder);

}  // namespace mano::kernels
