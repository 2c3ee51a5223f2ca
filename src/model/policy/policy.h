// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel patch decides, as small objects: how perf gets its AUX buffers, how vmalloc and
// vfree take and give their pages. The mechanism (zones, lists, slow path) never asks which policy
// runs. docs/model-policy.md shows how to add one; the table at the end of policies.cpp lists them
// all.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/machine.h"

namespace mano::model {

// What a PMU says of its hardware, and how the area is wanted.
struct AuxArea {
    enum class Capability : std::uint8_t { pages, prefer_large, no_sg } capability;
    std::uint32_t pages = 1024;
    std::uint32_t watermark_pages = 0;  // 0: half of the area
    bool overwrite = false;             // snapshot mode
};

// rb_alloc_aux() and rb_alloc_aux_page(): the area is made of chunks; each is tried from an order
// downwards. The default is 7.3's.
class AuxPolicy {
  public:
    virtual ~AuxPolicy() = default;
    // The order that the first try of any chunk is bounded by (max_order).
    virtual unsigned max_order(const AuxArea& area) const;
    // How a chunk of this order is asked for.
    virtual Gfp flags(const AuxArea& area, unsigned order) const;
    // What is tried after `order` failed; only asked for orders above 0.
    virtual unsigned next_order(const AuxArea&, unsigned order) const { return order - 1; }
    // Whether later chunks begin where the last one succeeded.
    virtual bool remembers_failures() const { return false; }
    // Gives a whole area back: `pages` in the order of the area.
    virtual void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const;
};

// vfree(): 7.3 hands back runs of consecutive pages as blocks, 6.12 page by page.
class VfreePolicy {
  public:
    virtual ~VfreePolicy() = default;
    virtual void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const = 0;
};

template <typename Policy>
struct Named {
    std::string_view name;
    std::string_view meaning;
    const Policy* policy;
};
std::span<const Named<AuxPolicy>> aux_policies();
std::span<const Named<VfreePolicy>> vfree_policies();

// Helpers for policies: runs of consecutive page frames, one call each.
template <typename F>
void for_each_run(std::span<const Pfn> pages, const F& run) {
    for (std::size_t first = 0; first < pages.size();) {
        std::size_t end = first + 1;
        while (end < pages.size() && pages[end] == pages[end - 1] + 1)
            ++end;
        run(pages[first], end - first);
        first = end;
    }
}

}  // namespace mano::model
