// SPDX-License-Identifier: GPL-2.0-or-later
// What one guest is told to do: the value, and the binary form that travels in its initramfs. The
// host writes it (plan → bytes), the agent reads it with plan_view.h (no parser of text, no
// allocation).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/schema.h"

namespace mano::plan {

struct LoadPlan {
    LoadId id = LoadId::none;
    std::vector<std::int64_t> values;  // by position in the load's schema, held units
    std::string text;                  // the command line of `command`
    bool operator==(const LoadPlan&) const = default;
};

// A file that the agent writes once before anything else ("/sys/…/enabled" ← "madvise").
struct Setting {
    std::string path;
    std::string value;
    bool required = false;  // true: failing to write it is a missing precondition
    bool operator==(const Setting&) const = default;
};

// One tracepoint counter, summed over all CPUs.
struct CounterPlan {
    std::string metric;  // "tp.alloc"
    std::string event;   // "kmem/mm_page_alloc"
    std::string filter;  // "order == 0", may be empty
    bool operator==(const CounterPlan&) const = default;
};

// A low-memory killer's view of PSI: how often would it have acted? Either a trigger of the
// kernel's (lmkd: some or full stall of `stall_us` within `window_us`), or, with `rising_pct` above
// 0, oomd's rule (beyond that share for `during_ns`, and rising).
struct TriggerPlan {
    std::string metric;   // "trigger.lmkd_some"
    bool system = false;  // false: the probe's cgroup
    bool full = false;    // false: some
    std::uint64_t stall_us = 0, window_us = 0;
    std::uint32_t rising_pct = 0;
    std::uint64_t during_ns = 0;
    bool operator==(const TriggerPlan&) const = default;
};

struct SwapPlan {
    std::uint64_t zram_bytes = 0;  // 0: no swap
    std::string compressor;        // "lz4", "lzo-rle", "zstd"
    bool operator==(const SwapPlan&) const = default;
};

struct TrialPlan {
    std::uint64_t seed = 0;
    std::uint32_t iterations = 1;
    std::uint64_t iteration_gap_ns = 0;   // pause between iterations, jittered by the seed
    std::uint64_t pressure_limit_ns = 0;  // guest time within which the pressure must be up
    std::uint64_t probe_limit_ns = 0;     // guest time that one iteration of the probe may take
    std::uint32_t spare_cpus = 0;         // offline CPUs between those to be brought online
    bool traced = false;                  // an attribution trial
    SwapPlan swap;
    LoadPlan pressure;
    LoadPlan probe;
    std::vector<std::string> modules;  // file names below /modules, in loading order
    std::vector<Setting> settings;
    std::vector<CounterPlan> counters;
    std::vector<TriggerPlan> triggers;
    bool operator==(const TrialPlan&) const = default;
};

// Limits of the binary form (the agent's tables are fixed).
constexpr std::size_t kMaxModules = 64;
constexpr std::size_t kMaxSettings = 128;
constexpr std::size_t kMaxCounters = 32;
constexpr std::size_t kMaxTriggers = 8;
constexpr std::size_t kMaxValues = 24;
constexpr std::size_t kMaxPlanBytes = 64 * 1024;
constexpr std::size_t kMaxWorkers = 64;  // processes of one load

// Code::invalid where a load wants more processes than the agent has places for; the model goes
// further.
Status check_workers(const TrialPlan& plan);

// Little-endian, checksummed. Too many entries or too long a text: Code::invalid.
Result<std::string> encode(const TrialPlan& plan);

}  // namespace mano::plan
