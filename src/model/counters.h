// SPDX-License-Identifier: GPL-2.0-or-later
// What the model counts, under the kernel's own names: vmstat keys, tracepoints, and work done,
// from which the timing layer makes nanoseconds. One flat array: counting is one addition.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mano::model {

#define MANO_MODEL_COUNTERS(X)                                   \
    X(pgalloc_dma, "vmstat.pgalloc_dma")                         \
    X(pgalloc_dma32, "vmstat.pgalloc_dma32")                     \
    X(pgalloc_normal, "vmstat.pgalloc_normal")                   \
    X(pgalloc_movable, "vmstat.pgalloc_movable")                 \
    X(pgfree, "vmstat.pgfree")                                   \
    X(pgfault, "vmstat.pgfault")                                 \
    X(pgmajfault, "vmstat.pgmajfault")                           \
    X(allocstall_dma, "vmstat.allocstall_dma")                   \
    X(allocstall_dma32, "vmstat.allocstall_dma32")               \
    X(allocstall_normal, "vmstat.allocstall_normal")             \
    X(allocstall_movable, "vmstat.allocstall_movable")           \
    X(pgscan_kswapd, "vmstat.pgscan_kswapd")                     \
    X(pgscan_direct, "vmstat.pgscan_direct")                     \
    X(pgscan_anon, "vmstat.pgscan_anon")                         \
    X(pgsteal_kswapd, "vmstat.pgsteal_kswapd")                   \
    X(pgsteal_direct, "vmstat.pgsteal_direct")                   \
    X(pgsteal_anon, "vmstat.pgsteal_anon")                       \
    X(pgactivate, "vmstat.pgactivate")                           \
    X(pgrefill, "vmstat.pgrefill")                               \
    X(pageoutrun, "vmstat.pageoutrun")                           \
    X(pgscan_direct_throttle, "vmstat.pgscan_direct_throttle")   \
    X(pswpin, "vmstat.pswpin")                                   \
    X(pswpout, "vmstat.pswpout")                                 \
    X(compact_stall, "vmstat.compact_stall")                     \
    X(compact_success, "vmstat.compact_success")                 \
    X(compact_fail, "vmstat.compact_fail")                       \
    X(compact_migrate_scanned, "vmstat.compact_migrate_scanned") \
    X(compact_free_scanned, "vmstat.compact_free_scanned")       \
    X(compact_isolated, "vmstat.compact_isolated")               \
    X(compact_daemon_wake, "vmstat.compact_daemon_wake")         \
    X(pgmigrate_success, "vmstat.pgmigrate_success")             \
    X(pgmigrate_fail, "vmstat.pgmigrate_fail")                   \
    X(oom_kill, "vmstat.oom_kill")                               \
    X(thp_split_page, "vmstat.thp_split_page")                   \
    X(mm_page_alloc, "tp.mm_page_alloc")                         \
    X(mm_page_alloc_order0, "tp.page_alloc")                     \
    X(zone_locked, "tp.mm_page_alloc_zone_locked")               \
    X(zone_locked_order0, "tp.zone_locked")                      \
    X(extfrag, "tp.mm_page_alloc_extfrag")                       \
    X(extfrag_order0, "tp.extfrag")                              \
    X(pcpu_drain, "tp.pcpu_drain")                               \
    X(pcp_hits, "model.pcp_hits")                                \
    X(pcp_refills, "model.pcp_refills")                          \
    X(pcp_drains, "model.pcp_drains")                            \
    X(free_high_drains, "model.free_high_drains")                \
    X(free_high_pages, "model.free_high_pages")                  \
    X(buddy_allocs, "model.buddy_allocs")                        \
    X(buddy_frees, "model.buddy_frees")                          \
    X(zone_lock_holds, "model.zone_lock_holds")                  \
    X(zone_lock_hold_ns, "model.zone_lock_hold_ns")              \
    X(zone_lock_wait_ns, "model.zone_lock_wait_ns")              \
    X(slow_paths, "model.slow_paths")                            \
    X(memstall_enters, "model.memstall_enters")

