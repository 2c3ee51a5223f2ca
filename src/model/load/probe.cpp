// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/probe.h"

#include <fmt/format.h>

namespace mano::model {

void FreeLook::reset() {
    *this = {};
}

void FreeLook::lowest(Machine& machine) {
    const double bytes = static_cast<double>(machine.free_pages_total() * kPageBytes);
    if (low_bytes_ < 0 || bytes < low_bytes_) low_bytes_ = bytes;
    for (std::size_t i = 0; i < machine.zone_count(); ++i) {
        const Zone& zone = machine.zone(i);
        if (zone.constants().min == 0) continue;
        const double pct = 100.0 * static_cast<double>(zone.free_pages()) /
                           static_cast<double>(zone.constants().min);
        if (low_of_min_pct_ < 0 || pct < low_of_min_pct_) low_of_min_pct_ = pct;
    }
}

void FreeLook::blocks(Machine& machine, const std::string& point) {
    lowest(machine);
    for (unsigned order = 0; order < kOrders; ++order) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < machine.zone_count(); ++i)
            sum += machine.zone(i).nr_free(order);
        blocks_[fmt::format("probe.blocks.{}.order{}", point, order)] = static_cast<double>(sum);
    }
}

void FreeLook::add_to(Figures& figures) const {
    figures.insert(blocks_.begin(), blocks_.end());
    if (low_bytes_ < 0) return;
    figures["probe.free_low_bytes"] = low_bytes_;
    figures["probe.free_low_of_min_pct"] = low_of_min_pct_;
}

void BufferFigures::add_to(Figures& figures) const {
    figures["probe.asked"] = static_cast<double>(asked);
    figures["probe.ops"] = static_cast<double>(got);
    figures["probe.errors"] = static_cast<double>(asked - got);
    figures["probe.mapped_bytes"] = static_cast<double>(got * buffer_pages * kPageBytes);
    figures["probe.time_ns"] = time_ns;
    figures["probe.cpu_ns"] = cpu_ns;
    figures["probe.map_ns_max"] = map.max_ns;
    figures["probe.map_ns_total"] = map.sum_ns;
    figures["probe.unmap_ns_max"] = unmap.max_ns;
    figures["probe.unmap_ns_total"] = unmap.sum_ns;
    for (unsigned order = 0; order < kOrders; ++order)
        figures[fmt::format("probe.chunks.order{}", order)] = static_cast<double>(chunks[order]);
}

}  // namespace mano::model
