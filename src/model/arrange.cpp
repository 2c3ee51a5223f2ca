// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/arrange.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

namespace mano::model {
namespace {

// Frames in use so far. Its buddy may come free as a whole; if it may as well (`whole`), the two
// would merge, so of two halves one always keeps a page in use.
struct Region {
    Pfn head = 0;
    unsigned order = 0;
    bool whole = false;
};

// Regions of one migrate type, or page blocks that have none yet.
class Pool {
  public:
    void add(const Region& region) { of(region.order, region.whole).push_back(region); }
    // The smallest in which a block of `order` can lie.
    std::optional<Region> take(unsigned order) {
        for (unsigned at = order; at < kOrders; ++at) {
            for (const bool whole : {false, true}) {
                auto& same = of(at, whole);
                if (same.empty() || (at == order && !whole)) continue;
                const Region found = same.back();
                same.pop_back();
                return found;
            }
        }
        return std::nullopt;
    }
    std::vector<Region> rest() const {
        std::vector<Region> all;
        for (const auto& same : regions_)
            all.insert(all.end(), same.begin(), same.end());
        return all;
    }

  private:
    std::vector<Region>& of(unsigned order, bool whole) {
        return regions_[2 * order + (whole ? 1 : 0)];
    }
    std::array<std::vector<Region>, 2 * kOrders> regions_;
};

class Arrangement {
  public:
    Arrangement(Memory& memory, std::size_t zone, const ZoneState& state, Rng& rng)
        : memory_(memory),
          machine_(memory.machine()),
          zone_(machine_.zone(zone)),
          state_(state),
          rng_(rng) {}

    std::uint64_t whole() {
        take_everything();
        std::uint64_t lost = 0;
        for (unsigned order = kOrders; order-- > 0;) {
            for (unsigned type = 0; type < kPcpTypes; ++type) {
                for (std::uint64_t i = 0; i < state_.free[order][type]; ++i) {
                    if (!place(order, static_cast<Migratetype>(type)))
                        lost += std::uint64_t{1} << order;
                }
            }
        }
        type_the_rest();
        free_blocks();
        fill();
        return lost;
    }

  private:
    PageMap& map() { return machine_.map(); }

    // Out of the zone's lists; every frame becomes one that is in use.
    void take_everything() {
        std::vector<Region> all;
        for (Pfn at = zone_.start(); at < zone_.end();) {
            const unsigned order = map().order(at);
            zone_.take_block(0, at);
            all.push_back({at, order, true});
            for (Pfn page = at; page < at + (1U << order); ++page)
                map().set(page, Kind::used, 0);
            at += 1U << order;
        }
        shuffle(all, rng_);
        // The zone's end may be less than a page block, which has one type.
        const auto tail = std::find_if(all.begin(), all.end(), [](const Region& region) {
            return region.order < kPageblockOrder;
        });
        const Migratetype type = tail == all.end() ? kMovable : type_with_most(tail->order);
        for (const Region& region : all) {
            if (region.order >= kPageblockOrder) {
                raw_.add(region);
            } else {
                set_type(region, type);
                pools_[type].add(region);
            }
        }
    }

    Migratetype type_with_most(unsigned order) const {
        const auto& counts = state_.free[order];
        return static_cast<Migratetype>(std::max_element(counts.begin(), counts.end()) -
                                        counts.begin());
    }

    void set_type(const Region& region, Migratetype type) {
        for (Pfn at = region.head; at < region.head + (1U << region.order); at += kPageblockPages)
            map().set_block_type(at, type);
        const std::uint64_t blocks =
            std::max<std::uint64_t>(1, (std::uint64_t{1} << region.order) / kPageblockPages);
        typed_[type] += blocks;
    }

    // Half of a region, by the toss of a coin; the other half keeps a page in use.
    Region halve(const Region& region, Pool& rest) {
        const Pfn half = 1U << (region.order - 1);
        const bool upper = rng_.below(2) != 0;
        rest.add({region.head + (upper ? 0 : half), region.order - 1, false});
        return {region.head + (upper ? half : 0), region.order - 1, true};
    }

    bool place(unsigned order, Migratetype type) {
        std::optional<Region> found;
        if (order < kPageblockOrder) found = pools_[type].take(order);
        if (!found) {
            found = raw_.take(order);
            if (!found) return false;
            while (found->order > std::max(order, kPageblockOrder))
                found = halve(*found, raw_);
            set_type(*found, type);
        }
        while (found->order > order)
            found = halve(*found, pools_[type]);
        free_.push_back(found->head);
        map().set(found->head, Kind::used, order);
        return true;
    }

    // Page blocks without a free block get the types that are left, the others movable.
    void type_the_rest() {
        for (const Region& region : raw_.rest()) {
            Migratetype type = kMovable;
            for (const Migratetype other : {kUnmovable, kReclaimable}) {
                if (typed_[other] < state_.blocks[other]) type = other;
            }
            set_type(region, type);
        }
    }

    void free_blocks() {
        shuffle(free_, rng_);
        for (const Pfn head : free_) {
            const unsigned order = map().order(head);
            for (Pfn page = head; page < head + (1U << order); ++page)
                map().clear(page);
            zone_.free_one(0, head, order);
        }
    }

    // Folios where movable pages lie, as many as the zone has on its LRU lists; first the old ones.
    void fill() {
        std::vector<Pfn> movable;
        for (Pfn at = zone_.start(); at < zone_.end(); ++at) {
            if (map().is(at, Kind::used, 0) && map().block_type(at) == kMovable)
                movable.push_back(at);
        }
        shuffle(movable, rng_);
        movable.resize(std::min<std::uint64_t>(movable.size(), state_.inactive + state_.active));
        if (movable.empty()) return;
        AddressSpace& space = memory_.make_space(static_cast<std::uint32_t>(movable.size()));
        for (std::uint32_t slot = 0; slot < movable.size(); ++slot) {
            const Pfn page = movable[slot];
            memory_.map_folio(space, slot, page, 0);
            PageMap::Folio& folio = map().folio(page);
            folio.young = 0;
            if (slot < state_.inactive) continue;
            memory_.isolate(page);
            folio.active = 1;
            memory_.put_back(page);
        }
    }

    Memory& memory_;
    Machine& machine_;
    Zone& zone_;
    const ZoneState& state_;
    Rng& rng_;
    Pool raw_;
    std::array<Pool, kPcpTypes> pools_;
    std::array<std::uint64_t, kPcpTypes> typed_{};
    std::vector<Pfn> free_;
};

}  // namespace

std::uint64_t arrange(Memory& memory, std::size_t zone, const ZoneState& state, Rng& rng) {
    Arrangement arrangement(memory, zone, state, rng);
    const std::uint64_t lost = arrangement.whole();
    memory.machine().counters() = {};
    return lost;
}

}  // namespace mano::model
