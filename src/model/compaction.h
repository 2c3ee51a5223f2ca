// SPDX-License-Identifier: GPL-2.0-or-later
// Compaction of a zone (mm/compaction.c): a scanner that goes up and takes movable folios, one that
// comes down and takes free pages, until a block is there or they meet. One round at a time, so
// that others can run in between. Knows memory; not time.
#pragma once

#include <vector>

#include "model/memory.h"

namespace mano::model {

enum class CompactMode : std::uint8_t { async, sync_light, sync_full };
// In the kernel's order: a larger one is the better answer over several zones.
enum class CompactResult : std::uint8_t {
    skipped,
    deferred,
    going_on,
    complete,
    partial_skipped,
    contended,
    success,
};

class Compaction {
  public:
    // Begins a try over the request's zones (try_to_compact_pages). `direct`: by a task that waits.
    void start(Memory& memory, const Request& request, AllocFlags flags, CompactMode mode,
               bool direct);
    // One round: at most 32 pages moved, or one zone decided about. False: it is over.
    bool round(Cpu& cpu);
    CompactResult result() const { return result_; }
    // The block that was caught while pages were freed, for the task that waits; kNoPage: none.
    Pfn captured() const { return capture_.page; }

  private:
    bool next_zone();
    bool begin_zone(Zone& zone);
    CompactResult suitable(const Zone& zone) const;
    void end_zone(Cpu& cpu, CompactResult result);
    bool scan_block(Cpu& cpu);
    bool block_is_source(Pfn block) const;
    void find_targets(Cpu& cpu, std::uint64_t pages);
    Pfn take_target(unsigned order);
    void migrate(Cpu& cpu);
    bool finished() const;

    Memory* memory_ = nullptr;
    Request request_;
    AllocFlags flags_ = 0;
    CompactMode mode_ = CompactMode::async;
    bool direct_ = false;
    std::vector<Zone*> zones_;
    std::size_t next_ = 0;
    Zone* zone_ = nullptr;
    Pfn migrate_pfn_ = 0;
    Pfn free_pfn_ = 0;
    bool whole_zone_ = false;
    bool no_target_ = false;  // the free scanner has nothing that fits
    CompactResult result_ = CompactResult::skipped;
    std::vector<Pfn> sources_;
    std::array<std::vector<Pfn>, kOrders> targets_;
    std::uint64_t target_pages_ = 0;
    Capture capture_;
};

// compaction_deferred() and its likes, over a zone's memory of failures.
bool compaction_deferred(Zone& zone, unsigned order);
void defer_compaction(Zone& zone, unsigned order);
void reset_deferral(Zone& zone, unsigned order, bool allocated);

}  // namespace mano::model
