// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/compaction.h"

#include <algorithm>

namespace mano::model {

bool compaction_deferred(Zone& zone, unsigned order) {
    Zone::CompactState& state = zone.compact;
    if (order < state.order_failed) return false;
    const unsigned limit = 1U << state.defer_shift;
    if (++state.considered >= limit) {
        state.considered = limit;
        return false;
    }
    return true;
}

void defer_compaction(Zone& zone, unsigned order) {
    constexpr unsigned kMaxShift = 6;  // COMPACT_MAX_DEFER_SHIFT
    Zone::CompactState& state = zone.compact;
    state.considered = 0;
    state.defer_shift = std::min(kMaxShift, state.defer_shift + 1);
    state.order_failed = std::min(state.order_failed, order);
}

void reset_deferral(Zone& zone, unsigned order, bool allocated) {
    Zone::CompactState& state = zone.compact;
    if (allocated) {
        state.considered = 0;
        state.defer_shift = 0;
    }
    if (order >= state.order_failed) state.order_failed = order + 1;
}

void Compaction::start(Memory& memory, const Request& request, AllocFlags flags, CompactMode mode,
                       bool direct) {
    memory_ = &memory;
    request_ = request;
    flags_ = flags;
    mode_ = mode;
    direct_ = direct;
    zones_.clear();
    const ZoneIndex highest = highest_zone_of(request.flags);
    for (Zone* zone : memory.machine().nodes()[request.node].zonelist) {
        const bool here = (request.flags & gfp::kThisnode) == 0 || zone->node() == request.node;
        if (zone->index() <= highest && here) zones_.push_back(zone);
    }
    next_ = 0;
    zone_ = nullptr;
    result_ = CompactResult::skipped;
    capture_ = {request.order, migratetype_of(request.flags), kNoPage};
}

// compaction_suit_allocation_order().
CompactResult Compaction::suitable(const Zone& zone) const {
    const ZoneIndex highest = highest_zone_of(request_.flags);
    const unsigned order = request_.order;
    const std::uint64_t mark = zone.mark(flags_);
    if (zone.watermark_ok(order, mark, highest, flags_)) return CompactResult::success;
    const KernelVariant& variant = memory_->machine().variant();
    const bool costly = order > kCostlyOrder;
    std::uint64_t needed = compact_gap(order, variant.compact_gap_capped);
    if (variant.compact_gap_capped) {
        needed += zone.mark(kWmarkMin) + (costly ? zone.constants().low - zone.constants().min : 0);
    } else {
        needed += zone.mark(costly ? kWmarkLow : kWmarkMin);
    }
    if (!zone.would_be_ok(0, needed, highest, 0, zone.seen_free_pages()))
        return CompactResult::skipped;
    if (costly && mode_ != CompactMode::sync_full) {
        constexpr int kThreshold = 500;  // vm.extfrag_threshold
        const int index = zone.fragmentation_index(order);
        if (index >= 0 && index <= kThreshold) return CompactResult::skipped;
    }
    return CompactResult::going_on;
}

bool Compaction::begin_zone(Zone& zone) {
    if (mode_ != CompactMode::sync_full && direct_ && compaction_deferred(zone, request_.order)) {
        result_ = std::max(result_, CompactResult::deferred);
        return false;
    }
    const CompactResult fit = suitable(zone);
    if (fit != CompactResult::going_on) {
        result_ = std::max(result_, fit);
        return false;
    }
    Zone::CompactState& state = zone.compact;
    zone_ = &zone;
    no_target_ = false;
    const std::size_t cache = mode_ == CompactMode::async ? 0 : 1;
    if (mode_ == CompactMode::sync_full) {
        migrate_pfn_ = zone.start();
        free_pfn_ = zone.end();
    } else {
        migrate_pfn_ = state.migrate_from[cache];
        free_pfn_ = state.free_from;
        if (free_pfn_ == kNoPage || free_pfn_ <= zone.start() || free_pfn_ > zone.end())
            free_pfn_ = state.free_from = zone.end();
        if (migrate_pfn_ == kNoPage || migrate_pfn_ < zone.start() || migrate_pfn_ >= free_pfn_) {
            migrate_pfn_ = state.migrate_from[0] = state.migrate_from[1] = zone.start();
            free_pfn_ = state.free_from = zone.end();
        }
    }
    whole_zone_ = migrate_pfn_ == zone.start() && free_pfn_ == zone.end();
    return true;
}

bool Compaction::next_zone() {
    while (next_ < zones_.size()) {
        if (result_ == CompactResult::success) return false;
        if (begin_zone(*zones_[next_++])) return true;
    }
    return false;
}

void Compaction::end_zone(Cpu& cpu, CompactResult result) {
    Machine& machine = memory_->machine();
    for (unsigned order = 0; order < kOrders; ++order) {
        for (const Pfn head : targets_[order]) {
            machine.map().clear(head);
            machine.free_to_zone(cpu, head, order);
            machine.counters()[Counter::pgfree] -= std::uint64_t{1} << order;
            --machine.counters()[Counter::buddy_frees];
        }
        targets_[order].clear();
    }
    target_pages_ = 0;
    if (result == CompactResult::complete && !whole_zone_) result = CompactResult::partial_skipped;
    const bool met = result == CompactResult::complete || result == CompactResult::partial_skipped;
    if (met) {
        // Both scanners start over, and so do the hints.
        zone_->compact.migrate_from[0] = zone_->compact.migrate_from[1] = zone_->start();
        zone_->compact.free_from = zone_->end();
        for (Pfn block = zone_->start(); block < zone_->end(); block += kPageblockPages)
            machine.map().set_skip(block, false);
        if (mode_ != CompactMode::async) defer_compaction(*zone_, request_.order);
    } else {
        const std::size_t cache = mode_ == CompactMode::async ? 0 : 1;
        zone_->compact.migrate_from[cache] = migrate_pfn_;
        zone_->compact.free_from = free_pfn_;
    }
    if (result == CompactResult::success) reset_deferral(*zone_, request_.order, false);
    result_ = std::max(result_, result);
    zone_ = nullptr;
}

// suitable_migration_source().
bool Compaction::block_is_source(Pfn block) const {
    const PageMap& map = memory_->machine().map();
    if (mode_ != CompactMode::sync_full && map.skip(block)) return false;
    if (mode_ != CompactMode::async || !direct_) return true;
    const Migratetype type = map.block_type(block);
    if (type == migratetype_of(request_.flags)) return true;
    return memory_->machine().variant().async_any_movable && request_.order >= kPageblockOrder &&
           type == kMovable;
}

// Takes up to 32 pages of folios from the block at migrate_pfn_ (isolate_migratepages_block); true
// when the scanner is at the block's end.
bool Compaction::scan_block(Cpu& cpu) {
    const PageMap& map = memory_->machine().map();
    const Pfn end =
        std::min((migrate_pfn_ & ~(kPageblockPages - 1)) + kPageblockPages, zone_->end());
    const Pfn chunk = 1U << std::min(request_.order, kPageblockOrder);
    const bool skip_on_failure = mode_ == CompactMode::async && direct_;
    std::uint64_t taken = 0;
    std::uint32_t scanned = 0;
    std::size_t first_of_chunk = sources_.size();
    Pfn at = migrate_pfn_;
    while (at < end && taken < kSwapCluster) {
        if (at % chunk == 0) first_of_chunk = sources_.size();
        const unsigned order = map.order(at);
        ++scanned;
        if (map.kind(at) == Kind::buddy) {
            at += 1U << order;
            continue;
        }
        if (map.kind(at) == Kind::lru && order < request_.order) {
            memory_->isolate(at);
            sources_.push_back(at);
            taken += std::uint64_t{1} << order;
            at += 1U << order;
            continue;
        }
        const Pfn next = map.kind(at) == Kind::none ? at + 1 : at + (1U << order);
        if (!skip_on_failure) {
            at = next;
            continue;
        }
        // This chunk won't be free: what was taken of it goes back.
        while (sources_.size() > first_of_chunk) {
            taken -= std::uint64_t{1} << map.order(sources_.back());
            memory_->put_back(sources_.back());
            sources_.pop_back();
        }
        at = std::max(next, (at / chunk + 1) * chunk);
    }
    migrate_pfn_ = std::min(at, end);
    Counters& counters = memory_->machine().counters();
    counters[Counter::compact_migrate_scanned] += scanned;
    counters[Counter::compact_isolated] += taken;
    cpu.work.add(Work::compact_scan, scanned);
    return migrate_pfn_ >= end;
}

// The free scanner: all free pages of movable blocks that aren't already good enough
// (isolate_freepages), block by block downwards.
void Compaction::find_targets(Cpu& cpu, std::uint64_t pages) {
    Machine& machine = memory_->machine();
    PageMap& map = machine.map();
    while (target_pages_ < pages && free_pfn_ > migrate_pfn_ + kPageblockPages) {
        const Pfn block = (free_pfn_ - 1) & ~(kPageblockPages - 1);
        const Pfn end = free_pfn_;
        if (block <= migrate_pfn_) break;
        free_pfn_ = block;
        if (map.block_type(block) != kMovable) continue;
        std::uint32_t scanned = 0;
        for (Pfn at = block; at < end; ++scanned) {
            const unsigned order = map.order(at);
            if (map.kind(at) != Kind::buddy) {
                at += map.kind(at) == Kind::none ? 1U : 1U << order;
                continue;
            }
            // __isolate_free_page() leaves the min watermark alone.
            const bool spare =
                zone_->would_be_ok(0, zone_->mark(kWmarkMin) + (std::uint64_t{1} << order), kNormal,
                                   0, zone_->seen_free_pages());
            if (order < request_.order && spare) {
                zone_->take_block(cpu.id, at);
                map.set(at, Kind::isolated, order);
                targets_[order].push_back(at);
                target_pages_ += std::uint64_t{1} << order;
            }
            at += 1U << order;
        }
        machine.counters()[Counter::compact_free_scanned] += scanned;
        ++machine.counters()[Counter::zone_lock_holds];
        cpu.work.add(Work::lock);
        cpu.locked = zone_;
        cpu.work.add(Work::compact_scan, scanned);
    }
}

// compaction_alloc(): the smallest that fits, its rest stays in stock.
Pfn Compaction::take_target(unsigned order) {
    unsigned found = order;
    while (found < kOrders && targets_[found].empty())
        ++found;
    if (found == kOrders) return kNoPage;
    const Pfn head = targets_[found].back();
    targets_[found].pop_back();
    PageMap& map = memory_->machine().map();
    while (found > order) {
        --found;
        const Pfn half = head + (1U << found);
        map.set(half, Kind::isolated, found);
        targets_[found].push_back(half);
    }
    target_pages_ -= std::uint64_t{1} << order;
    map.set(head, Kind::isolated, order);
    return head;
}

void Compaction::migrate(Cpu& cpu) {
    Machine& machine = memory_->machine();
    PageMap& map = machine.map();
    std::uint64_t wanted = 0;
    for (const Pfn head : sources_)
        wanted += std::uint64_t{1} << map.order(head);
    find_targets(cpu, wanted);
    zone_->capture = direct_ ? &capture_ : nullptr;
    for (const Pfn from : sources_) {
        const unsigned order = map.order(from);
        const std::uint64_t size = std::uint64_t{1} << order;
        const Pfn to = no_target_ ? kNoPage : take_target(order);
        if (to == kNoPage) {
            // migrate_pages() ends at the first folio for which there is no room.
            memory_->put_back(from);
            if (!no_target_) machine.counters()[Counter::pgmigrate_fail] += size;
            no_target_ = true;
            continue;
        }
        memory_->move_folio(from, to);
        machine.counters()[Counter::pgmigrate_success] += size;
        cpu.work.add(Work::migrate, static_cast<std::uint32_t>(size));
        map.clear(from);
        machine.free_pages(cpu, from, order);
    }
    sources_.clear();
    // What was freed lies on this CPU's lists, where it can't merge: compact_zone() drains them.
    for (std::size_t i = 0; i < machine.zone_count(); ++i) {
        if (&machine.zone(i) == zone_)
            machine.lists(i, cpu.id).drain(*zone_, cpu, machine.counters());
    }
    zone_->capture = nullptr;
}

// __compact_finished(), without the meeting of the scanners.
bool Compaction::finished() const {
    if (capture_.page != kNoPage) return true;
    return migrate_pfn_ % kPageblockPages == 0 &&
           zone_->suitable_block(request_.order, migratetype_of(request_.flags));
}

bool Compaction::round(Cpu& cpu) {
    if (zone_ == nullptr && !next_zone()) return false;
    PageMap& map = memory_->machine().map();
    // Blocks that aren't worth a look cost next to nothing: on to the next one that is.
    while (migrate_pfn_ < free_pfn_ && migrate_pfn_ % kPageblockPages == 0 &&
           !block_is_source(migrate_pfn_)) {
        migrate_pfn_ += kPageblockPages;
        cpu.work.add(Work::compact_scan);
    }
    if (migrate_pfn_ + kPageblockPages > free_pfn_) {
        end_zone(cpu, CompactResult::complete);
        return next_ < zones_.size() && result_ != CompactResult::success;
    }
    const Pfn block = migrate_pfn_ & ~(kPageblockPages - 1);
    const bool at_start = migrate_pfn_ == block;
    const bool at_end = scan_block(cpu);
    if (at_start && at_end && sources_.empty()) map.set_skip(block, true);
    if (!sources_.empty()) migrate(cpu);
    if (finished()) {
        const bool caught = capture_.page != kNoPage;
        if (caught) map.set(capture_.page, Kind::used, request_.order);
        end_zone(cpu, CompactResult::success);
        return false;
    }
    if (no_target_) {
        const bool met = free_pfn_ <= migrate_pfn_ + kPageblockPages;
        end_zone(cpu, met ? CompactResult::complete : CompactResult::contended);
        return next_ < zones_.size();
    }
    return true;
}

}  // namespace mano::model
