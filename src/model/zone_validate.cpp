// SPDX-License-Identifier: GPL-2.0-or-later
// The invariants of a zone's lists (docs/model.md), checked from the page map up.
#include <fmt/format.h>

#include "model/zone.h"

namespace mano::model {
namespace {

std::string check_list(const Zone& zone, unsigned order, Migratetype type, std::uint64_t& blocks) {
    const PageMap& map = zone.map();
    const PageList& list = zone.list(order, type);
    std::uint32_t seen = 0;
    for (Pfn pfn = list.first; pfn != kNoPage; pfn = map.next(pfn)) {
        if (++seen > list.size)
            return fmt::format("list {}/{} is longer than its size", order, int{type});
        if (!map.is(pfn, Kind::buddy, order))
            return fmt::format("page {} in list {}/{} is no free head", pfn, order, int{type});
        if ((pfn & ((1U << order) - 1)) != 0)
            return fmt::format("page {} of order {} is not aligned", pfn, order);
        for (Pfn block = pfn; block < pfn + (1U << order); block += kPageblockPages) {
            if (map.block_type(block) != type)
                return fmt::format("page {} in the lists of type {} lies in a block of type {}",
                                   pfn, int{type}, int{map.block_type(block)});
        }
        const Pfn buddy = pfn ^ (1U << order);
        // From the block's order on, types that don't merge may lie side by side; so may halves
        // whose block was retyped.
        if (order < kPageblockOrder && map.is(buddy, Kind::buddy, order))
            return fmt::format("pages {} and {} are free buddies of order {}", pfn, buddy, order);
    }
    if (seen != list.size)
        return fmt::format("list {}/{} has {} pages, not {}", order, int{type}, seen, list.size);
    blocks += seen;
    return {};
}

}  // namespace

std::string Zone::validate() const {
    std::uint64_t free = 0;
    for (unsigned order = 0; order < kOrders; ++order) {
        std::uint64_t blocks = 0;
        for (unsigned type = 0; type < kTypes; ++type) {
            const auto as = static_cast<Migratetype>(type);
            if (std::string breach = check_list(*this, order, as, blocks); !breach.empty())
                return breach;
            const bool bit = (orders_of_[type] >> order & 1) != 0;
            if (bit == lists_[order][type].empty())
                return fmt::format("mask of type {} is wrong at order {}", type, order);
        }
        if (blocks != nr_free_[order])
            return fmt::format("nr_free[{}] is {}, the lists have {}", order, nr_free_[order],
                               blocks);
        free += blocks << order;
    }
    if (free != free_pages())
        return fmt::format("NR_FREE_PAGES is {}, the lists have {}", free_, free);
    std::int64_t hidden = 0;
    for (const std::int16_t share : hidden_)
        hidden += share;
    if (seen_free_ + hidden != free_)
        return fmt::format("the CPUs' shares are off: {} + {} != {}", seen_free_, hidden, free_);
    return {};
}

}  // namespace mano::model
