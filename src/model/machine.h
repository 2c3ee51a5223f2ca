// SPDX-License-Identifier: GPL-2.0-or-later
// A machine's memory: nodes, zones, per-CPU lists, and the fast path over them (mm/page_alloc.c:
// get_page_from_freelist, __free_frozen_pages, vfree's and perf's ways in and out). A state machine
// without time: it counts what it does in Cpu::work and says in `wake` whom it would wake.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "model/per_cpu.h"

namespace mano::model {

struct NodeShape {
    std::array<std::uint64_t, kZoneKinds> managed{};  // pages of each zone; 0: no such zone
    unsigned cpus = 1;
};

struct MachineShape {
    std::vector<NodeShape> nodes;
    BootSettings boot;         // `cpus` is filled in
    bool large_cache = false;  // PCPF_FREE_HIGH_BATCH: a CPU's cache slice is over 3 batches
    bool lru_gen = true;
    std::uint64_t swap_pages = 0;
    double swap_ratio = 0.25;  // memory that a page in compressed swap takes, in pages
    // As QEMU or firmware lays out a machine of `pages` pages on one node: DMA, DMA32, NORMAL.
    static MachineShape plain(std::uint64_t pages, unsigned cpus);
    unsigned cpus() const;
};

struct Request {
    Gfp flags = gfp::kKernel;
    unsigned order = 0;
    unsigned node = 0;      // preferred
    bool memalloc = false;  // PF_MEMALLOC: may use the reserves unless NOMEMALLOC
};

// A node's LRU and what its kernel threads were asked for.
struct Node {
    std::vector<Zone*> zones;     // lowest first
    std::vector<Zone*> zonelist;  // every zone of the machine in the order tried from here
    PageList inactive, active;    // anonymous folios; the classic two lists
    std::uint64_t inactive_pages = 0, active_pages = 0;
    bool kswapd_awake = false;
    unsigned kswapd_order = 0;
    ZoneIndex kswapd_highest = kNormal;
    unsigned kswapd_failures = 0;
    bool kcompactd_awake = false;
    unsigned kcompactd_order = 0;
};

class Machine {
  public:
    // Throws std::bad_alloc.
    Machine(MachineShape shape, const KernelVariant& variant);

    // --- the fast path
    // alloc_flags of the first attempt: gfp_to_alloc_flags() and alloc_flags_nofragment().
    AllocFlags fast_flags(const Request& request) const;
    // get_page_from_freelist(). kNoPage: no zone above its mark has such a block. Not counted as an
    // allocation yet: got() does that.
    Pfn get_page(Cpu& cpu, const Request& request, AllocFlags flags);
    // What a request that was served leaves in the counters (the end of __alloc_pages).
    void got(const Request& request);
    // The fast path alone, for those who don't wait: get_page() at the low mark and got().
    Pfn try_alloc(Cpu& cpu, const Request& request);

    // --- freeing
    void free_pages(Cpu& cpu, Pfn head, unsigned order);
    // To the zone itself, whatever its order.
    void free_to_zone(Cpu& cpu, Pfn head, unsigned order);
    // __free_contig_range(): naturally aligned blocks, as large as they come.
    void free_contiguous(Cpu& cpu, Pfn first, std::uint64_t pages);
    // split_page(): an allocated block becomes so many single pages.
    void split(Pfn head, unsigned order);
    void drain_all(Cpu& cpu);
    // The vmstat worker's second: decay of each CPU's lists.
    void decay(Cpu& cpu);

    // --- kernel threads
    void wake_kswapd(const Request& request, ZoneIndex highest);
    bool balanced(const Node& node, unsigned order, ZoneIndex highest) const;

    PageMap& map() { return map_; }
    const PageMap& map() const { return map_; }
    Counters& counters() { return counters_; }
    const KernelVariant& variant() const { return variant_; }
    const MachineShape& shape() const { return shape_; }
    std::vector<Node>& nodes() { return nodes_; }
    std::size_t zone_count() const { return zones_.size(); }
    Zone& zone(std::size_t index) { return *zones_[index]; }
    Zone& zone_of(Pfn pfn) { return *zones_[zone_of_chunk_[pfn >> kMaxOrder]]; }
    PerCpuPages& lists(std::size_t zone, unsigned cpu) { return lists_[zone * cpus_ + cpu]; }
    unsigned cpus() const { return cpus_; }
    unsigned node_of_cpu(unsigned cpu) const { return node_of_cpu_[cpu]; }
    std::uint64_t free_pages_total() const;
    std::uint64_t pcp_pages_total() const;

    // Every invariant of zones and lists; and that each managed page is in exactly one place.
    std::string validate() const;

  private:
    Pfn rmqueue(Cpu& cpu, Zone& zone, const Request& request, AllocFlags flags);
    void build_zones();
    void build_zonelists();

    MachineShape shape_;
    const KernelVariant& variant_;
    unsigned cpus_;
    PageMap map_;
    Counters counters_;
    std::vector<std::unique_ptr<Zone>> zones_;
    std::vector<std::uint8_t> zone_of_chunk_;
    std::vector<PerCpuPages> lists_;  // by zone, then CPU
    std::vector<Node> nodes_;
    std::vector<unsigned> node_of_cpu_;
};

}  // namespace mano::model
