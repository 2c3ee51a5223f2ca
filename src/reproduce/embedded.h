// SPDX-License-Identifier: GPL-2.0-or-later
// The texts of reproduce/*.c, put into the program at build time. Used by reproduce.cpp alone.
#pragma once

#include <span>

#include "base/embedded.h"

namespace mano::reproduce {

// Named "hold.c".
std::span<const Embedded> embedded_parts();

}  // namespace mano::reproduce
