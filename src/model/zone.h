// SPDX-License-Identifier: GPL-2.0-or-later
// A zone: the buddy allocator with its migrate types, watermarks and counters (struct zone,
// mm/page_alloc.c). All of it happens under the zone's lock; who takes that, and what it costs, is
// not known here.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "model/constants.h"
#include "model/counters.h"
#include "model/page_map.h"

namespace mano::model {

// A page for which the freeing task itself waits (struct capture_control).
struct Capture {
    unsigned order = 0;
    Migratetype type = kMovable;
    Pfn page = kNoPage;
};

// How __rmqueue() goes on for the rest of one refill.
enum class Fallback : std::uint8_t { normal, claim, steal };

class Zone {
  public:
    // Frames start … start+size.managed-1 of `map` are the zone's; start is aligned to order 10.
    Zone(PageMap& map, Counters& counters, const ZoneSize& size, const ZoneConstants& constants,
         Pfn start, unsigned cpus);

    // --- buddy core
    // __free_one_page(): merges upwards. `head` is no list member any more.
    void free_one(unsigned cpu, Pfn head, unsigned order, bool to_tail = false);
    // __rmqueue(): smallest block of the own type, else claims a block or steals a piece of another
    // type. kNoPage: none. The block is in no list and has no kind yet.
    Pfn take(unsigned cpu, unsigned order, Migratetype type, AllocFlags flags, Fallback& mode);
    // Takes a given free block off its list (compaction's free scanner).
    void take_block(unsigned cpu, Pfn head);
    // The order of the free block that holds this frame, and its head; false: it isn't free.
    bool find_free(Pfn pfn, Pfn& head) const;

    // --- watermarks
    std::uint64_t mark(AllocFlags flags) const;
    bool watermark_ok(unsigned order, std::uint64_t mark, ZoneIndex highest,
                      AllocFlags flags) const;
    // With the exact number of free pages, as kswapd counts where CPUs' shares may hide much.
    bool watermark_ok_safe(unsigned order, std::uint64_t mark, ZoneIndex highest) const;
    // As free pages were `free` (zone_watermark_ok with a guess).
    bool would_be_ok(unsigned order, std::uint64_t mark, ZoneIndex highest, AllocFlags flags,
                     std::int64_t free) const;
    // 1000 - …: above 500 a failure is for fragmentation, below for lack of memory; -1000: there is
    // a suitable block (fragmentation_index()).
    int fragmentation_index(unsigned order) const;
    bool has_block(unsigned order, Migratetype type) const;
    // A free block of `order` or more of this type, or one that could be claimed for it.
    bool suitable_block(unsigned order, Migratetype type) const;

    // --- state that others keep here
    const ZoneConstants& constants() const { return constants_; }
    ZoneIndex index() const { return size_.index; }
    unsigned node() const { return size_.node; }
    Pfn start() const { return start_; }
    Pfn end() const { return start_ + static_cast<Pfn>(size_.managed); }
    std::uint64_t managed() const { return size_.managed; }
    // NR_FREE_PAGES, exactly, and as the zone's counter shows it without the CPUs' shares.
    std::uint64_t free_pages() const { return static_cast<std::uint64_t>(free_); }
    std::int64_t seen_free_pages() const { return seen_free_; }
    std::uint64_t nr_free(unsigned order) const { return nr_free_[order]; }
    const PageList& list(unsigned order, Migratetype type) const { return lists_[order][type]; }
    std::uint64_t boost() const { return boost_; }
    void set_boost(std::uint64_t pages) { boost_ = pages; }
    PageMap& map() { return map_; }
    const PageMap& map() const { return map_; }

    bool below_high = false;      // ZONE_BELOW_HIGH
    bool reclaim_active = false;  // ZONE_RECLAIM_ACTIVE
    bool boosted = false;         // ZONE_BOOSTED_WATERMARK
    Capture* capture = nullptr;   // of the task that frees
    double lock_free_at = 0;      // when the lock is let go, as the timing layer keeps it
    std::uint64_t lru_pages = 0;  // pages of this zone that reclaim could take

    // Compaction's memory (struct zone's compact_*).
    struct CompactState {
        Pfn migrate_from[2] = {kNoPage, kNoPage};  // async, sync
        Pfn free_from = kNoPage;
        unsigned considered = 0;
        unsigned defer_shift = 0;
        unsigned order_failed = 0;
    } compact;

    // Every invariant of the lists, against the page map. Empty: all hold; else the first breach.
    std::string validate() const;

  private:
    void add(Pfn head, unsigned order, Migratetype type, bool to_tail);
    void remove(Pfn head, unsigned order, Migratetype type);
    void account(unsigned cpu, std::int64_t pages);
    Pfn take_smallest(unsigned order, Migratetype type);
    Pfn claim(unsigned order, Migratetype type, AllocFlags flags);
    Pfn claim_from(Pfn head, unsigned order, unsigned found, Migratetype type, Migratetype from,
                   AllocFlags flags);
    Pfn steal(unsigned order, Migratetype type);
    void expand(Pfn head, unsigned low, unsigned high, Migratetype type);
    void retype_block(Pfn pfn, Migratetype type);
    void boost_watermark();
    void note_taken(unsigned order, Migratetype type);
    void note_extfrag(unsigned order);
    bool merge_likely(Pfn head, unsigned order) const;

    PageMap& map_;
    Counters& counters_;
    ZoneSize size_;
    ZoneConstants constants_;
    Pfn start_;
    std::array<std::array<PageList, kTypes>, kOrders> lists_{};
    std::array<std::uint64_t, kOrders> nr_free_{};
    std::array<std::uint16_t, kTypes> orders_of_{};  // bit o: lists_[o][type] is not empty
    std::int64_t free_ = 0;
    std::int64_t seen_free_ = 0;
    std::vector<std::int16_t> hidden_;  // by CPU: vm_stat_diff of NR_FREE_PAGES
    std::int64_t drift_mark_ = 0;       // percpu_drift_mark: below, shares are summed up
    std::uint64_t boost_ = 0;
};

}  // namespace mano::model
