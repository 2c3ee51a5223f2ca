// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mano::model {

Memory::Memory(MachineShape shape, const KernelVariant& variant, std::uint64_t seed)
    : machine_(std::move(shape), variant), rng_(seed) {}

AddressSpace& Memory::make_space(std::uint32_t pages) {
    spaces_.push_back(std::make_unique<AddressSpace>(static_cast<std::uint16_t>(spaces_.size())));
    spaces_.back()->table.assign(pages, AddressSpace::kUnmapped);
    return *spaces_.back();
}

void Memory::lru_add(Pfn head, bool active) {
    PageMap& map = machine_.map();
    const unsigned order = map.order(head);
    map.set(head, Kind::lru, order);
    map.folio(head).active = active;
    Node& node = node_of(head);
    map.push_front(active ? node.active : node.inactive, head);
    (active ? node.active_pages : node.inactive_pages) += std::uint64_t{1} << order;
    machine_.zone_of(head).lru_pages += std::uint64_t{1} << order;
}

void Memory::lru_remove(Pfn head) {
    PageMap& map = machine_.map();
    const unsigned order = map.order(head);
    Node& node = node_of(head);
    const bool active = map.folio(head).active != 0;
    map.remove(active ? node.active : node.inactive, head);
    (active ? node.active_pages : node.inactive_pages) -= std::uint64_t{1} << order;
    machine_.zone_of(head).lru_pages -= std::uint64_t{1} << order;
    map.set(head, Kind::isolated, order);
}

void Memory::isolate(Pfn head) {
    lru_remove(head);
}
void Memory::put_back(Pfn head) {
    lru_add(head, machine_.map().folio(head).active != 0);
}

void Memory::map_folio(AddressSpace& space, std::uint32_t slot, Pfn head, unsigned order) {
    PageMap::Folio& folio = machine_.map().folio(head);
    folio = {};
    folio.slot = slot;
    folio.owner = space.number();
    folio.young = 1;
    machine_.map().set(head, Kind::isolated, order);
    lru_add(head, false);
    for (std::uint32_t i = 0; i < 1U << order; ++i)
        space.table[slot + i] = head + i;
    space.resident += std::uint64_t{1} << order;
}

void Memory::free_folio(Cpu& cpu, Pfn head, unsigned order) {
    machine_.map().clear(head);
    machine_.free_pages(cpu, head, order);
}

void Memory::unmap(Cpu& cpu, AddressSpace& space, std::uint32_t slot, std::uint32_t pages) {
    PageMap& map = machine_.map();
    std::uint64_t from_swap = 0;
    for (std::uint32_t at = slot; at < slot + pages;) {
        const Pfn pfn = space.table[at];
        if (pfn >= AddressSpace::kSwapped) {
            from_swap += pfn == AddressSpace::kSwapped ? 1 : 0;
            space.table[at++] = AddressSpace::kUnmapped;
            continue;
        }
        Pfn head = pfn;
        while (map.kind(head) == Kind::none)
            --head;
        const unsigned order = map.order(head);
        const std::uint32_t first = map.folio(head).slot;
        const std::uint32_t whole = 1U << order;
        const std::uint32_t end = std::min(first + whole, slot + pages);
        for (; at < end; ++at) {
            if (space.table[at] < AddressSpace::kSwapped) --space.resident;
            space.table[at] = AddressSpace::kUnmapped;
        }
        const bool gone =
            std::all_of(space.table.begin() + first, space.table.begin() + first + whole,
                        [](Pfn p) { return p == AddressSpace::kUnmapped; });
        if (gone) {
            lru_remove(head);
            free_folio(cpu, head, order);
        } else if (map.folio(head).partial == 0) {
            map.folio(head).partial = 1;
            deferred_.push_back(head);
        }
    }
    space.swapped -= from_swap;
    leave_swap(cpu, from_swap);
}

