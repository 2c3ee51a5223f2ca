// SPDX-License-Identifier: GPL-2.0-or-later
// The texts of experiments/*.toml, put into the program at build time. Used by library.cpp alone.
#pragma once

#include <span>

#include "base/embedded.h"

namespace mano::experiment {

// Named "idle.toml".
std::span<const Embedded> embedded_experiments();

}  // namespace mano::experiment
