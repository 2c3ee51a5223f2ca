// SPDX-License-Identifier: GPL-2.0-or-later
// What each pressure and probe can be told: name, type, unit, default, range, meaning. Declared
// once; serves the experiment parser, --set, the help, the docs and the agent (which reads values
// by position). No allocation, no exception: the agent includes this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mano::plan {

enum class ParamType : std::uint8_t {
    integer,   // plain count
    bytes,     // "64KiB"
    duration,  // "250ms", held in ns
    share,     // "90%", held in millionths
    boolean,
    choice,  // one of a few words, held as its place in `choices`
    text,    // printable ASCII, held in LoadPlan::text: at most one a load; optional (empty)
};

struct ParamDef {
    std::string_view name;
    ParamType type;
    std::string_view unit;  // as shown: "", "bytes", "ns", "share"
    std::int64_t fallback;  // default, in the held unit
    std::int64_t minimum;
    std::int64_t maximum;
    std::string_view meaning;
    std::span<const std::string_view> choices = {};  // of type choice: append, never reorder
};

enum class LoadKind : std::uint8_t { pressure, probe };

// The numbers travel in the agent's plan: never renumber.
enum class LoadId : std::uint16_t {
    none = 0,
    hold = 1,
    churn = 2,
    pageout = 3,
    shm = 100,
    mthp = 101,
    thp = 102,
    command = 103,
    idle = 104,  // the probe that only waits
    packet_ring = 105,
    io_uring_ring = 106,
    aux = 107,
    timer = 108,
};

struct LoadDef {
    LoadId id;
    LoadKind kind;
    std::string_view name;
    std::string_view summary;
    std::span<const ParamDef> params;
};

std::span<const LoadDef> pressures();
std::span<const LoadDef> probes();
const LoadDef* find_load(LoadKind kind, std::string_view name);  // nullptr: no such name
const LoadDef* find_load(LoadId id);
// Position of a parameter in the load's schema; nullopt when it has none of that name.
std::optional<std::size_t> find_param(const LoadDef& load, std::string_view name);

}  // namespace mano::plan