// The folio becomes single pages; those that nobody maps are freed.
void Memory::split_folio(Cpu& cpu, Pfn head) {
    PageMap& map = machine_.map();
    const unsigned order = map.order(head);
    const PageMap::Folio folio = map.folio(head);
    AddressSpace& space = *spaces_[folio.owner];
    const bool listed = map.kind(head) == Kind::lru;
    if (listed) lru_remove(head);
    ++machine_.counters()[Counter::thp_split_page];
    for (std::uint32_t i = 0; i < 1U << order; ++i) {
        const Pfn pfn = head + i;
        map.set(pfn, Kind::isolated, 0);
        if (space.table[folio.slot + i] != pfn) {
            free_folio(cpu, pfn, 0);
            continue;
        }
        map.folio(pfn) = folio;
        map.folio(pfn).slot = folio.slot + i;
        map.folio(pfn).partial = 0;
        lru_add(pfn, folio.active != 0);
    }
}

std::uint64_t Memory::split_deferred(Cpu& cpu, unsigned folios) {
    PageMap& map = machine_.map();
    const std::uint64_t before = machine_.counters()[Counter::pgfree];
    for (; folios > 0 && !deferred_.empty(); --folios) {
        const Pfn head = deferred_.back();
        deferred_.pop_back();
        // It may have been freed or moved since.
        if (map.kind(head) == Kind::lru && map.folio(head).partial != 0) split_folio(cpu, head);
    }
    return machine_.counters()[Counter::pgfree] - before;
}

// A page that is compressed takes its share of a page from the allocator, reserves included, since
// reclaim itself asks (PF_MEMALLOC). False: no room.
bool Memory::swap_out(Cpu& cpu, Pfn head) {
    PageMap& map = machine_.map();
    const unsigned order = map.order(head);
    const std::uint64_t pages = std::uint64_t{1} << order;
    if (swap_used_ + pages > machine_.shape().swap_pages) return false;
    swap_owed_ += static_cast<double>(pages) * machine_.shape().swap_ratio;
    while (swap_owed_ >= 1) {
        Request request;
        request.flags = gfp::kKswapdReclaim | gfp::kHighmem | gfp::kMovable | gfp::kNowarn;
        request.node = machine_.node_of_cpu(cpu.id);
        const Pfn page = machine_.get_page(cpu, request, kNoWatermarks | kAllocKswapd);
        machine_.got(request);
        if (page == kNoPage) {
            swap_owed_ -= static_cast<double>(pages) * machine_.shape().swap_ratio;
            return false;
        }
        swap_store_.push_back(page);
        swap_owed_ -= 1;
    }
    swap_used_ += pages;
    AddressSpace& space = space_of(head);
    const std::uint32_t slot = map.folio(head).slot;
    for (std::uint32_t i = 0; i < pages; ++i)
        space.table[slot + i] = AddressSpace::kSwapped;
    space.resident -= pages;
    space.swapped += pages;
    machine_.counters()[Counter::pswpout] += pages;
    cpu.work.add(Work::swap, static_cast<std::uint32_t>(pages));
    return true;
}

bool Memory::page_out(Cpu& cpu, Pfn head) {
    cpu.work.add(Work::scan);
    if (!swap_out(cpu, head)) {
        put_back(head);
        return false;
    }
    free_folio(cpu, head, machine_.map().order(head));
    return true;
}

void Memory::leave_swap(Cpu& cpu, std::uint64_t pages) {
    swap_used_ -= pages;
    swap_owed_ -= static_cast<double>(pages) * machine_.shape().swap_ratio;
    while (swap_owed_ <= -1 && !swap_store_.empty()) {
        machine_.free_pages(cpu, swap_store_.back(), 0);
        swap_store_.pop_back();
        swap_owed_ += 1;
    }
}

void Memory::swap_in(Cpu& cpu, AddressSpace& space, std::uint32_t slot, Pfn page) {
    ++machine_.counters()[Counter::pswpin];
    ++machine_.counters()[Counter::pgmajfault];
    cpu.work.add(Work::swapin);
    --space.swapped;
    leave_swap(cpu, 1);
    map_folio(space, slot, page, 0);
}

