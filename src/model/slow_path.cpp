// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/slow_path.h"

#include <algorithm>

namespace mano::model {

// mm/vmscan.c, shrink_lruvec() with shrink_slab(): a share of each list by the priority.
void shrink_node(Memory& memory, Cpu& cpu, Node& node, ReclaimControl& control) {
    const Machine& machine = memory.machine();
    const std::uint64_t portion = machine.shape().lru_gen ? 2 * kSwapCluster : kSwapCluster;
    // MGLRU gives up once the gap that compaction wants is met; the classic lists stop at the
    // target, but not direct reclaim's first pass.
    const std::uint64_t enough =
        machine.shape().lru_gen
            ? std::max(control.target,
                       compact_gap(control.order, machine.variant().compact_gap_capped))
            : control.target;
    const bool to_the_end =
        !machine.shape().lru_gen && !control.kswapd && control.priority == kDefPriority;
    std::uint64_t to_scan = node.inactive_pages >> control.priority;
    if (to_scan == 0 && control.priority < kDefPriority) to_scan = node.inactive_pages;
    const Counter scan = control.kswapd ? Counter::pgscan_kswapd : Counter::pgscan_direct;
    const Counter steal = control.kswapd ? Counter::pgsteal_kswapd : Counter::pgsteal_direct;
    while (to_scan > 0 && (to_the_end || control.done.pages < enough)) {
        const Reclaimed got =
            memory.shrink_inactive(cpu, node, control.highest, std::min(to_scan, portion));
        memory.machine().counters()[scan] += got.scanned;
        memory.machine().counters()[steal] += got.pages;
        control.done.scanned += got.scanned;
        control.done.pages += got.pages;
        if (got.scanned == 0) break;
        to_scan -= std::min(to_scan, got.scanned);
    }
    if (memory.inactive_is_low(node))
        memory.shrink_active(
            cpu, node,
            std::max<std::uint64_t>(kSwapCluster, node.active_pages >> control.priority));
    // Shrinkers: partly unmapped folios give their unmapped pages.
    constexpr unsigned kFolios = 8;
    control.done.pages += memory.split_deferred(cpu, kFolios);
}

void SlowPath::start(Memory& memory, const Request& request) {
    *this = {};
    memory_ = &memory;
    request_ = request;
    highest_ = highest_zone_of(request.flags);
    const bool direct = has(gfp::kDirectReclaim);
    const bool movable = migratetype_of(request.flags) == kMovable;
    if (direct && has(gfp::kIo) &&
        (request.order > kCostlyOrder || (request.order > 0 && !movable))) {
        compact_first_ = true;
        mode_ = CompactMode::async;
    }
    // alloc_flags_slowpath().
    flags_ = kWmarkMin;
    if (has(gfp::kHigh)) flags_ |= kMinReserve;
    if (!direct && !has(gfp::kNomemalloc)) flags_ |= kNonBlock;
    if (has(gfp::kKswapdReclaim)) flags_ |= kAllocKswapd;
    ++memory.machine().counters()[Counter::slow_paths];
}

AllocFlags SlowPath::reserve_flags() const {
    if (has(gfp::kNomemalloc)) return 0;
    return has(gfp::kMemalloc) || request_.memalloc ? kNoWatermarks : 0;
}

Stage SlowPath::step(Cpu& cpu) {
    switch (at_) {
        case At::retry:
            return retry(cpu);
        case At::decide_reclaim:
            return compact_first_ ? on(At::compact_start) : on(At::throttle);
        case At::throttle:
            return throttle();
        case At::reclaim:
            return reclaim(cpu);
        case At::after_reclaim:
            return after_reclaim(cpu);
        case At::compact_start:
            return begin_compaction();
        case At::compact:
            return compact(cpu);
        case At::judge:
            return judge();
        case At::oom:
            return out_of_memory_stage(cpu);
    }
    return fail();
}

Stage SlowPath::fail() {
    memstall_ = false;
    memory_->machine().got(request_);
    return {Stage::What::done, 0, kNoPage};
}

Stage SlowPath::retry(Cpu& cpu) {
    Machine& machine = memory_->machine();
    cpu.work.add(Work::slow);
    if (has(gfp::kKswapdReclaim)) machine.wake_kswapd(request_, highest_);
    const Pfn page = machine.get_page(cpu, request_, flags_ | reserve_flags());
    if (page != kNoPage) return done(page);
    if (!has(gfp::kDirectReclaim) || request_.memalloc) return fail();
    return on(At::decide_reclaim);
}

// throttle_direct_reclaim(): below half of the min watermarks a task waits for kswapd.
Stage SlowPath::throttle() {
    Machine& machine = memory_->machine();
    Node& node = machine.nodes()[request_.node];
    std::int64_t free = 0;
    std::uint64_t reserve = 0;
    for (const Zone* zone : node.zones) {
        if (zone->index() > kNormal || memory_->reclaimable(*zone) == 0) continue;
        free += zone->seen_free_pages();
        reserve += zone->constants().min;
    }
    constexpr unsigned kMostNaps = 250;  // a second in all
    const bool wait = free <= static_cast<std::int64_t>(reserve / 2) && reserve != 0 &&
                      node.kswapd_failures < kMaxRetries && ++naps_ < kMostNaps;
    if (wait) {
        if (naps_ == 1) ++machine.counters()[Counter::pgscan_direct_throttle];
        machine.wake_kswapd(request_, highest_);
        return {Stage::What::nap, kJiffyNs, kNoPage};
    }
    naps_ = 0;
    return begin_reclaim();
}

void SlowPath::count_allocstall() {
    const unsigned first = static_cast<unsigned>(Counter::allocstall_dma);
    // __count_zid_vm_events(ALLOCSTALL, sc->reclaim_idx): by the request, not by what is there.
    const auto index = static_cast<unsigned>(highest_);
    ++memory_->machine().counters()[static_cast<Counter>(first + index)];
}

Stage SlowPath::begin_reclaim() {
    memstall_ = true;
    ++memory_->machine().counters()[Counter::memstall_enters];
    control_ = {};
    control_.order = request_.order;
    control_.highest = highest_;
    drained_ = false;
    count_allocstall();
    return on(At::reclaim);
}

// One priority of do_try_to_free_pages().
Stage SlowPath::reclaim(Cpu& cpu) {
    Machine& machine = memory_->machine();
    std::vector<Node*> seen;
    for (Zone* zone : machine.nodes()[request_.node].zonelist) {
        Node& node = machine.nodes()[zone->node()];
        if (zone->index() > highest_) continue;
        // compaction_ready(): a costly request leaves zones alone that only need compacting.
        if (request_.order > kCostlyOrder) {
            const std::uint64_t gap =
                compact_gap(request_.order, machine.variant().compact_gap_capped);
            if (zone->watermark_ok(request_.order, zone->mark(kWmarkMin), highest_, 0) ||
                zone->would_be_ok(0, zone->mark(kWmarkHigh) + gap, highest_, 0,
                                  zone->seen_free_pages())) {
                control_.compaction_ready = true;
                continue;
            }
        }
        if (std::find(seen.begin(), seen.end(), &node) != seen.end()) continue;
        seen.push_back(&node);
        shrink_node(*memory_, cpu, node, control_);
    }
    const bool enough = control_.done.pages >= control_.target || control_.compaction_ready;
    if (enough || control_.priority == 0) return on(At::after_reclaim);
    --control_.priority;
    // consider_reclaim_throttle().
    if (control_.priority == 0 && control_.done.pages == 0) {
        const Node& node = machine.nodes()[request_.node];
        if (node.kswapd_failures < kMaxRetries) return {Stage::What::nap, kJiffyNs, kNoPage};
    }
    return {};
}

Stage SlowPath::after_reclaim(Cpu& cpu) {
    Machine& machine = memory_->machine();
    progress_ = control_.done.pages != 0 ? control_.done.pages : control_.compaction_ready ? 1 : 0;
    if (progress_ != 0) {
        Pfn page = machine.get_page(cpu, request_, flags_);
        if (page == kNoPage && !drained_) {
            drained_ = true;
            machine.drain_all(cpu);
            page = machine.get_page(cpu, request_, flags_);
        }
        if (page != kNoPage) return done(page);
    }
    memstall_ = false;
    return on(At::compact_start);
}

Stage SlowPath::begin_compaction() {
    compact_result_ = CompactResult::skipped;
    if (request_.order == 0) return on(At::judge);
    memstall_ = true;
    ++memory_->machine().counters()[Counter::memstall_enters];
    compaction_.start(*memory_, request_, flags_, mode_, true);
    return on(At::compact);
}

Stage SlowPath::compact(Cpu& cpu) {
    if (compaction_.round(cpu)) return {};
    Machine& machine = memory_->machine();
    Counters& counters = machine.counters();
    memstall_ = false;
    compact_result_ = compaction_.result();
    const bool tried =
        compact_result_ != CompactResult::skipped && compact_result_ != CompactResult::deferred;
    if (tried) ++counters[Counter::compact_stall];
    Pfn page = compaction_.captured();
    if (page == kNoPage && tried) page = machine.get_page(cpu, request_, flags_);
    if (page != kNoPage) {
        ++counters[Counter::compact_success];
        reset_deferral(machine.zone_of(page), request_.order, true);
        return done(page);
    }
    if (tried) ++counters[Counter::compact_fail];
    return on(At::judge);
}

Stage SlowPath::judge() {
    const KernelVariant& variant = memory_->machine().variant();
    const bool costly = request_.order > kCostlyOrder;
    if (compact_first_) {
        const bool futile =
            compact_result_ == CompactResult::skipped || compact_result_ == CompactResult::deferred;
        if (has(gfp::kNoretry) &&
            (has(gfp::kThisnode) || (variant.costly_noretry_bails && costly && futile))) {
            return fail();
        }
        if (!has(gfp::kNoretry) || (variant.costly_noretry_bails && !costly))
            mode_ = CompactMode::sync_light;
        compact_first_ = false;
        return on(At::retry);
    }
    if (has(gfp::kNoretry)) return fail();
    if (costly && !has(gfp::kRetryMayfail)) return fail();
    if (should_reclaim_retry()) return on(At::retry);
    if (progress_ > 0 && should_compact_retry()) return on(At::retry);
    return on(At::oom);
}

bool SlowPath::should_reclaim_retry() {
    const bool costly = request_.order > kCostlyOrder;
    no_progress_ = progress_ > 0 && !costly ? 0 : no_progress_ + 1;
    if (no_progress_ > kMaxRetries) return false;
    for (const Zone* zone : memory_->machine().nodes()[request_.node].zonelist) {
        if (zone->index() > highest_) continue;
        const auto available =
            zone->seen_free_pages() + static_cast<std::int64_t>(memory_->reclaimable(*zone));
        if (zone->would_be_ok(request_.order, zone->mark(kWmarkMin), highest_, flags_, available))
            return true;
    }
    return false;
}

bool SlowPath::should_compact_retry() {
    if (request_.order == 0) return false;
    const bool costly = request_.order > kCostlyOrder;
    if (compact_result_ == CompactResult::success) {
        const unsigned most = costly ? kMaxRetries / 4 : kMaxRetries;
        if (++compactions_ <= most) return true;
    } else if (compact_result_ == CompactResult::skipped) {
        return memory_->machine().nodes()[request_.node].inactive_pages > 0 &&
               !memory_->swap_full();
    }
    const CompactMode floor = costly ? CompactMode::sync_light : CompactMode::sync_full;
    if (mode_ >= floor) return false;
    mode_ = static_cast<CompactMode>(static_cast<unsigned>(mode_) + 1);
    compactions_ = 0;
    return true;
}

// __alloc_pages_may_oom(): one more look at the high watermark; the model kills nobody, it says so.
Stage SlowPath::out_of_memory_stage(Cpu& cpu) {
    Machine& machine = memory_->machine();
    const Pfn page = machine.get_page(cpu, request_, kWmarkHigh);
    if (page != kNoPage) return done(page);
    const bool no_kill = request_.order > kCostlyOrder || has(gfp::kRetryMayfail) ||
                         has(gfp::kThisnode) || !has(gfp::kFs);
    if (no_kill) return fail();
    oom_ = true;
    ++machine.counters()[Counter::oom_kill];
    return fail();
}

}  // namespace mano::model
