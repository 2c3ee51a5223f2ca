// SPDX-License-Identifier: GPL-2.0-or-later
// What probes that take whole buffers of the kernel (aux, packet-ring, io-uring-ring) tell PID 1
// beside their cell: plain numbers in shared memory, written by the one worker, read after its end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mano::agent {

constexpr std::size_t kOrders = 16;  // blocks of 2^0 to 2^15 pages; kernels stop at 10

// The refusals that have a metric of their own; any other counts as `other`.
enum class Refusal : std::uint8_t { no_memory, not_permitted, no_access, invalid, other, count };
constexpr std::size_t kRefusals = static_cast<std::size_t>(Refusal::count);

// When free memory was looked at: before an iteration's first buffer, with all of the first round's
// buffers held, just after the last was given back, and after the probe's `linger`.
enum class Point : std::uint8_t { before, held, after, later, count };
constexpr std::size_t kPoints = static_cast<std::size_t>(Point::count);

struct Timed {
    std::uint64_t sum_ns = 0;
    std::uint64_t max_ns = 0;
    void add(std::uint64_t ns) {
        sum_ns += ns;
        if (ns > max_ns) max_ns = ns;
    }
};

struct BufferFigures {
    std::uint64_t asked = 0;
    std::uint64_t obtained = 0;
    std::uint64_t bytes = 0;  // of those obtained
    Timed map;                // of each buffer asked for, refused ones too
    Timed unmap;
    std::uint64_t refused[kRefusals] = {};
    // Pieces that the buffers were made of, by order; known: for every buffer that was obtained.
    std::uint64_t chunks[kOrders] = {};
    std::uint64_t chunks_unknown = 0;  // buffers
    // Free blocks by order, summed over zones.
    std::uint64_t blocks[kPoints][kOrders] = {};
    bool blocks_known[kPoints] = {};
    // The lowest that was seen after any buffer was made.
    std::uint64_t free_low_bytes = 0;
    double free_low_of_min_pct = 0;  // of the zone where it was lowest, in % of its min watermark
    bool free_known = false;
};

}  // namespace mano::agent
