// SPDX-License-Identifier: GPL-2.0-or-later
// `shm`: workers that make, fault and destroy shared-memory files, with short-lived processes and
// threads between them (their kernel stacks are vmalloc'ed). An operation is one file's life.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/churn.h"
#include "agent/probe/probe.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

enum Param : std::size_t { kWorkers, kSize, kDuration, kThreads };

// One file: made, sized, mapped, every page touched in a drawn order, thrown away. 0 or errno.
int one_file(std::uint64_t bytes, std::uint64_t page, Rng& rng) {
    const int fd = static_cast<int>(::syscall(SYS_memfd_create, "manometer", 0));
    if (fd < 0) return errno;
    int error = 0;
    void* memory = MAP_FAILED;
    if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) error = errno;
    if (error == 0) {
        memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) error = errno;
    }
    if (error == 0) {
        // A drawn start and an odd stride visit each page once when the count is a power of two,
        // and nearly all otherwise; the rest is visited in order.
        auto* bytes_at = static_cast<volatile char*>(memory);
        const std::uint64_t pages = bytes / page;
        const std::uint64_t start = rng.below(pages);
        for (std::uint64_t i = 0; i < pages; ++i) {
            bytes_at[(start + i) % pages * page + rng.below(page)] = 1;
        }
        ::munmap(memory, bytes);
    }
    ::close(fd);
    return error;
}

std::uint64_t cpu_with_children_ns() {
    std::uint64_t ns = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage = {};
        ::getrusage(who, &usage);
        for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
            ns += static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                  static_cast<std::uint64_t>(time.tv_usec) * 1'000;
        }
    }
    return ns;
}

}  // namespace

int shm_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.probe;
    WorkerCell& cell = agent.probe.block->workers[index];
    const auto size =
        static_cast<std::uint64_t>(load.value(kSize)) / agent.page_bytes * agent.page_bytes;
    const auto duration = static_cast<std::uint64_t>(load.value(kDuration));
    const auto threads = static_cast<std::uint64_t>(load.value(kThreads));
    Rng rng = Rng(agent.plan.seed).split(4000 + index);
    cell.ready = 1;
    wait_for_go(*agent.probe.block);
    sleep_ns(rng.below(1'000'000));
    const std::uint64_t start = now_ns();
    while (now_ns() - start < duration && agent.probe.block->stop == 0) {
        int error = one_file(size, agent.page_bytes, rng);
        if (error == 0 && threads > 0) error = churn_once(static_cast<unsigned>(threads));
        if (error != 0) {
            cell.error = static_cast<std::uint32_t>(error);
            return 3;
        }
        cell.ops.fetch_add(1, std::memory_order_relaxed);
        cell.bytes.fetch_add(size, std::memory_order_relaxed);
    }
    cell.time_ns = now_ns() - start;
    cell.cpu_ns = cpu_with_children_ns();
    return 0;
}

void shm_report(Agent& agent, std::uint32_t iteration) {
    const Totals sum = totals(agent.probe);
    agent.log.value("probe.ops", static_cast<double>(sum.ops), iteration);
    agent.log.value("probe.touched_bytes", static_cast<double>(sum.bytes), iteration);
    agent.log.value("probe.time_ns", static_cast<double>(sum.time_ns), iteration);
    agent.log.value("probe.cpu_ns", static_cast<double>(sum.cpu_ns), iteration);
}

}  // namespace mano::agent
