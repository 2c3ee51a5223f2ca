// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's side of a TrialPlan: a view into the binary form, decoded without allocation. Texts
// point into the caller's buffer, which must outlive the view.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "plan/schema.h"
#include "plan/trial_plan.h"

namespace mano::plan {

template <typename T, std::size_t N>
struct Fixed {
    std::array<T, N> items{};
    std::size_t size = 0;
    const T* begin() const { return items.data(); }
    const T* end() const { return items.data() + size; }
    const T& operator[](std::size_t index) const { return items[index]; }
    // A place for one more, or nullptr when all are taken.
    T* add() { return size < N ? &items[size++] : nullptr; }
};

struct LoadView {
    LoadId id = LoadId::none;
    Fixed<std::int64_t, kMaxValues> values;
    std::string_view text;
    // By position in the load's schema; 0 beyond it.
    std::int64_t value(std::size_t index) const { return index < values.size ? values[index] : 0; }
};

struct SettingView {
    std::string_view path;
    std::string_view value;
    bool required = false;
};

struct CounterView {
    std::string_view metric;
    std::string_view event;
    std::string_view filter;
};

struct TriggerView {
    std::string_view metric;
    bool system = false;
    bool full = false;
    std::uint64_t stall_us = 0, window_us = 0;
    std::uint32_t rising_pct = 0;
    std::uint64_t during_ns = 0;
};

struct PlanView {
    std::uint64_t seed = 0;
    std::uint32_t iterations = 0;
    std::uint64_t iteration_gap_ns = 0;
    std::uint64_t pressure_limit_ns = 0;
    std::uint64_t probe_limit_ns = 0;
    std::uint32_t spare_cpus = 0;
    bool traced = false;
    std::uint64_t zram_bytes = 0;
    std::string_view zram_compressor;
    LoadView pressure;
    LoadView probe;
    Fixed<std::string_view, kMaxModules> modules;
    Fixed<SettingView, kMaxSettings> settings;
    Fixed<CounterView, kMaxCounters> counters;
    Fixed<TriggerView, kMaxTriggers> triggers;
};

constexpr std::uint32_t kPlanMagic = 0x4e4c504d;  // "MPLN"
constexpr std::uint32_t kPlanVersion = 3;

// false: not a plan, another version, damaged, or more entries than the tables hold.
bool decode(std::string_view bytes, PlanView& view);

}  // namespace mano::plan
