// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel and its daemons take of memory beside the loads: boot allocations, mixed and partly
// freed again, and a background that goes on taking and giving small pieces. Without it every zone
// would be new and direct reclaim would keep all it frees.
#pragma once

#include <memory>
#include <vector>

#include "model/engine.h"

namespace mano::model {

struct BootLoad {
    std::uint64_t pages = 6000;  // that stay taken
    double churn = 0.3;          // taken and given back meanwhile, as a multiple of that
};
// Ages the zones: mixed orders and types, freed in another order. Advances no time.
void boot(Memory& memory, const BootLoad& load);

// Takes and gives back slab-like pieces; about `rate` of them a second.
std::unique_ptr<Task> make_background(unsigned cpu, double rate, std::uint64_t seed);

// si_mem_available() of a machine without page cache: free pages less what the kernel keeps.
std::uint64_t available_pages(Machine& machine);

}  // namespace mano::model
