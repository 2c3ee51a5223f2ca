// SPDX-License-Identifier: GPL-2.0-or-later
// One CPU's lists of free pages of one zone (struct per_cpu_pages), with the rules by which they
// fill, grow, shrink and drain. Knows the zone behind it; not who asks, nor time.
#pragma once

#include <array>
#include <string>

#include "model/variant.h"
#include "model/zone.h"

namespace mano::model {

// The CPU that works, and what it has done since the timing layer looked.
struct Cpu {
    unsigned id = 0;
    unsigned node = 0;
    WorkDone work;
    Zone* locked = nullptr;  // the zone whose lock was taken last
};

class PerCpuPages {
  public:
    void boot(const ZoneConstants& constants, bool free_high_batch);
    // As a dump of zoneinfo shows them.
    void set_high(int high) { high_ = high; }

    // rmqueue_pcplist(): kNoPage when the zone has nothing to refill with.
    Pfn take(Zone& zone, Cpu& cpu, Counters& counters, unsigned order, Migratetype type,
             AllocFlags flags);
    // free_frozen_page_commit().
    void give(Zone& zone, Cpu& cpu, Counters& counters, const KernelVariant& variant, Pfn head,
              unsigned order);
    // drain_pages_zone(): all of it.
    void drain(Zone& zone, Cpu& cpu, Counters& counters);
    // decay_pcp_high(), once a second. Whether there is more to do next time.
    bool decay(Zone& zone, Cpu& cpu, Counters& counters);

    int count() const { return count_; }
    int high() const { return high_; }
    int high_min() const { return high_min_; }
    int high_max() const { return high_max_; }
    int batch() const { return batch_; }
    int free_count() const { return free_count_; }
    unsigned alloc_factor() const { return alloc_factor_; }
    const PageList& list(unsigned index) const { return lists_[index]; }
    std::string validate(const PageMap& map) const;

  private:
    int nr_alloc(const Zone& zone, unsigned order);
    int nr_high(const Zone& zone, bool free_high);
    int nr_free(int high, bool free_high) const;
    void free_bulk(Zone& zone, Cpu& cpu, Counters& counters, int count, unsigned index,
                   bool new_hold);
    int scaled_batch() const { return batch_ << kPcpBatchScaleMax; }

    std::array<PageList, kPcpLists> lists_{};
    int count_ = 0;  // base pages in all lists
    int high_ = 0;
    int high_min_ = 0;
    int high_max_ = 0;
    int batch_ = 1;
    int free_count_ = 0;
    unsigned alloc_factor_ = 0;
    bool prev_free_high_order_ = false;  // PCPF_PREV_FREE_HIGH_ORDER
    bool free_high_batch_ = false;       // PCPF_FREE_HIGH_BATCH: the CPU's cache is large
};

}  // namespace mano::model
