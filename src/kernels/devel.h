// SPDX-License-Identifier: GPL-2.0-or-later
// A built kernel's tree and object folder → the small part of both against which modules are
// built: headers, make files, scripts, Module.symvers. It stays right when the tree goes on to the
// next patch, and needs neither any more. Called by lab_build.cpp.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace mano::kernels {

// Files of the source are linked, not copied (where the file system can): they cost no space as
// long as the tree is there, and are never written in place.
Status make_devel(const std::filesystem::path& tree, const std::filesystem::path& object,
                  const std::filesystem::path& into);

}  // namespace mano::kernels