enum class Counter : std::uint8_t {
#define MANO_MODEL_COUNTER_NAME(id, name) id,
    MANO_MODEL_COUNTERS(MANO_MODEL_COUNTER_NAME)
#undef MANO_MODEL_COUNTER_NAME
        count
};
constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::count);
// The metric's name as the store has it.
std::string_view name_of(Counter counter);

class Counters {
  public:
    std::uint64_t& operator[](Counter counter) {
        return values_[static_cast<std::size_t>(counter)];
    }
    std::uint64_t operator[](Counter counter) const {
        return values_[static_cast<std::size_t>(counter)];
    }
    bool operator==(const Counters&) const = default;

  private:
    std::array<std::uint64_t, kCounters> values_{};
};

// What was done, in units that cost time. The mechanism knows no time: it adds up what it does.
#define MANO_MODEL_WORK(X)                                                             \
    X(pcp_op, "pcp-op", 56, "a page from or to a per-CPU list, without the zone")      \
    X(refill, "refill", 38, "a page taken from the zone for a list, under its lock")   \
    X(drain, "drain", 48, "a page that a list gives back, under the zone's lock")      \
    X(buddy_op, "buddy-op", 151, "a block from or to the zone itself, under its lock") \
    X(lock, "lock", 60, "taking the zone's lock")                                      \
    X(walk, "walk", 120, "one walk over the zones that fails at their watermarks")     \
    X(zero, "zero", 250, "clearing a page")                                            \
    X(scan, "scan", 620, "a page that reclaim looks at")                               \
    X(swap, "swap", 4000, "a page that is compressed into swap")                       \
    X(swapin, "swapin", 2500, "a page that is brought back from swap")                 \
    X(migrate, "migrate", 2200, "a page that compaction moves")                        \
    X(compact_scan, "compact-scan", 40, "a page that compaction looks at")             \
    X(slow, "slow", 1500, "one turn of the slow path: waking kswapd, deciding")        \
    X(drain_cpu, "drain-cpu", 700, "looking at one CPU's lists in drain_all_pages")    \
    X(fault, "fault", 500, "a page fault's own way in and out")                        \
    X(call, "call", 2000, "a system call's own way in and out")                        \
    X(pte, "pte", 200, "a page that madvise finds in a table and takes off the LRU")   \
    X(wake, "wake", 2500, "a timer's interrupt and the switch to the task it wakes")

enum class Work : std::uint8_t {
#define MANO_MODEL_WORK_NAME(id, name, ns, meaning) id,
    MANO_MODEL_WORK(MANO_MODEL_WORK_NAME)
#undef MANO_MODEL_WORK_NAME
        count
};
constexpr std::size_t kWorks = static_cast<std::size_t>(Work::count);

// Nanoseconds of each unit of work: defaults from docs/model.md, calibrated by measurement.
class Costs {
  public:
    Costs();
    double& operator[](Work work) { return ns_[static_cast<std::size_t>(work)]; }
    double operator[](Work work) const { return ns_[static_cast<std::size_t>(work)]; }

  private:
    std::array<double, kWorks> ns_;
};
std::string_view name_of(Work work);
std::string_view meaning_of(Work work);

class WorkDone {
  public:
    void add(Work work, std::uint32_t count = 1) {
        counts_[static_cast<std::size_t>(work)] += count;
    }
    std::uint32_t operator[](Work work) const { return counts_[static_cast<std::size_t>(work)]; }
    // Time with and, of that, under the zone's lock.
    double time(const Costs& costs) const;
    double under_lock(const Costs& costs) const;
    void reset() { counts_.fill(0); }

  private:
    std::array<std::uint32_t, kWorks> counts_{};
};

}  // namespace mano::model
