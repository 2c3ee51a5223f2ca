// SPDX-License-Identifier: GPL-2.0-or-later
// The parts in which an attribution trial's records travel and are stored: what the agent sends raw
// (format files, perf ring bytes, symbols) and the host reads later. No allocation: the agent
// includes this. docs/formats/wire.md describes it for other readers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mano::trace {

// A stored trace is a row of parts: head, bytes, zeros up to a multiple of 8. In the agent's log
// each part is a frame. Stored: never renumber.
enum class PartKind : std::uint16_t {
    event = 1,    // number: EventKind; bytes: u64 sample type, u32 CPUs, u32 zero, u64 id of each
                  // CPU's event, then the text of the event's tracefs format file ("" of cpu-clock)
    ring = 2,     // cpu, number: iteration; bytes: whole perf records
    symbols = 3,  // bytes: lines of /proc/kallsyms; may be cut anywhere, the next part goes on
    crew = 4,     // number: Role; bytes: i32 process ids, at the beginning of an iteration
    window = 5,   // number: iteration; bytes: u64 first ns, u64 last ns in which events were on
    text = 6,     // number: 1, the wakeup_rt tracer's trace
};
struct PartHead {
    PartKind kind;
    std::uint16_t cpu;
    std::uint32_t number;
    std::uint64_t size;  // of the bytes; 0 in a frame, whose own size counts
};
static_assert(sizeof(PartHead) == 16);

enum class Role : std::uint32_t { other = 0, pressure = 1, probe = 2 };

// What the agent records. Stored: never renumber.
enum class EventKind : std::uint32_t {
    stall_enter = 0,
    stall_leave = 1,
    sched_switch = 2,
    clock = 3,  // samples of what runs, of CPU time
    direct_reclaim_begin = 4,
    direct_reclaim_end = 5,
    memcg_reclaim_begin = 6,
    memcg_reclaim_end = 7,
    compaction_begin = 8,
    compaction_end = 9,
    try_to_compact = 10,
    kswapd_wake = 11,
    kswapd_sleep = 12,
    throttled = 13,
    contention_begin = 14,
    contention_end = 15,
    kcompactd_wake = 16,
    kcompactd_sleep = 17,
    waking = 18,  // of the timer probe's threads
};
constexpr std::size_t kEventKinds = 19;

// Bits of perf_event_attr.sample_type (include/uapi/linux/perf_event.h).
constexpr std::uint64_t kSampleTid = 1U << 1U;
constexpr std::uint64_t kSampleTime = 1U << 2U;
constexpr std::uint64_t kSampleCallchain = 1U << 5U;
constexpr std::uint64_t kSampleCpu = 1U << 7U;
constexpr std::uint64_t kSampleRaw = 1U << 10U;
constexpr std::uint64_t kSampleIdentifier = 1U << 16U;
constexpr std::uint64_t kSampleBase = kSampleIdentifier | kSampleTid | kSampleTime | kSampleCpu;

struct EventDef {
    EventKind kind;
    std::string_view event;   // below tracefs' events; "" of cpu-clock
    std::string_view filter;  // in the kernel's filter language
    bool stack;               // kernel stacks with it
    bool fields;              // its fields are wanted
};
constexpr std::array<EventDef, kEventKinds> kEvents{{
    {EventKind::stall_enter, "manometer/stall_enter", "", true, false},
    {EventKind::stall_leave, "manometer/stall_leave", "", false, false},
    {EventKind::sched_switch, "sched/sched_switch", "", true, true},
    {EventKind::clock, "", "", true, false},
    {EventKind::direct_reclaim_begin, "vmscan/mm_vmscan_direct_reclaim_begin", "", true, true},
    {EventKind::direct_reclaim_end, "vmscan/mm_vmscan_direct_reclaim_end", "", false, true},
    {EventKind::memcg_reclaim_begin, "vmscan/mm_vmscan_memcg_reclaim_begin", "", true, true},
    {EventKind::memcg_reclaim_end, "vmscan/mm_vmscan_memcg_reclaim_end", "", false, true},
    {EventKind::compaction_begin, "compaction/mm_compaction_begin", "", true, true},
    {EventKind::compaction_end, "compaction/mm_compaction_end", "", false, true},
    {EventKind::try_to_compact, "compaction/mm_compaction_try_to_compact_pages", "", false, true},
    {EventKind::kswapd_wake, "vmscan/mm_vmscan_kswapd_wake", "", false, true},
    {EventKind::kswapd_sleep, "vmscan/mm_vmscan_kswapd_sleep", "", false, true},
    {EventKind::throttled, "vmscan/mm_vmscan_throttled", "", true, true},
    {EventKind::contention_begin, "lock/contention_begin", "", true, true},
    {EventKind::contention_end, "lock/contention_end", "", false, true},
    {EventKind::kcompactd_wake, "compaction/mm_compaction_kcompactd_wake", "", false, true},
    {EventKind::kcompactd_sleep, "compaction/mm_compaction_kcompactd_sleep", "", false, true},
    {EventKind::waking, "sched/sched_waking", "prio == 0", false, true},
}};
static_assert([] {
    for (std::size_t i = 0; i < kEvents.size(); ++i) {
        if (static_cast<std::size_t>(kEvents[i].kind) != i) return false;
    }
    return true;
}());

// The kprobe events behind the first two.
constexpr std::string_view kStallProbes =
    "p:manometer/stall_enter psi_memstall_enter\np:manometer/stall_leave psi_memstall_leave\n";

}  // namespace mano::trace
