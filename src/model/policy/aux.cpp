// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/policy/aux.h"

#include <algorithm>
#include <bit>

namespace mano::model {
namespace {

using Capability = AuxArea::Capability;

unsigned order_for(std::uint32_t pages) {  // get_order()
    return pages <= 1 ? 0 : static_cast<unsigned>(std::bit_width(pages - 1));
}

unsigned by_watermark(const AuxArea& area) {
    if (area.overwrite) return static_cast<unsigned>(std::bit_width(area.pages)) - 1;
    return order_for(area.watermark_pages != 0 ? area.watermark_pages : area.pages / 2);
}

constexpr Gfp kPlain = gfp::kKernel | gfp::kZero | gfp::kNowarn | gfp::kNoretry;

// kernel/patches/aux-no-reclaim.patch: what hardware can do without is tried without reclaim and
// without the reserves; what it needs, harder than before.
class NoReclaim : public AuxPolicy {
  public:
    explicit NoReclaim(Gfp kept) : kept_(kept) {}
    Gfp flags(const AuxArea& area, unsigned order) const override {
        const Gfp all = gfp::kKernel | gfp::kZero | gfp::kNowarn | gfp::kRetryMayfail;
        const bool optional = order > 0 && area.capability != Capability::no_sg;
        return optional ? (all & ~(gfp::kReclaim & ~kept_)) | gfp::kNomemalloc : all;
    }

  private:
    Gfp kept_;
};

// As vmalloc does: an order that failed isn't tried again for this area.
class Sticky : public AuxPolicy {
  public:
    bool remembers_failures() const override { return true; }
};

// The proposal of 2019, as if everybody opted in: one piece of the largest order, else single
// pages.
class Highorder : public AuxPolicy {
  public:
    unsigned max_order(const AuxArea& area) const override {
        return static_cast<unsigned>(std::bit_width(area.pages)) - 1;
    }
    unsigned next_order(const AuxArea& area, unsigned order) const override {
        return area.capability == Capability::no_sg ? order - 1 : 0;
    }
};

// Kernels up to 6.17: the watermark bounds the order whatever the PMU says.
class ByWatermark : public AuxPolicy {
  public:
    unsigned max_order(const AuxArea& area) const override { return by_watermark(area); }
};

// Gives runs back as blocks, as vfree does since 7.2.
class BulkRelease : public AuxPolicy {
  public:
    void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const override {
        for_each_run(pages, [&](Pfn first, std::size_t count) {
            machine.free_contiguous(cpu, first, count);
        });
    }
};

}  // namespace

unsigned AuxPolicy::max_order(const AuxArea& area) const {
    return area.capability == Capability::pages ? 0 : by_watermark(area);
}

Gfp AuxPolicy::flags(const AuxArea&, unsigned) const {
    return kPlain;
}

void AuxPolicy::release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const {
    for (const Pfn page : pages)
        machine.free_pages(cpu, page, 0);
}

const AuxPolicy* aux_plain() {
    static const AuxPolicy policy;
    return &policy;
}
const AuxPolicy* aux_no_reclaim() {
    static const NoReclaim policy(0);
    return &policy;
}
const AuxPolicy* aux_no_reclaim_kswapd() {
    static const NoReclaim policy(gfp::kKswapdReclaim);
    return &policy;
}
const AuxPolicy* aux_sticky() {
    static const Sticky policy;
    return &policy;
}
const AuxPolicy* aux_highorder() {
    static const Highorder policy;
    return &policy;
}
const AuxPolicy* aux_by_watermark() {
    static const ByWatermark policy;
    return &policy;
}
const AuxPolicy* aux_bulk_release() {
    static const BulkRelease policy;
    return &policy;
}

}  // namespace mano::model
