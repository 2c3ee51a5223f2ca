// SPDX-License-Identifier: GPL-2.0-or-later
// The bytes of the agent's record log: an append-only file in shared memory (the ivshmem BAR of a
// guest, a file or memfd on a live host). docs/formats/wire.md describes it for other readers.
// No allocation, no exception: the agent includes this.
#pragma once

#include <atomic>
#include <cstdint>

namespace mano::wire {

constexpr std::uint64_t kMagic = 0x31474f4c4f4e414dULL;  // "MANOLOG1"
constexpr std::uint32_t kVersion = 1;

// What the agent is doing, for the host's progress line and for the evidence of a hang.
enum class Phase : std::uint32_t { boot = 0, setup = 1, pressure = 2, probe = 3, done = 4 };

// First page of the log. Written by the agent only; the host distrusts every field.
struct Header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t header_bytes;
    std::uint64_t capacity;  // bytes that frames may take, behind the header
    std::uint64_t reserved0[5];
    // On cache lines of their own: each is polled by the host.
    alignas(64) std::atomic<std::uint64_t> committed;  // bytes of whole frames
    alignas(64) std::atomic<std::uint64_t> heartbeat;
    alignas(64) std::atomic<std::uint32_t> phase;
    std::atomic<std::uint32_t> phase_step;  // iteration
    alignas(64) std::atomic<std::uint64_t> lost_frames;
};
constexpr std::uint32_t kHeaderBytes = 4096;
static_assert(sizeof(Header) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Frame types. Stored in recordings: never renumber.
enum class FrameType : std::uint16_t {
    hello = 1,    // text: agent version; the first frame
    fact = 2,     // u16 key size, key, value
    reading = 3,  // ReadingHead, text of one source
    value = 4,    // ValueHead, metric name
    loss = 5,     // LossHead, source, meaning
    counter = 6,  // CounterHead
    ending = 7,   // u16 measure::Ending, evidence text; at most one
    goodbye = 8,  // GoodbyeHead; the last frame
    trace = 9,    // of attribution trials: trace::PartHead and its bytes (src/trace/format.h)
};

struct FrameHead {
    std::uint32_t size;  // of the payload
    FrameType type;
    std::uint16_t reserved;
    std::uint32_t sequence;  // 0, 1, 2 …
    std::uint32_t sum;       // checksum of the head with sum = 0, then the payload
    std::uint64_t guest_ns;  // CLOCK_MONOTONIC of the guest
};
static_assert(sizeof(FrameHead) == 24);

constexpr std::uint32_t kNoIteration = 0xffffffff;

// Where a reading's text came from. Stored in recordings: never renumber.
enum class Source : std::uint16_t {
    vmstat = 1,
    meminfo = 2,
    buddyinfo = 3,
    pagetypeinfo = 4,
    zoneinfo = 5,
    proc_stat = 6,
    system_memory_pressure = 10,
    system_io_pressure = 11,
    system_cpu_pressure = 12,
    probe_memory_pressure = 20,
    probe_io_pressure = 21,
    probe_cpu_pressure = 22,
    probe_memory_stat = 23,
    probe_cpu_stat = 24,
    load_memory_stat = 33,
    mthp_stats = 40,  // lines "hugepages-64kB anon_fault_alloc 12"
    swaps = 41,
};

struct ReadingHead {
    Source source;
    std::uint8_t moment;  // measure::Moment
    std::uint8_t reserved;
    std::uint32_t iteration;
};
static_assert(sizeof(ReadingHead) == 8);

struct ValueHead {
    double value;
    std::uint32_t iteration;
    std::uint8_t moment;
    std::uint8_t known;  // 0: known to be unreadable
    std::uint16_t reserved;
};
static_assert(sizeof(ValueHead) == 16);

struct LossHead {
    std::uint64_t count;
    std::uint16_t source_size;
    std::uint16_t reserved[3];
};
static_assert(sizeof(LossHead) == 16);

struct CounterHead {
    std::uint64_t value;    // summed over CPUs
    std::uint64_t enabled;  // ns, summed
    std::uint64_t running;  // ns, summed; less than enabled: the kernel multiplexed
    std::uint32_t iteration;
    std::uint16_t index;  // into the plan's counters
    std::uint8_t moment;
    std::uint8_t reserved;
};
static_assert(sizeof(CounterHead) == 32);

struct GoodbyeHead {
    std::uint32_t frames;  // before this one
    std::uint32_t chain;   // checksum over all their checksums, in order
};
static_assert(sizeof(GoodbyeHead) == 8);

constexpr std::uint64_t padded(std::uint64_t size) {
    return (size + 7) & ~std::uint64_t{7};
}
// Kept free for the ending and the goodbye, so that even a full log says how the trial ended.
constexpr std::uint64_t kReserve = 4096;

}  // namespace mano::wire
