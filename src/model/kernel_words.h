// SPDX-License-Identifier: GPL-2.0-or-later
// The page allocator's own words as constants: orders, migrate types, gfp and allocation flags of
// Linux 7.3 (include/linux/gfp_types.h, mmzone.h; mm/internal.h). Must not know any mechanism.
#pragma once

#include <cstdint>

namespace mano::model {

using Pfn = std::uint32_t;  // page frame number: 16 TiB of 4 KiB pages
constexpr Pfn kNoPage = 0xffffffff;
constexpr std::uint64_t kPageBytes = 4096;

constexpr unsigned kMaxOrder = 10;
constexpr unsigned kOrders = kMaxOrder + 1;
constexpr unsigned kPageblockOrder = 9;  // x86: note that it is below kMaxOrder
constexpr unsigned kPageblockPages = 1U << kPageblockOrder;
constexpr unsigned kCostlyOrder = 3;       // PAGE_ALLOC_COSTLY_ORDER
constexpr unsigned kSwapCluster = 32;      // SWAP_CLUSTER_MAX = COMPACT_CLUSTER_MAX
constexpr unsigned kPcpBatchScaleMax = 5;  // CONFIG_PCP_BATCH_SCALE_MAX
constexpr unsigned kDefPriority = 12;
constexpr unsigned kMaxRetries = 16;  // MAX_RECLAIM_RETRIES, MAX_COMPACT_RETRIES

enum Migratetype : std::uint8_t { kUnmovable, kMovable, kReclaimable, kHighatomic, kTypes };
constexpr unsigned kPcpTypes = 3;

enum ZoneIndex : std::uint8_t { kDma, kDma32, kNormal, kMovableZone, kZoneKinds };

using Gfp = std::uint32_t;
namespace gfp {
constexpr Gfp kDma = 0x1, kDma32 = 0x4, kMovable = 0x8, kReclaimable = 0x10, kHigh = 0x20,
              kIo = 0x40, kFs = 0x80, kZero = 0x100, kDirectReclaim = 0x400, kKswapdReclaim = 0x800,
              kNowarn = 0x2000, kRetryMayfail = 0x4000, kNofail = 0x8000, kNoretry = 0x10000,
              kMemalloc = 0x20000, kComp = 0x40000, kNomemalloc = 0x80000, kHardwall = 0x100000,
              kThisnode = 0x200000, kAccount = 0x400000, kHighmem = 0x2;
constexpr Gfp kReclaim = kDirectReclaim | kKswapdReclaim;
constexpr Gfp kKernel = kReclaim | kIo | kFs;
constexpr Gfp kHighuserMovable = kKernel | kHardwall | kHighmem | kMovable;
constexpr Gfp kTranshugeLight = (kHighuserMovable | kComp | kNomemalloc | kNowarn) & ~kReclaim;
constexpr Gfp kTranshuge = kTranshugeLight | kDirectReclaim;
constexpr Gfp kAtomic = kHigh | kKswapdReclaim;
}  // namespace gfp

// What an allocation may do (mm/internal.h, mm/page_alloc.h from 7.3 on). The two lowest bits are
// the watermark to be kept.
using AllocFlags = std::uint32_t;
constexpr AllocFlags kWmarkMin = 0, kWmarkLow = 1, kWmarkHigh = 2, kWmarkMask = 3,
                     kNoWatermarks = 0x4, kOom = 0x8, kNonBlock = 0x10, kMinReserve = 0x20,
                     kNofragment = 0x100, kAllocHighatomic = 0x200, kAllocKswapd = 0x800;

constexpr Migratetype migratetype_of(Gfp flags) {
    return static_cast<Migratetype>((flags >> 3) & 3);
}
constexpr ZoneIndex highest_zone_of(Gfp flags) {
    if ((flags & gfp::kDma) != 0) return kDma;
    if ((flags & gfp::kDma32) != 0) return kDma32;
    constexpr Gfp kAnywhere = gfp::kHighmem | gfp::kMovable;
    return (flags & kAnywhere) == kAnywhere ? kMovableZone : kNormal;
}

// Orders that per-CPU lists hold (pcp_allowed_order) and their list (order_to_pindex): three types
// of orders 0 to 3, then order 9: one list for movable, one for the others.
constexpr unsigned kPcpLists = 14;
constexpr bool pcp_allowed(unsigned order) {
    return order <= kCostlyOrder || order == kPageblockOrder;
}
constexpr unsigned pcp_index(unsigned order, Migratetype type) {
    if (order == kPageblockOrder) return type == kMovable ? 13 : 12;
    return kPcpTypes * order + type;
}
constexpr unsigned pcp_order(unsigned index) {
    return index >= 12 ? kPageblockOrder : index / kPcpTypes;
}

// compact_gap(): what compaction wants free beside the target. 7.2 bounded it by 32 pages.
constexpr std::uint64_t compact_gap(unsigned order, bool capped) {
    const std::uint64_t gap = std::uint64_t{2} << order;
    return capped && gap > kSwapCluster ? kSwapCluster : gap;
}

}  // namespace mano::model
