// SPDX-License-Identifier: GPL-2.0-or-later
// A trial's trace → stalls with what they were spent on, spans of the memory management, wake-ups
// of the timer probe. Pure. docs/why.md says how time is attributed. Called by `why`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trace/format.h"

namespace mano::trace {

// How a piece of a stall was spent.
enum class How : std::uint8_t {
    blocked,   // slept: the stack is where it slept
    runnable,  // could run and didn't: the stack is where it was put off the CPU
    running,   // on a CPU: the stack is of a sample, or where the stall began if there was none
};
std::string_view name_of(How how);

struct Slice {
    std::uint32_t stack = 0;  // index into Analysis::stacks
    How how = How::running;
    std::uint64_t ns = 0;
};

// One task, from where it entered a stall to where it left.
struct Stall {
    std::int32_t tid = 0;
    Role role = Role::other;
    std::uint32_t iteration = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint32_t stack = 0;    // where it began
    std::vector<Slice> slices;  // their times add up to end - begin
    std::uint64_t ns() const { return end_ns - begin_ns; }
};

enum class SpanKind : std::uint8_t {
    direct_reclaim,
    memcg_reclaim,
    compaction,
    kswapd,
    kcompactd,
    throttled,
    contention,
};
constexpr std::size_t kSpanKinds = 7;
std::string_view name_of(SpanKind kind);  // "direct reclaim" …

struct Span {
    SpanKind kind = SpanKind::direct_reclaim;
    std::int32_t tid = 0;
    Role role = Role::other;
    std::uint32_t iteration = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::optional<std::uint32_t> stack;
    std::optional<std::int64_t> order;  // as asked for, where the kernel says it
    std::optional<std::int64_t>
        result;  // pages reclaimed; compaction's status; throttling's reason
    std::uint64_t ns() const { return end_ns - begin_ns; }
};

// A wake-up of a thread of the highest real-time priority.
struct Wakeup {
    std::int32_t tid = 0;
    std::uint16_t cpu = 0;
    std::uint32_t iteration = 0;
    std::uint64_t woken_ns = 0, running_ns = 0;
    std::int32_t culprit_tid = 0;               // who was put off for it; 0: the idle task
    std::uint32_t stack = 0;                    // of that one, at the switch
    std::optional<std::int64_t> culprit_state;  // 0 or preempted: it didn't go by itself
    std::uint64_t ns() const { return running_ns - woken_ns; }
};

// Of the probe's tasks, in the windows that were recorded.
struct True {
    std::uint64_t some_ns = 0;  // at least one stalled
    std::uint64_t full_ns = 0;  // one stalled, and none on a CPU outside a stall
};

struct Analysis {
    std::vector<std::vector<std::string>> stacks;  // names, innermost first, each stack once
    std::vector<Stall> stalls;                     // by their end
    std::vector<Span> spans;
    std::vector<Wakeup> wakeups;
    std::vector<std::int32_t> probe_tids;       // ascending
    std::map<std::int32_t, std::string> names;  // of tasks, where known
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> windows;  // by iteration
    True probe;
    bool from_tracepoints = false;  // no kprobes: stalls are the reclaim and compaction spans
    bool no_symbols = false;
    std::uint64_t records = 0;
    std::uint64_t lost_records = 0;  // times are then lower bounds
    std::uint64_t odd_records = 0;   // that couldn't be understood
    std::uint64_t unfinished = 0;    // stalls that had begun before, or hadn't ended
    std::string wakeup_rt;           // the tracer's own text, where the kernel has it
};

// Code::hostile when the trace's parts can't be read. Records that can't be understood are counted.
Result<Analysis> analyse(std::string_view trace);

// A piece of a stall as people read it.
struct Folded {
    std::string asked;  // who wanted something: the first function outside the memory management
    std::string stall;  // the function that declared the stall, or entered the memory management
    std::string stage;  // what that one had called; "" where no sample tells
    std::string leaf;   // the innermost function that isn't machinery; the stall's where none tells
};
Folded fold_stack(const std::vector<std::string>& at_entry, const std::vector<std::string>& stack);
// Outermost first, without machinery; for flame graphs.
std::vector<std::string> tidy_stack(const std::vector<std::string>& stack);

}  // namespace mano::trace
