// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/per_cpu.h"

#include <fmt/format.h>

#include <algorithm>

namespace mano::model {

void PerCpuPages::boot(const ZoneConstants& constants, bool free_high_batch) {
    batch_ = constants.batch;
    high_min_ = constants.high_min;
    high_max_ = constants.high_max;
    free_high_batch_ = free_high_batch;
}

// nr_pcp_alloc(): how many blocks a refill asks for.
int PerCpuPages::nr_alloc(const Zone& zone, unsigned order) {
    high_ = std::clamp(high_, high_min_, high_max_);
    if (high_ < batch_) return 1;
    int batch = order != 0 ? batch_ : batch_ << alloc_factor_;
    if (high_min_ != high_max_ && !zone.below_high) high_ = std::min(high_ + batch, high_max_);
    if (order == 0) {
        const int most = std::max(high_ - count_ - batch_, batch_);
        // Twice as many each time, while nothing is freed in between.
        if (batch <= most && alloc_factor_ < kPcpBatchScaleMax) ++alloc_factor_;
        batch = std::min(batch, most);
    }
    return batch > 1 ? std::max(batch >> order, 2) : batch;
}

Pfn PerCpuPages::take(Zone& zone, Cpu& cpu, Counters& counters, unsigned order, Migratetype type,
                      AllocFlags flags) {
    free_count_ >>= 1;
    cpu.work.add(Work::pcp_op);
    PageList& list = lists_[pcp_index(order, type)];
    PageMap& map = zone.map();
    if (list.empty()) {
        const int wanted = nr_alloc(zone, order);
        ++counters[Counter::pcp_refills];
        ++counters[Counter::zone_lock_holds];
        cpu.work.add(Work::lock);
        cpu.locked = &zone;
        Fallback mode = Fallback::normal;
        int got = 0;
        for (; got < wanted; ++got) {
            const Pfn head = zone.take(cpu.id, order, type, flags, mode);
            if (head == kNoPage) break;
            map.set(head, Kind::pcp, order);
            map.push_back(list, head);
        }
        count_ += got << order;
        cpu.work.add(Work::refill, static_cast<std::uint32_t>(got));
        if (got == 0) return kNoPage;
    } else {
        ++counters[Counter::pcp_hits];
    }
    const Pfn head = list.first;
    map.remove(list, head);
    map.set(head, Kind::used, order);
    count_ -= 1 << order;
    return head;
}

// nr_pcp_high(): from which count on the lists overflow.
int PerCpuPages::nr_high(const Zone& zone, bool free_high) {
    int high = high_ = std::clamp(high_, high_min_, high_max_);
    if (high == 0) return 0;
    if (free_high) {
        high_ = std::max(high - scaled_batch(), high_min_);
        return 0;
    }
    const int freed = std::max(free_count_, batch_);
    if (zone.reclaim_active) {
        high_ = std::max(high - freed, high_min_);
        return std::min(batch_ << 2, high_);
    }
    if (high_min_ == high_max_) return high;
    if (zone.below_high) {
        high_ = std::max(high - freed, high_min_);
        return std::max(count_, high_min_);
    }
    if (count_ >= high && high_ < free_count_ + batch_)
        high_ = std::clamp(free_count_ + batch_, high_min_, high_max_);
    return high;
}

// nr_pcp_free(): how many pages an overflow gives back.
int PerCpuPages::nr_free(int high, bool free_high) const {
    if (free_high) return std::min(count_, scaled_batch());
    if (high < batch_) return 1;
    // As the kernel's clamp() with its upper bound below the lower one: the upper wins.
    return std::min(std::max(free_count_, batch_), high - batch_);
}

void PerCpuPages::give(Zone& zone, Cpu& cpu, Counters& counters, const KernelVariant& variant,
                       Pfn head, unsigned order) {
    PageMap& map = zone.map();
    alloc_factor_ >>= 1;
    counters[Counter::pgfree] += std::uint64_t{1} << order;
    cpu.work.add(Work::pcp_op);
    Migratetype type = map.block_type(head);
    if (type >= kPcpTypes) type = kMovable;
    const unsigned index = pcp_index(order, type);
    map.set(head, Kind::pcp, order);
    map.push_front(lists_[index], head);
    count_ += 1 << order;

    bool free_high = false;
    if (order != 0 && order <= kCostlyOrder) {
        const int threshold = variant.free_high_half_min ? batch_ + high_min_ / 2 : batch_;
        free_high = free_count_ >= threshold && prev_free_high_order_ &&
                    (!free_high_batch_ || count_ >= batch_);
        prev_free_high_order_ = true;
    } else {
        prev_free_high_order_ = false;
    }
    if (free_count_ < scaled_batch()) free_count_ += 1 << order;

    const int high = nr_high(zone, free_high);
    if (count_ < high) return;
    int left = nr_free(high, free_high);
    ++counters[Counter::pcp_drains];
    if (free_high) {
        ++counters[Counter::free_high_drains];
        counters[Counter::free_high_pages] += static_cast<std::uint64_t>(left);
    }
    bool first = true;
    while (left > 0 && count_ > 0) {
        const int portion = std::min(left, batch_);
        free_bulk(zone, cpu, counters, portion, index, first || variant.drain_in_portions);
        first = false;
        left -= portion;
    }
    if (zone.below_high && zone.watermark_ok(0, zone.mark(kWmarkHigh), kMovableZone, 0)) {
        zone.below_high = false;
    }
}

// free_pcppages_bulk(): the list that was given to first, then round-robin over those behind it.
void PerCpuPages::free_bulk(Zone& zone, Cpu& cpu, Counters& counters, int count, unsigned index,
                            bool new_hold) {
    PageMap& map = zone.map();
    count = std::min(count, count_);
    if (new_hold) {
        ++counters[Counter::zone_lock_holds];
        cpu.work.add(Work::lock);
    }
    cpu.locked = &zone;
    for (unsigned at = index; count > 0; at = at + 1 == kPcpLists ? 0 : at + 1) {
        PageList& list = lists_[at];
        const unsigned order = pcp_order(at);
        while (count > 0 && !list.empty()) {
            const Pfn head = list.last;
            map.remove(list, head);
            map.clear(head);
            count -= 1 << order;
            count_ -= 1 << order;
            zone.free_one(cpu.id, head, order);
            ++counters[Counter::pcpu_drain];
            cpu.work.add(Work::drain);
        }
    }
}

void PerCpuPages::drain(Zone& zone, Cpu& cpu, Counters& counters) {
    while (count_ > 0)
        free_bulk(zone, cpu, counters, std::min(count_, scaled_batch()), 0, true);
}

bool PerCpuPages::decay(Zone& zone, Cpu& cpu, Counters& counters) {
    bool more = false;
    if (high_ > high_min_) {
        high_ = std::max({count_ - scaled_batch(), high_ - (high_ >> 3), high_min_});
        more = high_ > high_min_;
    }
    for (int left = count_ - high_; left > 0; left -= batch_) {
        free_bulk(zone, cpu, counters, std::min(left, batch_), 0, true);
        more = true;
    }
    return more;
}

std::string PerCpuPages::validate(const PageMap& map) const {
    int pages = 0;
    for (unsigned index = 0; index < kPcpLists; ++index) {
        std::uint32_t seen = 0;
        for (Pfn pfn = lists_[index].first; pfn != kNoPage; pfn = map.next(pfn)) {
            if (!map.is(pfn, Kind::pcp, pcp_order(index)) || ++seen > lists_[index].size)
                return fmt::format("per-CPU list {} holds page {} wrongly", index, pfn);
        }
        if (seen != lists_[index].size) return fmt::format("per-CPU list {} has lost pages", index);
        pages += static_cast<int>(seen << pcp_order(index));
    }
    if (pages != count_)
        return fmt::format("per-CPU count is {}, the lists have {}", count_, pages);
    if (alloc_factor_ > kPcpBatchScaleMax) return "alloc_factor above 5";
    if (free_count_ > scaled_batch() + static_cast<int>(kPageblockPages))
        return fmt::format("free_count is {}", free_count_);
    return {};
}

}  // namespace mano::model