Reclaimed Memory::shrink_inactive(Cpu& cpu, Node& node, ZoneIndex highest, std::uint64_t pages) {
    PageMap& map = machine_.map();
    Counters& counters = machine_.counters();
    Reclaimed done;
    // Everything is looked at once at most, skipped folios included.
    for (std::uint32_t left = node.inactive.size; left > 0 && done.scanned < pages; --left) {
        Pfn head = node.inactive.last;
        if (head == kNoPage) break;
        if (machine_.zone_of(head).index() > highest) {
            lru_remove(head);
            lru_add(head, false);
            continue;
        }
        PageMap::Folio& folio = map.folio(head);
        const std::uint64_t size = std::uint64_t{1} << map.order(head);
        done.scanned += size;
        cpu.work.add(Work::scan);
        lru_remove(head);
        // folio_check_references(): a second look before anything goes that was touched.
        if (folio.young != 0) {
            const bool activate = folio.referenced != 0;
            folio.young = 0;
            folio.referenced = 1;
            lru_add(head, activate);
            counters[Counter::pgactivate] += activate ? size : 0;
            continue;
        }
        if (folio.partial != 0) {
            // Split: its pages come up again by themselves.
            lru_add(head, false);
            const std::uint64_t before = counters[Counter::pgfree];
            split_folio(cpu, head);
            done.pages += counters[Counter::pgfree] - before;
            continue;
        }
        if (!swap_out(cpu, head)) {
            lru_add(head, true);
            continue;
        }
        free_folio(cpu, head, map.order(head));
        done.pages += size;
    }
    counters[Counter::pgscan_anon] += done.scanned;
    counters[Counter::pgsteal_anon] += done.pages;
    return done;
}

void Memory::shrink_active(Cpu& cpu, Node& node, std::uint64_t pages) {
    for (std::uint64_t scanned = 0; scanned < pages && !node.active.empty();) {
        const Pfn head = node.active.last;
        const std::uint64_t size = std::uint64_t{1} << machine_.map().order(head);
        scanned += size;
        cpu.work.add(Work::scan);
        lru_remove(head);
        lru_add(head, false);
        machine_.counters()[Counter::pgrefill] += size;
    }
}

// inactive_is_low(): by the square root of the lists' size in GiB.
bool Memory::inactive_is_low(const Node& node) const {
    const std::uint64_t gb = (node.inactive_pages + node.active_pages) >> (30 - 12);
    const auto ratio = gb == 0
                           ? std::uint64_t{1}
                           : static_cast<std::uint64_t>(std::sqrt(static_cast<double>(10 * gb)));
    return node.inactive_pages * ratio < node.active_pages;
}

void Memory::move_folio(Pfn from, Pfn to) {
    PageMap& map = machine_.map();
    const unsigned order = map.order(from);
    const PageMap::Folio folio = map.folio(from);
    AddressSpace& space = *spaces_[folio.owner];
    map.folio(to) = folio;
    map.set(to, Kind::isolated, order);
    for (std::uint32_t i = 0; i < 1U << order; ++i) {
        Pfn& entry = space.table[folio.slot + i];
        if (entry == from + i) entry = to + i;
    }
    if (folio.partial != 0) deferred_.push_back(to);
    lru_add(to, folio.active != 0);
}

std::string Memory::validate() const {
    if (std::string breach = machine_.validate(); !breach.empty()) return breach;
    const PageMap& map = machine_.map();
    for (const auto& space : spaces_) {
        std::uint64_t resident = 0;
        std::uint64_t swapped = 0;
        for (std::uint32_t slot = 0; slot < space->table.size(); ++slot) {
            const Pfn pfn = space->table[slot];
            swapped += pfn == AddressSpace::kSwapped ? 1 : 0;
            if (pfn >= AddressSpace::kSwapped) continue;
            ++resident;
            Pfn head = pfn;
            while (map.kind(head) == Kind::none && head > 0)
                --head;
            const PageMap::Folio& folio = map.folio(head);
            const bool listed = map.kind(head) == Kind::lru || map.kind(head) == Kind::isolated;
            const bool right =
                listed && folio.owner == space->number() && folio.slot + (pfn - head) == slot;
            if (!right)
                return fmt::format("space {} slot {}: page {} isn't its own", int{space->number()},
                                   slot, pfn);
        }
        if (resident != space->resident || swapped != space->swapped)
            return fmt::format("space {} counts {} + {}, its table has {} + {}",
                               int{space->number()}, space->resident, space->swapped, resident,
                               swapped);
    }
    std::uint64_t swapped = 0;
    for (const auto& space : spaces_)
        swapped += space->swapped;
    if (swapped != swap_used_)
        return fmt::format("swap holds {}, tables say {}", swap_used_, swapped);
    return {};
}

}  // namespace mano::model
