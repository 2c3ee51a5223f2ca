// SPDX-License-Identifier: GPL-2.0-or-later
// A misspelt name → the known name that was meant, for error messages. Must not know what it names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mano {

// Nearest of `candidates` to `name` by edit distance (at most half of the name's length), else "".
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);
std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace mano
