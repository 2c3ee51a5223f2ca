// SPDX-License-Identifier: GPL-2.0-or-later
// Which cgroup hierarchies this machine has (v2, v1, both), and the groups of our own that a live
// trial gets in them: manometer-PID with control, load and probe below. Reads names and files that
// anybody on the machine may have made; nothing here changes a group that isn't ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::substrate::live {

// One hierarchy that matters, as this process sees it.
struct Hierarchy {
    std::filesystem::path mount;  // "/sys/fs/cgroup/unified"
    std::filesystem::path own;    // the folder of this process's group, below `mount` or it
    bool operator==(const Hierarchy&) const = default;
};

struct Hierarchies {
    std::optional<Hierarchy> v2;
    std::optional<Hierarchy> v1_memory;
    bool any_v1 = false;
    // "v2", "v1", "v1 and v2 (hybrid)", "none"
    std::string kind() const;
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup. Pure. Lines that say nothing are
// passed over; a group's name may hold blanks and anything else but a newline. A path that leads
// out of what is mounted here (a container's) gives the mount itself.
Hierarchies parse_hierarchies(std::string_view mountinfo, std::string_view membership);
// The same, of this process. Absent files give absent hierarchies.
Hierarchies read_hierarchies();

// Where the groups of a trial will be made, and what can't be had without them.
struct Site {
    // Folders in which our own group is made; the same twice where v2 has the memory controller.
    std::optional<std::filesystem::path> v2;
    std::optional<std::filesystem::path> memory;
    bool memory_is_v1 = false;
    std::string kind;
    // What is lost and why, with the mend, a sentence each.
    std::vector<std::string> lost;
};

// Looks, and changes nothing. v2: the nearest folder from our own group upwards that may be written
// and whose children have the memory controller, else the nearest that may be written; v1: our own.
Site choose_site(const Hierarchies& here);

// The groups of one trial, made. The guard removes them (src/agent/guard.h).
struct Groups {
    std::optional<std::filesystem::path> v2;      // …/manometer-PID-N
    std::optional<std::filesystem::path> memory;  // the same as v2, or one of v1
    bool memory_is_v1 = false;
    // Each folder once.
    std::vector<std::filesystem::path> folders() const;
    const char* events() const { return memory_is_v1 ? "memory.oom_control" : "memory.events"; }
};

// The folders that make_groups() will make, for the journal. `name`: "manometer-PID-N".
Groups plan_groups(const Site& site, std::string_view name);
// Makes them; `limit_bytes`: of control, load and probe together, 0 for none. Code::environment
// names the folder and what the kernel said.
Status make_groups(const Groups& groups, std::uint64_t limit_bytes);

}  // namespace mano::substrate::live
