// SPDX-License-Identifier: GPL-2.0-or-later
// `mthp` and `thp`: fault anonymous memory folio by folio, in a drawn order, and time each folio's
// life from nothing to all of its pages written. One large folio or many base pages: the same
// memory is asked for, so the time says what falling back costs.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "agent/probe/probe.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

enum Mthp : std::size_t { kMthpFolio, kMthpSize, kMthpWorkers, kMthpDuration };
enum Thp : std::size_t { kThpSize, kThpWorkers };
constexpr std::uint64_t kPmd = std::uint64_t{2} << 20;
constexpr std::size_t kMaxFolios = 65536;

std::uint32_t order_of_touch[kMaxFolios];

struct Region {
    char* base = nullptr;
    char* memory = nullptr;  // aligned
    std::uint64_t mapped = 0;
};

bool map_region(Region& region, std::uint64_t size) {
    region.mapped = size + kPmd;
    void* base = ::mmap(nullptr, region.mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return false;
    region.base = static_cast<char*>(base);
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    region.memory = region.base + ((address + kPmd - 1) / kPmd * kPmd - address);
    return ::madvise(region.memory, size, MADV_HUGEPAGE) == 0;
}

struct Task {
    std::uint64_t folio;
    std::uint64_t size;
    std::uint64_t duration;  // 0: the region once
};

// One pass: every folio in a drawn order, each timed.
void touch_all(const Task& task, const Region& region, std::uint64_t page, Rng& rng,
               WorkerCell& cell) {
    const std::uint64_t folios = task.size / task.folio;
    for (std::uint64_t i = 0; i < folios; ++i)
        order_of_touch[i] = static_cast<std::uint32_t>(i);
    for (std::uint64_t i = folios; i > 1; --i) {
        const std::uint64_t pick = rng.below(i);
        const std::uint32_t keep = order_of_touch[i - 1];
        order_of_touch[i - 1] = order_of_touch[pick];
        order_of_touch[pick] = keep;
    }
    std::uint64_t worst = cell.max_ns;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < folios; ++i) {
        volatile char* at = region.memory + order_of_touch[i] * task.folio;
        const std::uint64_t start = now_ns();
        for (std::uint64_t offset = 0; offset < task.folio; offset += page)
            at[offset] = 1;
        const std::uint64_t took = now_ns() - start;
        sum += took;
        if (took > worst) worst = took;
    }
    cell.max_ns = worst;
    cell.sum_ns.fetch_add(sum, std::memory_order_relaxed);
    cell.count.fetch_add(folios, std::memory_order_relaxed);
    cell.bytes.fetch_add(task.size, std::memory_order_relaxed);
}

int huge_work(Agent& agent, unsigned index, const Task& task) {
    WorkerCell& cell = agent.probe.block->workers[index];
    Rng rng = Rng(agent.plan.seed).split(5000 + index);
    if (task.size < task.folio || task.size / task.folio > kMaxFolios) {
        cell.error = EINVAL;
        return 3;
    }
    // Touched before the go, so that the order's own memory isn't part of the measurement.
    for (std::uint64_t i = 0; i < task.size / task.folio; ++i)
        order_of_touch[i] = 0;
    cell.ready = 1;
    wait_for_go(*agent.probe.block);
    const std::uint64_t start = now_ns();
    do {
        Region region;
        if (!map_region(region, task.size)) {
            cell.error = static_cast<std::uint32_t>(errno);
            return 3;
        }
        touch_all(task, region, agent.page_bytes, rng, cell);
        ::munmap(region.base, region.mapped);
        cell.ops.fetch_add(1, std::memory_order_relaxed);
    } while (now_ns() - start < task.duration && agent.probe.block->stop == 0);
    cell.time_ns = now_ns() - start;
    cell.cpu_ns = cpu_ns();
    return 0;
}

bool knob_allows(Agent& agent, const char* path, std::string_view what) {
    char buffer[128];
    const SmallFile file = read_small(path, buffer);
    const std::string_view mode = chosen(file.text);
    if (file.ok && (mode == "madvise" || mode == "always" || mode == "inherit")) return true;
    Text<384> text(what, file.ok ? " is switched off" : " isn't in this kernel", " (", path, ")");
    text.add(file.ok ? ": set it to madvise in the experiment's [guest]"
                     : ": mTHP needs 6.8 or newer and is absent on PREEMPT_RT; use a newer kernel");
    end_trial(agent, measure::Ending::precondition_missing, text);
    return false;
}

}  // namespace

bool mthp_check(Agent& agent) {
    const auto folio = static_cast<std::uint64_t>(agent.plan.probe.value(kMthpFolio));
    const Path path("/sys/kernel/mm/transparent_hugepage/hugepages-", folio / 1024, "kB/enabled");
    return knob_allows(agent, path.c_str(), Text<48>("mTHP of ", folio / 1024, " KiB"));
}

int mthp_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.probe;
    return huge_work(agent, index,
                     {static_cast<std::uint64_t>(load.value(kMthpFolio)),
                      static_cast<std::uint64_t>(load.value(kMthpSize)),
                      static_cast<std::uint64_t>(load.value(kMthpDuration))});
}

bool thp_check(Agent& agent) {
    return knob_allows(agent, "/sys/kernel/mm/transparent_hugepage/enabled", "THP");
}

int thp_work(Agent& agent, unsigned index) {
    const auto size = static_cast<std::uint64_t>(agent.plan.probe.value(kThpSize));
    return huge_work(agent, index, {kPmd, size / kPmd * kPmd, 0});
}

void huge_report(Agent& agent, std::uint32_t iteration) {
    const Totals sum = totals(agent.probe);
    agent.log.value("probe.ops", static_cast<double>(sum.ops), iteration);
    agent.log.value("probe.touched_bytes", static_cast<double>(sum.bytes), iteration);
    agent.log.value("probe.time_ns", static_cast<double>(sum.time_ns), iteration);
    agent.log.value("probe.cpu_ns", static_cast<double>(sum.cpu_ns), iteration);
    agent.log.value("probe.fault_ns_max", static_cast<double>(sum.max_ns), iteration);
    agent.log.value("probe.fault_ns_total", static_cast<double>(sum.sum_ns), iteration);
    agent.log.value("probe.faults", static_cast<double>(sum.count), iteration);
}

}  // namespace mano::agent
