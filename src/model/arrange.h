// SPDX-License-Identifier: GPL-2.0-or-later
// Free blocks as a dump counts them → a machine whose free lists are like that: where each block
// lies is drawn, and what lies between them is in use. Knows no text; called before anything runs.
#pragma once

#include <array>
#include <cstdint>

#include "model/memory.h"

namespace mano::model {

// Of one zone.
struct ZoneState {
    std::array<std::array<std::uint64_t, kPcpTypes>, kOrders> free{};  // blocks by order and type
    std::array<std::uint64_t, kPcpTypes> blocks{};                     // page blocks by type
    std::uint64_t inactive = 0, active = 0;  // pages that reclaim can take
};

// The zone must be as it was at boot, all free. Pages of free blocks that found no place, since
// counts of a running machine needn't agree: 0 as a rule.
std::uint64_t arrange(Memory& memory, std::size_t zone, const ZoneState& state, Rng& rng);

}  // namespace mano::model
