// SPDX-License-Identifier: GPL-2.0-or-later
// A file of the source tree that was put into the program at build time (mano_embed() in
// cmake/mano.cmake writes the tables), so that the program needs nothing beside it.
#pragma once

#include <string_view>

namespace mano {

struct Embedded {
    std::string_view name;  // path below the embedded folder
    std::string_view text;
};

}  // namespace mano
