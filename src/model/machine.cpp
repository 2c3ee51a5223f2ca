// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace mano::model {
namespace {

constexpr Pfn kChunk = 1U << kMaxOrder;

// Zones begin at multiples of order 10, so that no block reaches into another zone.
constexpr Pfn chunks_of(std::uint64_t pages) {
    return static_cast<Pfn>((pages + kChunk - 1) / kChunk);
}

Pfn frames_of(const MachineShape& shape) {
    std::uint64_t frames = 0;
    for (const NodeShape& node : shape.nodes) {
        for (const std::uint64_t managed : node.managed)
            frames += std::uint64_t{chunks_of(managed)} * kChunk;
    }
    return static_cast<Pfn>(std::min<std::uint64_t>(frames, kNoPage - kChunk));
}

}  // namespace

MachineShape MachineShape::plain(std::uint64_t pages, unsigned cpus) {
    // The first 16 MiB are DMA, below 4 GiB DMA32; firmware keeps 1 MiB of the first for itself.
    constexpr std::uint64_t kDmaPages = 3840;
    constexpr std::uint64_t kDma32End = std::uint64_t{3} << 18;  // 3 GiB: below the PCI hole
    MachineShape shape;
    NodeShape node;
    node.cpus = cpus;
    node.managed[kDma] = std::min(pages, kDmaPages);
    const std::uint64_t rest = pages - node.managed[kDma];
    node.managed[kDma32] = std::min(rest, kDma32End);
    node.managed[kNormal] = rest - node.managed[kDma32];
    shape.nodes.push_back(node);
    return shape;
}

unsigned MachineShape::cpus() const {
    unsigned sum = 0;
    for (const NodeShape& node : nodes)
        sum += node.cpus;
    return std::max(1U, sum);
}

Machine::Machine(MachineShape shape, const KernelVariant& variant)
    : shape_(std::move(shape)), variant_(variant), cpus_(shape_.cpus()), map_(frames_of(shape_)) {
    shape_.boot.cpus = cpus_;
    for (unsigned node = 0; node < shape_.nodes.size(); ++node)
        node_of_cpu_.insert(node_of_cpu_.end(), shape_.nodes[node].cpus, node);
    node_of_cpu_.resize(cpus_, 0);
    build_zones();
    build_zonelists();
}

void Machine::build_zones() {
    std::vector<ZoneSize> sizes;
    for (unsigned node = 0; node < shape_.nodes.size(); ++node) {
        for (unsigned kind = 0; kind < kZoneKinds; ++kind) {
            const std::uint64_t managed = shape_.nodes[node].managed[kind];
            if (managed == 0) continue;
            sizes.push_back({static_cast<ZoneIndex>(kind), node, managed, shape_.nodes[node].cpus});
        }
    }
    std::vector<ZoneConstants> constants(sizes.size());
    derive_constants(sizes, shape_.boot, constants);
    lists_.resize(sizes.size() * cpus_);
    nodes_.resize(shape_.nodes.size());
    Pfn start = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        zones_.push_back(
            std::make_unique<Zone>(map_, counters_, sizes[i], constants[i], start, cpus_));
        start += chunks_of(sizes[i].managed) * kChunk;
        zone_of_chunk_.resize(start / kChunk, static_cast<std::uint8_t>(i));
        nodes_[sizes[i].node].zones.push_back(zones_.back().get());
        for (unsigned cpu = 0; cpu < cpus_; ++cpu)
            lists(i, cpu).boot(constants[i], shape_.large_cache);
    }
    counters_ = {};
}

// Own node first, then the others in their order; in each the highest zone first.
void Machine::build_zonelists() {
    for (std::size_t home = 0; home < nodes_.size(); ++home) {
        for (std::size_t step = 0; step < nodes_.size(); ++step) {
            const Node& node = nodes_[(home + step) % nodes_.size()];
            nodes_[home].zonelist.insert(nodes_[home].zonelist.end(), node.zones.rbegin(),
                                         node.zones.rend());
        }
    }
}

AllocFlags Machine::fast_flags(const Request& request) const {
    AllocFlags flags = kWmarkLow;
    if ((request.flags & gfp::kKswapdReclaim) != 0) flags |= kAllocKswapd;
    const Node& node = nodes_[request.node];
    // alloc_flags_nofragment(): where the preferred zone is NORMAL, the one below it is tried
    // before types are mixed.
    const bool has_dma32 = std::any_of(node.zones.begin(), node.zones.end(),
                                       [](const Zone* zone) { return zone->index() == kDma32; });
    const bool normal = !node.zones.empty() && node.zones.back()->index() == kNormal;
    if ((has_dma32 || nodes_.size() == 1) && normal && highest_zone_of(request.flags) >= kNormal)
        flags |= kNofragment;
    return flags;
}

