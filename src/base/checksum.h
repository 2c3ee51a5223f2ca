// SPDX-License-Identifier: GPL-2.0-or-later
// A fast checksum for records that may be torn: eight bytes a step, no table (a table would be one
// more thing in the cache of the machine that is measured). It guards against accidents, not
// against an adversary, who could compute it as well. No allocation, no exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mano {

inline std::uint32_t checksum(const void* data, std::size_t size, std::uint32_t start = 0) {
    constexpr std::uint64_t kMultiplier = 0x9fb21c651e98df25ULL;
    std::uint64_t state = (std::uint64_t{start} << 32) ^ (size * kMultiplier);
    const auto* bytes = static_cast<const unsigned char*>(data);
    auto mix = [&state](std::uint64_t word) {
        state = (state ^ word) * kMultiplier;
        state ^= state >> 29;
    };
    for (; size >= 8; size -= 8, bytes += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, 8);
        mix(word);
    }
    if (size > 0) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, size);
        mix(word);
    }
    return static_cast<std::uint32_t>(state ^ (state >> 32));
}

}  // namespace mano
