// SPDX-License-Identifier: GPL-2.0-or-later
// What goes on on this machine or in one cgroup, look by look: texts of /proc and of the group →
// values; two looks → shares of time stalled, rates and free blocks; those → a screen, a line, or
// JSON. Knows no experiment; called by the verb `watch`.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "report/plot.h"

namespace mano::watch {

// What is watched.
struct Target {
    std::optional<std::filesystem::path> group;   // pressure files (cgroup v2); nullopt: the host
    std::optional<std::filesystem::path> memory;  // the same group's memory.stat (v2 or v1)
    std::string name;                             // as the user sees it: "host", "/user.slice"
};

// One look. A value that can't be read is absent from `values`, and `lost` says why.
struct Look {
    std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
    std::map<std::string, double>
        values;  // names of the metric catalogue; PSI as psi.<what>.<line>
    std::vector<std::string> lost;
};
Look look(const Target& target);

// Between two looks. nullopt: unknown (absent in one of them, or the counter went back).
struct Change {
    double seconds = 0;
    // "memory", "io", "cpu" → % of the time in which some, or all, tasks stalled.
    std::map<std::string, std::optional<double>> some_pct, full_pct;
    // Per second, by the kernel's own names: pgscan_direct, allocstall, workingset_refault_anon …
    std::vector<std::pair<std::string, std::optional<double>>> rates;
    std::vector<std::optional<double>> free_blocks;  // by order, of the host
    std::optional<double> available_bytes;           // MemAvailable of the host
    std::optional<double> group_bytes;               // what the group has; nullopt for the host
    std::vector<std::string> lost;
};
Change between(const Target& target, const Look& before, const Look& after);

// The lines of a pipe: a heading (again every 20 lines), then one a look, of at most 100 columns.
std::string heading();
std::string line(const Change& change, std::string_view time);
// One JSON object and a newline, schema manometer.watch/1; what is unknown is null.
std::string json_line(const Target& target, const Change& change, std::string_view time);
// A whole screen: the newest change, with a line of the last ones beside each number.
std::string screen(const Target& target, const std::deque<Change>& changes, std::string_view time,
                   report::Charset charset);

}  // namespace mano::watch