Pfn Machine::rmqueue(Cpu& cpu, Zone& zone, const Request& request, AllocFlags flags) {
    const Migratetype type = migratetype_of(request.flags);
    Pfn head = kNoPage;
    if (pcp_allowed(request.order)) {
        const std::size_t index = zone_of_chunk_[zone.start() >> kMaxOrder];
        head = lists(index, cpu.id).take(zone, cpu, counters_, request.order, type, flags);
    }
    if (head == kNoPage) {
        ++counters_[Counter::zone_lock_holds];
        cpu.work.add(Work::lock);
        cpu.work.add(Work::buddy_op);
        cpu.locked = &zone;
        Fallback mode = Fallback::normal;
        head = zone.take(cpu.id, request.order, type, flags, mode);
        if (head == kNoPage) return kNoPage;
        ++counters_[Counter::buddy_allocs];
        map_.set(head, Kind::used, request.order);
    }
    counters_[static_cast<Counter>(static_cast<unsigned>(Counter::pgalloc_dma) + zone.index())] +=
        std::uint64_t{1} << request.order;
    // rmqueue(): a watermark that was boosted while a block changed its type is kswapd's work.
    if ((flags & kAllocKswapd) != 0 && zone.boosted) {
        zone.boosted = false;
        Request whom = request;
        whom.order = 0;
        whom.node = zone.node();
        wake_kswapd(whom, zone.index());
    }
    return head;
}

Pfn Machine::get_page(Cpu& cpu, const Request& request, AllocFlags flags) {
    const ZoneIndex highest = highest_zone_of(request.flags);
    const std::vector<Zone*>& zonelist = nodes_[request.node].zonelist;
    const bool only_here = (request.flags & gfp::kThisnode) != 0;
    bool skip_awake = variant_.skip_awake_kswapd && nodes_.size() > 1;
    while (true) {
        bool skipped = false;
        for (Zone* zone : zonelist) {
            if (zone->index() > highest) continue;
            const bool remote = zone->node() != request.node;
            if (remote && only_here) break;
            // Mixing types at home is better than a page far away.
            if (remote && (flags & kNofragment) != 0) {
                skipped = true;
                break;
            }
            if (skip_awake && nodes_[zone->node()].kswapd_awake) {
                skipped = true;
                continue;
            }
            bool admitted = false;
            if (!zone->below_high) {
                admitted =
                    zone->watermark_ok(request.order, zone->mark(kWmarkHigh), highest, flags);
                zone->below_high = !admitted;
            }
            if (!admitted && (flags & kNoWatermarks) == 0 &&
                !zone->watermark_ok(request.order, zone->mark(flags), highest, flags)) {
                continue;
            }
            const Pfn head = rmqueue(cpu, *zone, request, flags);
            if (head != kNoPage) return head;
        }
        if (skip_awake && skipped) {
            skip_awake = false;
        } else if ((flags & kNofragment) != 0) {
            flags &= ~kNofragment;
        } else {
            break;
        }
    }
    cpu.work.add(Work::walk);
    return kNoPage;
}

void Machine::got(const Request& request) {
    ++counters_[Counter::mm_page_alloc];
    if (request.order == 0) ++counters_[Counter::mm_page_alloc_order0];
}

Pfn Machine::try_alloc(Cpu& cpu, const Request& request) {
    const Pfn head = get_page(cpu, request, fast_flags(request));
    got(request);
    return head;
}

void Machine::free_pages(Cpu& cpu, Pfn head, unsigned order) {
    if (!pcp_allowed(order)) return free_to_zone(cpu, head, order);
    const std::size_t index = zone_of_chunk_[head >> kMaxOrder];
    lists(index, cpu.id).give(*zones_[index], cpu, counters_, variant_, head, order);
}

