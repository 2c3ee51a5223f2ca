// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/zone.h"

#include <algorithm>
#include <bit>

namespace mano::model {
namespace {

// mm/page_alloc.c, fallbacks[]: where each type goes when its own lists are empty.
constexpr std::array<std::array<Migratetype, 2>, kPcpTypes> kFallbacks{{
    {kReclaimable, kMovable},
    {kReclaimable, kUnmovable},
    {kUnmovable, kMovable},
}};

constexpr Pfn buddy_of(Pfn head, unsigned order) {
    return head ^ (1U << order);
}

// should_try_claim_block(): whether taking over a whole block is worth it.
constexpr bool claim_worth(unsigned order, Migratetype type) {
    return order >= kPageblockOrder / 2 || type == kUnmovable || type == kReclaimable;
}

}  // namespace

Zone::Zone(PageMap& map, Counters& counters, const ZoneSize& size, const ZoneConstants& constants,
           Pfn start, unsigned cpus)
    : map_(map),
      counters_(counters),
      size_(size),
      constants_(constants),
      start_(start),
      hidden_(cpus, 0) {
    const std::int64_t drift =
        static_cast<std::int64_t>(constants.stat_threshold) * static_cast<std::int64_t>(cpus);
    const auto low_to_min = static_cast<std::int64_t>(constants.low - constants.min);
    // refresh_zone_stat_thresholds(): only where drift could hide a breach of min.
    if (drift > low_to_min) drift_mark_ = static_cast<std::int64_t>(constants.high) + drift;
    for (Pfn block = start_; block < end(); block += kPageblockPages)
        map_.set_block_type(block, kMovable);
    Pfn at = start_;
    while (at < end()) {
        unsigned order = std::min(kMaxOrder, static_cast<unsigned>(std::countr_zero(at | 1024U)));
        while (at + (1U << order) > end())
            --order;
        add(at, order, kMovable, true);
        account(0, std::int64_t{1} << order);
        at += 1U << order;
    }
}

void Zone::add(Pfn head, unsigned order, Migratetype type, bool to_tail) {
    PageList& list = lists_[order][type];
    map_.set(head, Kind::buddy, order);
    if (to_tail) {
        map_.push_back(list, head);
    } else {
        map_.push_front(list, head);
    }
    ++nr_free_[order];
    orders_of_[type] = static_cast<std::uint16_t>(orders_of_[type] | 1U << order);
}

void Zone::remove(Pfn head, unsigned order, Migratetype type) {
    PageList& list = lists_[order][type];
    map_.remove(list, head);
    map_.clear(head);
    --nr_free_[order];
    if (list.empty())
        orders_of_[type] = static_cast<std::uint16_t>(orders_of_[type] & ~(1U << order));
}

// __mod_zone_page_state(): a CPU keeps up to the threshold to itself.
void Zone::account(unsigned cpu, std::int64_t pages) {
    free_ += pages;
    const std::int64_t sum = hidden_[cpu] + pages;
    const auto threshold = static_cast<std::int64_t>(constants_.stat_threshold);
    if (sum > threshold || sum < -threshold) {
        seen_free_ += sum;
        hidden_[cpu] = 0;
    } else {
        hidden_[cpu] = static_cast<std::int16_t>(sum);
    }
}

// buddy_merge_likely(): when the next-higher buddy is free already, the pair may soon be whole, so
// this half goes where it is used last.
bool Zone::merge_likely(Pfn head, unsigned order) const {
    if (order >= kMaxOrder - 1) return false;
    const Pfn higher = head & ~(1U << order);
    const Pfn other = buddy_of(higher, order + 1);
    return map_.is(other, Kind::buddy, order + 1);
}

void Zone::free_one(unsigned cpu, Pfn head, unsigned order, bool to_tail) {
    const Migratetype type = map_.block_type(head);
    account(cpu, std::int64_t{1} << order);
    while (order < kMaxOrder) {
        if (capture != nullptr && capture->page == kNoPage && order == capture->order &&
            (type != kMovable || capture->type == kMovable || order >= kPageblockOrder)) {
            capture->page = head;
            account(cpu, -(std::int64_t{1} << order));
            return;
        }
        const Pfn buddy = buddy_of(head, order);
        if (!map_.is(buddy, Kind::buddy, order)) break;
        const Migratetype other = map_.block_type(buddy);
        if (other != type && order >= kPageblockOrder &&
            (type >= kPcpTypes || other >= kPcpTypes)) {
            break;
        }
        remove(buddy, order, other);
        if (other != type) {
            for (Pfn block = buddy; block < buddy + (1U << order); block += kPageblockPages)
                map_.set_block_type(block, type);
        }
        head &= buddy;
        ++order;
    }
    add(head, order, type, to_tail || merge_likely(head, order));
}

void Zone::expand(Pfn head, unsigned low, unsigned high, Migratetype type) {
    while (high > low) {
        --high;
        add(head + (1U << high), high, type, false);
    }
}

Pfn Zone::take_smallest(unsigned order, Migratetype type) {
    const unsigned fitting = static_cast<unsigned>(orders_of_[type]) >> order;
    if (fitting == 0) return kNoPage;
    const unsigned found = order + static_cast<unsigned>(std::countr_zero(fitting));
    const Pfn head = lists_[found][type].first;
    remove(head, found, type);
    expand(head, order, found, type);
    note_taken(order, type);
    return head;
}

void Zone::note_taken(unsigned order, Migratetype) {
    ++counters_[Counter::zone_locked];
    if (order == 0) ++counters_[Counter::zone_locked_order0];
}

void Zone::note_extfrag(unsigned order) {
    ++counters_[Counter::extfrag];
    if (order == 0) ++counters_[Counter::extfrag_order0];
}

void Zone::boost_watermark() {
    if (managed() < kPageblockPages * 4U) return;
    constexpr std::uint64_t kBoostFactor = 15000;  // vm.watermark_boost_factor
    const std::uint64_t cap =
        std::max<std::uint64_t>(kPageblockPages, constants_.high * kBoostFactor / 10000);
    boost_ = std::min(boost_ + kPageblockPages, cap);
}

// move_freepages_block() and set_pageblock_migratetype().
void Zone::retype_block(Pfn pfn, Migratetype type) {
    const Pfn first = pfn & ~(kPageblockPages - 1);
    const Migratetype old = map_.block_type(first);
    for (Pfn at = first; at < first + kPageblockPages;) {
        if (map_.kind(at) != Kind::buddy) {
            ++at;
            continue;
        }
        const unsigned order = map_.order(at);
        remove(at, order, old);
        add(at, order, type, true);
        at += 1U << order;
    }
    map_.set_block_type(first, type);
}

// try_to_claim_block().
Pfn Zone::claim_from(Pfn head, unsigned order, unsigned found, Migratetype type, Migratetype from,
                     AllocFlags flags) {
    if (found >= kPageblockOrder) {
        remove(head, found, from);
        for (Pfn block = head; block < head + (1U << found); block += kPageblockPages)
            map_.set_block_type(block, type);
        expand(head, order, found, type);
        return head;
    }
    boost_watermark();
    if (boost_ != 0 && (flags & kAllocKswapd) != 0) boosted = true;
    const Pfn first = head & ~(kPageblockPages - 1);
    if (first < start_ || first + kPageblockPages > end()) return kNoPage;
    unsigned free = 0;
    unsigned movable = 0;
    for (Pfn at = first; at < first + kPageblockPages;) {
        const unsigned pages = 1U << map_.order(at);
        switch (map_.kind(at)) {
            case Kind::buddy:
                free += pages;
                at += pages;
                break;
            case Kind::lru:
                movable += pages;
                at += pages;
                break;
            case Kind::used:
                at += pages;
                break;
            default:
                ++at;
        }
    }
    // Pages that would fit the new type as well.
    const unsigned alike = type == kMovable ? movable
                           : from == kMovable
                               ? kPageblockPages - std::min(kPageblockPages, free + movable)
                               : 0;
    if (free + alike < kPageblockPages / 2) return kNoPage;
    retype_block(first, type);
    return take_smallest(order, type);
}

// __rmqueue_claim(): from the largest blocks downwards.
Pfn Zone::claim(unsigned order, Migratetype type, AllocFlags flags) {
    const unsigned least =
        (flags & kNofragment) != 0 && order < kPageblockOrder ? kPageblockOrder : order;
    for (unsigned found = kMaxOrder + 1; found-- > least;) {
        if (!claim_worth(found, type)) return kNoPage;
        for (const Migratetype from : kFallbacks[type]) {
            if (lists_[found][from].empty()) continue;
            const Pfn head = claim_from(lists_[found][from].first, order, found, type, from, flags);
            if (head != kNoPage) {
                note_extfrag(order);
                return head;
            }
            break;  // the first type that has something decides
        }
    }
    return kNoPage;
}

// __rmqueue_steal(): the smallest piece of another type, which stays that type's.
Pfn Zone::steal(unsigned order, Migratetype type) {
    for (unsigned found = order; found <= kMaxOrder; ++found) {
        for (const Migratetype from : kFallbacks[type]) {
            if (lists_[found][from].empty()) continue;
            const Pfn head = lists_[found][from].first;
            remove(head, found, from);
            expand(head, order, found, from);
            note_extfrag(order);
            return head;
        }
    }
    return kNoPage;
}

Pfn Zone::take(unsigned cpu, unsigned order, Migratetype type, AllocFlags flags, Fallback& mode) {
    Pfn head = kNoPage;
    if (mode == Fallback::normal) {
        head = take_smallest(order, type);
        if (head == kNoPage) mode = Fallback::claim;
    }
    if (head == kNoPage && type < kPcpTypes && mode == Fallback::claim) {
        head = claim(order, type, flags);
        // A claimed block has more to give: back to normal.
        mode = head != kNoPage ? Fallback::normal : Fallback::steal;
    }
    if (head == kNoPage && type < kPcpTypes && (flags & kNofragment) == 0) {
        head = steal(order, type);
        mode = Fallback::steal;
    }
    if (head != kNoPage) account(cpu, -(std::int64_t{1} << order));
    return head;
}

void Zone::take_block(unsigned cpu, Pfn head) {
    const unsigned order = map_.order(head);
    remove(head, order, map_.block_type(head));
    account(cpu, -(std::int64_t{1} << order));
}

bool Zone::find_free(Pfn pfn, Pfn& head) const {
    for (unsigned order = 0; order <= kMaxOrder; ++order) {
        head = pfn & ~((1U << order) - 1);
        if (map_.kind(head) == Kind::buddy && map_.order(head) >= order) return true;
    }
    return false;
}

std::uint64_t Zone::mark(AllocFlags flags) const {
    const std::uint64_t marks[] = {constants_.min, constants_.low, constants_.high,
                                   constants_.promo};
    return marks[flags & kWmarkMask] + boost_;
}

bool Zone::has_block(unsigned order, Migratetype type) const {
    return static_cast<unsigned>(orders_of_[type]) >> order != 0;
}

bool Zone::suitable_block(unsigned order, Migratetype type) const {
    if (has_block(order, type)) return true;
    for (unsigned found = order; found <= kMaxOrder; ++found) {
        if (!claim_worth(found, type)) continue;
        for (const Migratetype from : kFallbacks[type]) {
            if (!lists_[found][from].empty()) return true;
        }
    }
    return false;
}

// __zone_watermark_ok().
bool Zone::would_be_ok(unsigned order, std::uint64_t mark_pages, ZoneIndex highest,
                       AllocFlags flags, std::int64_t free) const {
    auto min = static_cast<std::int64_t>(mark_pages);
    free -= (std::int64_t{1} << order) - 1;
    if ((flags & kMinReserve) != 0) {
        min -= min / 2;
        if ((flags & kNonBlock) != 0) min -= min / 4;
    }
    if ((flags & kOom) != 0) min -= min / 2;
    if (free <= min + static_cast<std::int64_t>(constants_.lowmem_reserve[highest])) return false;
    if (order == 0) return true;
    const unsigned any = static_cast<unsigned>(orders_of_[kUnmovable] | orders_of_[kMovable] |
                                               orders_of_[kReclaimable]);
    return any >> order != 0;
}

bool Zone::watermark_ok(unsigned order, std::uint64_t mark_pages, ZoneIndex highest,
                        AllocFlags flags) const {
    if (would_be_ok(order, mark_pages, highest, flags, seen_free_)) return true;
    // zone_watermark_fast(): a high-priority single page doesn't mind a boost.
    if (order == 0 && (flags & kMinReserve) != 0 && boost_ != 0 &&
        (flags & kWmarkMask) == kWmarkMin) {
        return would_be_ok(order, constants_.min, highest, flags, seen_free_);
    }
    return false;
}

bool Zone::watermark_ok_safe(unsigned order, std::uint64_t mark_pages, ZoneIndex highest) const {
    const std::int64_t free = drift_mark_ != 0 && seen_free_ < drift_mark_ ? free_ : seen_free_;
    return would_be_ok(order, mark_pages, highest, 0, free);
}

int Zone::fragmentation_index(unsigned order) const {
    std::uint64_t blocks = 0;
    std::uint64_t pages = 0;
    std::uint64_t suitable = 0;
    for (unsigned o = 0; o < kOrders; ++o) {
        blocks += nr_free_[o];
        pages += nr_free_[o] << o;
        if (o >= order) suitable += nr_free_[o] << (o - order);
    }
    if (blocks == 0) return 0;
    if (suitable != 0) return -1000;
    const std::uint64_t requested = std::uint64_t{1} << order;
    return 1000 - static_cast<int>((1000 + pages * 1000 / requested) / blocks);
}

}  // namespace mano::model
