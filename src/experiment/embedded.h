// SPDX-License-Identifier: GPL-2.0-or-later
// The texts of experiments/*.toml, put into the program at build time (embed.cmake writes the
// definition). Used by library.cpp alone.
#pragma once

#include <span>
#include <string_view>

namespace mano::experiment {

struct Embedded {
    std::string_view name;
    std::string_view text;
};

std::span<const Embedded> embedded_experiments();

}  // namespace mano::experiment
