// SPDX-License-Identifier: GPL-2.0-or-later
// The text of ftrace's latency tracers (wakeup, wakeup_rt, wakeup_dl, irqsoff, preemptoff,
// preemptirqsoff) → who was kept waiting, for how long, and by which kernel function. Pure; the
// text is hostile and bounded. Must not know where the text came from. Called by `import ftrace`
// and by whoever reads a guest's tracer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::trace {

struct LatencyTrace {
    std::uint64_t line = 0;  // 1-based, where it begins
    std::string tracer;      // "wakeup_rt"
    std::string kernel;      // release; empty where the header has none
    double latency_us = 0;
    std::optional<std::uint32_t> cpu;
    std::string model;                        // "preempt_rt", as the kernel calls it
    std::string task;                         // "cyclictest-217": the one the header names
    std::optional<std::int32_t> pid;          // of it
    std::optional<std::int32_t> policy;       // 1: SCHED_FIFO
    std::optional<std::int32_t> rt_priority;  // 1 to 99; 0 of a task that isn't real-time
    // The innermost function of the last stack (without stacks: of the last function line) that is
    // neither tracing, nor scheduling, nor the release of a lock. nullopt: nothing but these.
    std::optional<std::string> culprit;
    std::string culprit_task;        // who ran then: "stress-n-232"
    std::vector<std::string> stack;  // as it stands, innermost first
    std::string flags;               // of that line, without the CPU: "d...3.."
    std::uint64_t entries = 0;       // lines that were understood
    std::uint64_t odd_lines = 0;     // lines that weren't
};

constexpr std::size_t kMaxLatencyTraces = 10'000;
constexpr std::size_t kMaxStackDepth = 256;

// Every trace of the text, in order (each begins with its "# tracer:" or its "latency trace" line).
// Code::hostile as "file:line:column: …" when there is none, or one has no latency.
Result<std::vector<LatencyTrace>> read_latency_text(std::string_view text, std::string_view file);

// Whether a kernel function is machinery that every such stack ends in: tracing, scheduling, the
// way out of an interrupt or system call, the release of a lock. `function` without offset.
bool is_machinery(std::string_view function);
// The first of `stack` (innermost first) that isn't.
std::optional<std::string> culprit_of(const std::vector<std::string>& stack);

// "rt_spin_unlock+0x1c/0x60", "[<ffffffff810>] foo", "do_x.constprop.0" → the name alone. The
// compiler's suffixes stay: they tell copies apart.
std::string_view function_name(std::string_view word);

}  // namespace mano::trace
