// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the guest the machine that the plan describes: mounts, modules, knobs, swap, cgroups; and
// states what it is. On a live host only apply_settings(), open_cgroups() and what states facts are
// called: groups are made by the substrate, which also has recorded what the settings were.
#pragma once

#include <cstdint>
#include <span>

#include "agent/sys.h"

#define MANO_CGROUP "/sys/fs/cgroup"
#define MANO_TRACEFS "/sys/kernel/tracing"

namespace mano::agent {

struct Agent;

constexpr std::size_t kMaxCpus = 4096;
struct CpuSet {
    std::uint16_t ids[kMaxCpus];
    std::size_t size = 0;
};
// The online CPUs, also sparse ones, from /sys/devices/system/cpu/online.
void online_cpus(CpuSet& cpus);

void mount_filesystems();
// Keeps the console open: only then does the kernel hear a break on the serial line, by which the
// host asks a guest that hangs for its tasks.
void listen_to_console();
// The ivshmem BAR, mapped; empty when there is none.
std::span<std::byte> map_log();

// Brings every second CPU online, where the host put a spare one between each two (see
// src/substrate/guest/qemu.h). False: an ending is written.
bool start_cpus(Agent& agent);

// Each writes an ending (precondition missing, with the mend) and returns false when it can't.
bool load_modules(Agent& agent);
bool apply_settings(Agent& agent);
bool start_swap(Agent& agent);
bool make_cgroups(Agent& agent);

// Opens the groups that the crews join, in the agent's Place.
void open_cgroups(Agent& agent);
// A file of one of the groups: (place.v2, "probe", "cpu.stat"). Empty when the folder is.
Path group_file(const Path& folder, std::string_view group, std::string_view file);

// Facts: what the machine is, for equivalence and confounders.
void state_machine(Agent& agent);
// Counts of warnings, bugs, OOM kills and hung tasks in the kernel's log, as values. On a live host
// from watch_health() on, in a guest from its boot.
void watch_health(Agent& agent);
void state_health(Agent& agent);

[[noreturn]] void power_off();

}  // namespace mano::agent
