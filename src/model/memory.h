// SPDX-License-Identifier: GPL-2.0-or-later
// What owns movable pages: address spaces with their tables, the LRU lists, and swap. Reclaim takes
// from here, compaction moves what is here. Knows the machine; not who asks, nor time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/machine.h"

namespace mano::model {

// A table of base pages: where each is.
class AddressSpace {
  public:
    static constexpr Pfn kUnmapped = kNoPage;
    static constexpr Pfn kSwapped = kNoPage - 1;

    explicit AddressSpace(std::uint16_t number) : number_(number) {}
    std::uint16_t number() const { return number_; }
    std::vector<Pfn> table;      // by slot
    std::uint64_t resident = 0;  // pages
    std::uint64_t swapped = 0;
    bool is_mapped(std::uint32_t slot) const { return table[slot] < kSwapped; }

  private:
    std::uint16_t number_;
};

struct Reclaimed {
    std::uint64_t scanned = 0;
    std::uint64_t pages = 0;
};

class Memory {
  public:
    Memory(MachineShape shape, const KernelVariant& variant, std::uint64_t seed);

    Machine& machine() { return machine_; }
    const Machine& machine() const { return machine_; }
    Rng& rng() { return rng_; }

    // At most 65,535 in all.
    AddressSpace& make_space(std::uint32_t pages);
    // An allocated block becomes a folio of `space` at `slot`, young, on the inactive list.
    void map_folio(AddressSpace& space, std::uint32_t slot, Pfn head, unsigned order);
    // Gives pages back: folios that are unmapped whole are freed, others wait to be split
    // (deferred_split_folio). Swapped pages leave swap.
    void unmap(Cpu& cpu, AddressSpace& space, std::uint32_t slot, std::uint32_t pages);
    // A swapped page comes back in a page of its own (the caller has allocated it).
    void swap_in(Cpu& cpu, AddressSpace& space, std::uint32_t slot, Pfn page);

    // Looks at up to `pages` pages of the inactive list and frees what is old
    // (shrink_inactive_list, or MGLRU's evict_folios). Folios of zones above `highest` are passed
    // over.
    Reclaimed shrink_inactive(Cpu& cpu, Node& node, ZoneIndex highest, std::uint64_t pages);
    // Moves up to `pages` pages from the active to the inactive list.
    void shrink_active(Cpu& cpu, Node& node, std::uint64_t pages);
    bool inactive_is_low(const Node& node) const;
    // Splits up to `folios` partly unmapped ones and frees their unmapped pages; how many came free
    // (the deferred-split shrinker).
    std::uint64_t split_deferred(Cpu& cpu, unsigned folios);
    // An isolated folio goes out to swap and is freed; false: no room, and it is listed again
    // (reclaim_pages(), which asks nobody whether it is old).
    bool page_out(Cpu& cpu, Pfn head);
    bool swap_full() const { return swap_used_ >= machine_.shape().swap_pages; }
    std::uint64_t swap_used() const { return swap_used_; }
    std::uint64_t swap_memory() const { return swap_store_.size(); }
    // Pages of a zone that reclaim could take: none without room in swap.
    std::uint64_t reclaimable(const Zone& zone) const { return swap_full() ? 0 : zone.lru_pages; }

    // --- for compaction
    void isolate(Pfn head);             // off its list
    void put_back(Pfn head);            // on it again
    void move_folio(Pfn from, Pfn to);  // both isolated; `from` is free to be freed afterwards
    AddressSpace& space_of(Pfn head) { return *spaces_[machine_.map().folio(head).owner]; }

    // That tables, folios and lists agree. Empty: they do.
    std::string validate() const;

  private:
    void lru_add(Pfn head, bool active);
    void lru_remove(Pfn head);
    void split_folio(Cpu& cpu, Pfn head);
    bool swap_out(Cpu& cpu, Pfn head);
    void leave_swap(Cpu& cpu, std::uint64_t pages);
    void free_folio(Cpu& cpu, Pfn head, unsigned order);
    Node& node_of(Pfn head) { return machine_.nodes()[machine_.zone_of(head).node()]; }

    Machine machine_;
    Rng rng_;
    std::vector<std::unique_ptr<AddressSpace>> spaces_;
    std::vector<Pfn> deferred_;    // heads that were partly unmapped, perhaps gone since
    std::uint64_t swap_used_ = 0;  // pages in swap
    double swap_owed_ = 0;         // memory that swap takes and hasn't a page for yet, in pages
    std::vector<Pfn> swap_store_;  // pages that hold compressed ones
};

}  // namespace mano::model
