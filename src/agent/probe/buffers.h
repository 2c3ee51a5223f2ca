// SPDX-License-Identifier: GPL-2.0-or-later
// The parts that probes of whole buffers share, in their worker: free memory by zone, the pieces of
// physical memory behind a mapping, refusals by errno; and, in PID 1, their report.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/agent.h"
#include "base/rng.h"

namespace mano::agent {

// Free memory and free blocks, as /proc/buddyinfo tells them: one small text, no page-sized
// allocation, nothing refreshed. Pages on per-CPU lists are not free here, as for the kernel's own
// watermarks.
class FreeMemory {
  public:
    // Learns the zones and their min watermarks. To be called before the go.
    void open(std::uint64_t page_bytes);
    // Reads once; keeps the lowest in `figures`.
    void look(BufferFigures& figures);
    // Reads once; keeps the blocks as those of `point`.
    void look(BufferFigures& figures, Point point);

  private:
    static constexpr std::size_t kMaxZones = 64;
    struct Zone {
        char name[16] = {};  // "0 DMA32"
        std::uint64_t min_pages = 0;
    };
    void learn_watermarks();
    const Zone* find(std::uint64_t node, std::string_view name) const;
    bool read_blocks(std::uint64_t (&blocks)[kOrders], std::uint64_t& free_pages,
                     double& of_min_pct);

    Zone zones_[kMaxZones];
    std::size_t zone_count_ = 0;
    std::uint64_t page_bytes_ = 4096;
    int fd_ = -1;
};

// Page frames behind a mapping of this process, from /proc/self/pagemap (which tells them to root).
class PageMap {
  public:
    void open();
    // Adds the pieces of `bytes` at `memory` to figures.chunks: naturally aligned runs of 2^k page
    // frames, none longer than `block`, which is what the kernel was asked for in one go. Where
    // that can't be known, chunks_unknown counts one more.
    void add_chunks(BufferFigures& figures, const void* memory, std::uint64_t bytes,
                    std::uint64_t block, std::uint64_t page_bytes);

  private:
    int fd_ = -1;
};

// Faults in and locks what this worker has, tables included, so that none of it is allocated or
// swapped while it measures. Before the go, and before privileges are given up.
void hold_own_memory();

// Counts a refusal.
void refuse(BufferFigures& figures, int error);

// Ends a worker's iteration: times, CPU time, operations; and where nothing was obtained though
// memory was not the reason, the cell's error, so that the trial says that the probe was refused.
int finish_buffers(Agent& agent, WorkerCell& cell, std::uint64_t start_ns);

// An order of 0 … count-1 drawn from the seed, in `places`.
void draw_order(Rng& rng, std::uint16_t* places, std::size_t count);

// Randomness of the present iteration of a probe.
Rng probe_rng(const Agent& agent, std::uint64_t stream);

void buffers_report(Agent& agent, std::uint32_t iteration);

}  // namespace mano::agent
