// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/policy/vfree.h"

namespace mano::model {
namespace {

void page_by_page(Machine& machine, Cpu& cpu, Pfn first, std::size_t pages) {
    for (std::size_t i = 0; i < pages; ++i)
        machine.free_pages(cpu, first + static_cast<Pfn>(i), 0);
}

class PerPage : public VfreePolicy {
  public:
    void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const override {
        for (const Pfn page : pages)
            machine.free_pages(cpu, page, 0);
    }
};

// free_pages_bulk() of 7.2 and 7.3.
class Contiguous : public VfreePolicy {
  public:
    void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const override {
        for_each_run(pages, [&](Pfn first, std::size_t count) {
            machine.free_contiguous(cpu, first, count);
        });
    }
};

// The experiment of the thread: runs of up to 8 pages go back one by one.
class Threshold : public VfreePolicy {
  public:
    void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const override {
        for_each_run(pages, [&](Pfn first, std::size_t count) {
            if (count <= 1U << kCostlyOrder) return page_by_page(machine, cpu, first, count);
            machine.free_contiguous(cpu, first, count);
        });
    }
};

// Past the per-CPU lists, so that they neither overflow nor fill up with order 2.
class ToZone : public VfreePolicy {
  public:
    void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const override {
        for_each_run(pages, [&](Pfn first, std::size_t count) {
            for (std::size_t i = 0; i < count;) {
                unsigned order = 0;
                const Pfn at = first + static_cast<Pfn>(i);
                while (order < kMaxOrder && (at >> order & 1) == 0 && i + (2ULL << order) <= count)
                    ++order;
                for (Pfn page = at; page < at + (1U << order); ++page)
                    machine.map().clear(page);
                machine.free_to_zone(cpu, at, order);
                i += std::size_t{1} << order;
            }
        });
    }
};

// Small runs go back page by page as long as this CPU has few single pages of that type.
class Adaptive : public VfreePolicy {
  public:
    void release(Machine& machine, Cpu& cpu, std::span<const Pfn> pages) const override {
        for_each_run(pages, [&](Pfn first, std::size_t count) {
            if (count <= 1U << kCostlyOrder && few_singles(machine, cpu, first))
                return page_by_page(machine, cpu, first, count);
            machine.free_contiguous(cpu, first, count);
        });
    }

  private:
    static bool few_singles(Machine& machine, const Cpu& cpu, Pfn page) {
        const Migratetype type = machine.map().block_type(page);
        for (std::size_t i = 0; i < machine.zone_count(); ++i) {
            if (&machine.zone(i) != &machine.zone_of(page)) continue;
            const PerCpuPages& lists = machine.lists(i, cpu.id);
            return lists.list(pcp_index(0, type)).size < static_cast<unsigned>(lists.batch());
        }
        return false;
    }
};

}  // namespace

const VfreePolicy* vfree_per_page() {
    static const PerPage policy;
    return &policy;
}
const VfreePolicy* vfree_contiguous() {
    static const Contiguous policy;
    return &policy;
}
const VfreePolicy* vfree_threshold() {
    static const Threshold policy;
    return &policy;
}
const VfreePolicy* vfree_to_zone() {
    static const ToZone policy;
    return &policy;
}
const VfreePolicy* vfree_adaptive() {
    static const Adaptive policy;
    return &policy;
}

}  // namespace mano::model
