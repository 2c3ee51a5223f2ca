// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/constants.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mano::model {
namespace {

bool is_lowmem(const ZoneSize& zone) {
    return zone.index != kMovableZone;
}

std::uint64_t lowmem_pages(std::span<const ZoneSize> zones) {
    std::uint64_t sum = 0;
    for (const ZoneSize& zone : zones)
        sum += is_lowmem(zone) ? zone.managed : 0;
    return sum;
}

// mm/page_alloc.c, zone_batchsize(): 2^n - 1, up to 63.
int batch_of(const ZoneSize& zone) {
    const auto batch = static_cast<unsigned>(std::min<std::uint64_t>(zone.managed >> 12, 64));
    if (batch <= 1) return 1;
    return static_cast<int>(std::bit_floor(batch + batch / 2)) - 1;
}

// zone_highsize() without its lower bound.
std::uint64_t share_of(std::uint64_t pages, const ZoneSize& zone, unsigned cpus) {
    return pages / std::max(1U, zone.node_cpus != 0 ? zone.node_cpus : cpus);
}

void set_watermarks(const ZoneSize& zone, std::uint64_t pages_min, std::uint64_t lowmem,
                    const BootSettings& settings, ZoneConstants& out) {
    const std::uint64_t share = lowmem == 0 ? 0 : pages_min * zone.managed / lowmem;
    out.min =
        is_lowmem(zone) ? share : std::clamp<std::uint64_t>(zone.managed / 1024, kSwapCluster, 128);
    const std::uint64_t step =
        std::max(share / 4, zone.managed * settings.watermark_scale_factor / 10000);
    out.low = out.min + step;
    out.high = out.low + step;
    out.promo = out.high + step;
}

void set_lists(const ZoneSize& zone, const BootSettings& settings, ZoneConstants& out) {
    constexpr unsigned kMinHighFraction = 8;  // MIN_PERCPU_PAGELIST_HIGH_FRACTION
    out.batch = batch_of(zone);
    const auto high = [&](std::uint64_t pages) {
        return static_cast<int>(std::max<std::uint64_t>(share_of(pages, zone, settings.cpus),
                                                        static_cast<unsigned>(out.batch) * 4U));
    };
    const bool fixed = settings.pcp_high_fraction != 0;
    out.high_min = fixed ? high(zone.managed / settings.pcp_high_fraction) : high(out.low);
    out.high_max = fixed ? out.high_min : high(zone.managed / kMinHighFraction);
}

// mm/vmstat.c, calculate_normal_threshold(): managed in units of 128 MiB.
unsigned stat_threshold(std::uint64_t managed, unsigned cpus) {
    const auto units = static_cast<unsigned>(managed >> 15);
    const unsigned fls_cpus = static_cast<unsigned>(std::bit_width(cpus));
    return std::min(125U, 2 * fls_cpus * (1 + static_cast<unsigned>(std::bit_width(units))));
}

}  // namespace

std::uint64_t min_free_kbytes(std::span<const ZoneSize> zones, const BootSettings& settings) {
    if (settings.min_free_kbytes != 0) return settings.min_free_kbytes;
    const std::uint64_t lowmem = lowmem_pages(zones);
    // int_sqrt() rounds down.
    const auto root = static_cast<std::uint64_t>(
        std::sqrt(static_cast<double>(lowmem * (kPageBytes / 1024) * 16)));
    const std::uint64_t derived = std::clamp<std::uint64_t>(root, 128, 262144);
    if (!settings.thp) return derived;
    std::uint64_t populated = 0;
    for (const ZoneSize& zone : zones)
        populated += is_lowmem(zone) && zone.managed > 0 ? 1 : 0;
    // Two blocks a zone, and one for each pair of types of the per-CPU lists (mm/khugepaged.c).
    const std::uint64_t pages =
        std::min(populated * kPageblockPages * (2 + kPcpTypes * kPcpTypes), lowmem / 20);
    return std::max(derived, pages * (kPageBytes / 1024));
}

void derive_constants(std::span<const ZoneSize> zones, const BootSettings& settings,
                      std::span<ZoneConstants> out) {
    constexpr std::array<std::uint64_t, kZoneKinds> kReserveRatio{256, 256, 32, 0};
    const std::uint64_t pages_min = min_free_kbytes(zones, settings) / (kPageBytes / 1024);
    const std::uint64_t lowmem = lowmem_pages(zones);
    for (std::size_t i = 0; i < zones.size(); ++i) {
        const ZoneSize& zone = zones[i];
        ZoneConstants& constants = out[i];
        set_watermarks(zone, pages_min, lowmem, settings, constants);
        set_lists(zone, settings, constants);
        constants.stat_threshold = stat_threshold(zone.managed, settings.cpus);
        std::uint64_t above = 0;
        for (unsigned j = zone.index + 1U; j < kZoneKinds; ++j) {
            for (const ZoneSize& other : zones)
                above += other.node == zone.node && other.index == j ? other.managed : 0;
            const std::uint64_t ratio = kReserveRatio[zone.index];
            if (ratio != 0 && zone.managed > 0) constants.lowmem_reserve[j] = above / ratio;
        }
    }
}

}  // namespace mano::model
