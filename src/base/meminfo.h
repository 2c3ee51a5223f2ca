// SPDX-License-Identifier: GPL-2.0-or-later
// How much memory this host has: one value of /proc/meminfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mano {

// The value behind "KEY:" ("MemTotal", "MemAvailable"), in bytes. nullopt: not to be read here, or
// this kernel has no such line.
std::optional<std::uint64_t> meminfo_bytes(std::string_view key);

}  // namespace mano