void Machine::free_to_zone(Cpu& cpu, Pfn head, unsigned order) {
    Zone& zone = zone_of(head);
    counters_[Counter::pgfree] += std::uint64_t{1} << order;
    ++counters_[Counter::buddy_frees];
    ++counters_[Counter::zone_lock_holds];
    cpu.work.add(Work::lock);
    cpu.work.add(Work::buddy_op);
    cpu.locked = &zone;
    map_.clear(head);
    if (order < kMaxOrder || map_.block_type(head) == map_.block_type(head + kPageblockPages)) {
        zone.free_one(cpu.id, head, order);
        return;
    }
    // split_large_buddy(): halves of different types go back each to its own.
    zone.free_one(cpu.id, head, kPageblockOrder);
    zone.free_one(cpu.id, head + kPageblockPages, kPageblockOrder);
}

void Machine::free_contiguous(Cpu& cpu, Pfn first, std::uint64_t pages) {
    while (pages > 0) {
        unsigned order = std::min<unsigned>(
            kMaxOrder, static_cast<unsigned>(std::countr_zero(first | (1U << kMaxOrder))));
        order = std::min<unsigned>(order, static_cast<unsigned>(std::bit_width(pages)) - 1);
        for (Pfn pfn = first; pfn < first + (1U << order); ++pfn)
            map_.clear(pfn);
        free_pages(cpu, first, order);
        first += 1U << order;
        pages -= std::uint64_t{1} << order;
    }
}

void Machine::split(Pfn head, unsigned order) {
    for (Pfn pfn = head; pfn < head + (1U << order); ++pfn)
        map_.set(pfn, Kind::used, 0);
}

void Machine::drain_all(Cpu& cpu) {
    for (std::size_t zone = 0; zone < zones_.size(); ++zone) {
        for (unsigned other = 0; other < cpus_; ++other) {
            PerCpuPages& pages = lists(zone, other);
            if (pages.count() == 0) continue;
            cpu.work.add(Work::drain_cpu);
            pages.drain(*zones_[zone], cpu, counters_);
        }
    }
}

void Machine::decay(Cpu& cpu) {
    for (std::size_t zone = 0; zone < zones_.size(); ++zone) {
        for (unsigned other = 0; other < cpus_; ++other)
            lists(zone, other).decay(*zones_[zone], cpu, counters_);
    }
}

bool Machine::balanced(const Node& node, unsigned order, ZoneIndex highest) const {
    return std::any_of(node.zones.begin(), node.zones.end(), [&](const Zone* zone) {
        return zone->index() <= highest &&
               zone->watermark_ok_safe(order, zone->mark(kWmarkHigh), highest);
    });
}

void Machine::wake_kswapd(const Request& request, ZoneIndex highest) {
    constexpr unsigned kHopeless = 16;  // MAX_RECLAIM_RETRIES
    Node& node = nodes_[request.node];
    node.kswapd_order = std::max(node.kswapd_order, request.order);
    node.kswapd_highest = std::max(node.kswapd_highest, highest);
    if (node.kswapd_awake) return;
    const bool boosted = std::any_of(node.zones.begin(), node.zones.end(),
                                     [](const Zone* zone) { return zone->boost() != 0; });
    if (node.kswapd_failures >= kHopeless || (balanced(node, request.order, highest) && !boosted)) {
        // Not needed: a request that can't compact itself asks kcompactd.
        if ((request.flags & gfp::kDirectReclaim) == 0 && request.order > 0 &&
            !node.kcompactd_awake) {
            node.kcompactd_awake = true;
            node.kcompactd_order = request.order;
        }
        return;
    }
    node.kswapd_awake = true;
}

std::uint64_t Machine::free_pages_total() const {
    std::uint64_t sum = 0;
    for (const auto& zone : zones_)
        sum += zone->free_pages();
    return sum;
}

std::uint64_t Machine::pcp_pages_total() const {
    std::uint64_t sum = 0;
    for (const PerCpuPages& pages : lists_)
        sum += static_cast<std::uint64_t>(pages.count());
    return sum;
}

std::string Machine::validate() const {
    for (std::size_t i = 0; i < zones_.size(); ++i) {
        if (std::string breach = zones_[i]->validate(); !breach.empty())
            return fmt::format("zone {}: {}", i, breach);
        for (unsigned cpu = 0; cpu < cpus_; ++cpu) {
            std::string breach = lists_[i * cpus_ + cpu].validate(map_);
            if (!breach.empty()) return fmt::format("zone {} cpu {}: {}", i, cpu, breach);
        }
        for (Pfn pfn = zones_[i]->start(); pfn < zones_[i]->end();) {
            if (map_.kind(pfn) == Kind::none) return fmt::format("page {} is nowhere", pfn);
            pfn += 1U << map_.order(pfn);
        }
    }
    return {};
}

}  // namespace mano::model
