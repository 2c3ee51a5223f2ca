// SPDX-License-Identifier: GPL-2.0-or-later
// What the machine that manometer runs on is: its kernel in an arm's place, its identity, its
// memory, and which of the readings it lacks and why. Reads /proc and /sys; changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "measure/sample.h"
#include "substrate/live/cgroups.h"
#include "substrate/substrate.h"

namespace mano::substrate::live {

constexpr std::string_view kSpecPrefix = "live:";

// "live:RELEASE" of the kernel that runs. Its id is that of this very build (its banner).
kernels::Kernel host_kernel();
// Code::invalid: the SPEC names another kernel than the one that runs, or isn't "live:…".
Result<kernels::Kernel> kernel_of(std::string_view spec);

unsigned online_cpus();

// Of RAM, as the hardware has it where the kernel tells. Reads a file for each memory block.
std::uint64_t total_memory();
// MemAvailable; 0 where it isn't told.
std::uint64_t available_memory();

// What is equal between two boots of one machine.
Identity host_identity();

// Pressures that can't be read here, with the reason and the mend. `groups`: those of a trial, made
// or not.
std::vector<measure::Loss> lost_pressure(const Site& site,
                                         const std::optional<std::filesystem::path>& probe_group);
// Every pressure metric that a trial's record lacks becomes null in iteration 0: unknown, where
// leaving it out would look like nothing to see.
void add_unknown_pressure(measure::TrialRecord& record);

}  // namespace mano::substrate::live
