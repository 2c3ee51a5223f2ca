// SPDX-License-Identifier: GPL-2.0-or-later
// `io-uring-ring`: io_uring's queues. Up to 6.9 each queue is one block of the order that it needs,
// or ENOMEM; from 6.10 on the kernel tries that block first, reclaiming and compacting for it, and
// then takes single pages (io_uring/memmap.c). Nothing is ever submitted.
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/probe/buffers.h"
#include "agent/probe/probe.h"

namespace mano::agent {
namespace {

enum Param : std::size_t { kRings, kEntries, kSqe128, kRounds };
enum Step : std::uint32_t { kSetup, kMapRing, kMapEntries };
constexpr const char* kSteps[] = {"io_uring_setup", "mmap of an io_uring's queues",
                                  "mmap of an io_uring's submission entries"};
constexpr std::size_t kMaxRings = 64;

struct Ring {
    int fd = -1;
    void* queues = MAP_FAILED;
    void* entries = MAP_FAILED;
    std::uint64_t queue_bytes = 0;
    std::uint64_t entry_bytes = 0;
};
Ring rings[kMaxRings];

int setup(unsigned entries, io_uring_params& params) {
    return static_cast<int>(::syscall(SYS_io_uring_setup, entries, &params));
}

std::uint64_t whole_pages(std::uint64_t bytes, std::uint64_t page) {
    return (bytes + page - 1) / page * page;
}

int make_ring(Ring& ring, unsigned entries, bool wide, std::uint64_t page, Timed& time,
              Step& step) {
    io_uring_params params = {};
    params.flags = wide ? IORING_SETUP_SQE128 : 0U;
    const std::uint64_t start = now_ns();
    step = kSetup;
    ring.fd = setup(entries, params);
    int error = ring.fd < 0 ? errno : 0;
    if (error == 0) {
        step = kMapRing;
        // The completion queue lies before the submission queue's indices.
        ring.queue_bytes =
            whole_pages(params.sq_off.array + params.sq_entries * sizeof(std::uint32_t), page);
        ring.queues = ::mmap(nullptr, ring.queue_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
                             IORING_OFF_SQ_RING);
        if (ring.queues == MAP_FAILED) error = errno;
    }
    if (error == 0) {
        step = kMapEntries;
        ring.entry_bytes =
            whole_pages(params.sq_entries * sizeof(io_uring_sqe) * (wide ? 2U : 1U), page);
        ring.entries = ::mmap(nullptr, ring.entry_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                              ring.fd, IORING_OFF_SQES);
        if (ring.entries == MAP_FAILED) error = errno;
    }
    time.add(now_ns() - start);
    return error;
}

void drop_ring(Ring& ring, Timed& time) {
    const std::uint64_t start = now_ns();
    if (ring.queues != MAP_FAILED) ::munmap(ring.queues, ring.queue_bytes);
    if (ring.entries != MAP_FAILED) ::munmap(ring.entries, ring.entry_bytes);
    if (ring.fd >= 0) {
        ::close(ring.fd);
        time.add(now_ns() - start);
    }
    ring = {};
}

struct Task {
    std::size_t rings;
    unsigned entries;
    bool wide;
    std::uint64_t page_bytes;
};

void one_round(const Task& task, bool first, WorkerCell& cell, BufferFigures& figures,
               FreeMemory& memory, PageMap& pages, Rng& rng) {
    for (std::size_t i = 0; i < task.rings; ++i) {
        Step step = kSetup;
        ++figures.asked;
        const int error =
            make_ring(rings[i], task.entries, task.wide, task.page_bytes, figures.map, step);
        memory.look(figures);
        if (error == 0) {
            ++figures.obtained;
            figures.bytes += rings[i].queue_bytes + rings[i].entry_bytes;
            continue;
        }
        refuse(figures, error);
        cell.error = static_cast<std::uint32_t>(error);
        cell.error_at = step;
    }
    if (first) memory.look(figures, Point::held);
    for (std::size_t i = 0; i < task.rings; ++i) {
        const Ring& ring = rings[i];
        if (ring.queues == MAP_FAILED || ring.entries == MAP_FAILED) continue;
        pages.add_chunks(figures, ring.queues, ring.queue_bytes, ring.queue_bytes, task.page_bytes);
        pages.add_chunks(figures, ring.entries, ring.entry_bytes, ring.entry_bytes,
                         task.page_bytes);
    }
    std::uint16_t order[kMaxRings];
    draw_order(rng, order, task.rings);
    for (std::size_t i = 0; i < task.rings; ++i)
        drop_ring(rings[order[i]], figures.unmap);
}

}  // namespace

const char* io_uring_ring_step(std::uint32_t error_at) {
    return kSteps[error_at];
}

bool io_uring_ring_check(Agent& agent) {
    io_uring_params params = {};
    const int fd = setup(1, params);
    const int error = errno;
    if (fd >= 0) {
        ::close(fd);
        return true;
    }
    Text<384> text("io_uring can't be used here (io_uring_setup: ", errno_name(error).view(), ")");
    if (error == ENOSYS) {
        text.add(
            ": this kernel is built without CONFIG_IO_URING. Use another one (debian:6.1 and "
            "debian:7.3 have it)");
    } else if (error == EPERM) {
        text.add(
            ": the sysctl kernel.io_uring_disabled forbids it. Set it to 0 in the "
            "experiment's [guest.sysctl]");
    } else {
        text.add(": use another kernel (debian:6.1 and debian:7.3 have it)");
    }
    end_trial(agent, measure::Ending::precondition_missing, text);
    return false;
}

int io_uring_ring_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.probe;
    WorkerCell& cell = agent.probe.block->workers[index];
    BufferFigures& figures = agent.probe.block->figures;
    const Task task = {static_cast<std::size_t>(load.value(kRings)),
                       static_cast<unsigned>(load.value(kEntries)), load.value(kSqe128) != 0,
                       agent.page_bytes};
    hold_own_memory();
    Rng rng = probe_rng(agent, 6100);
    FreeMemory memory;
    PageMap pages;
    memory.open(agent.page_bytes);
    pages.open();
    cell.ready = 1;
    wait_for_go(*agent.probe.block);
    sleep_ns(rng.below(1'000'000));
    memory.look(figures, Point::before);
    const std::uint64_t start = now_ns();
    const auto rounds = static_cast<std::uint64_t>(load.value(kRounds));
    for (std::uint64_t round = 0; round < rounds && agent.probe.block->stop == 0; ++round)
        one_round(task, round == 0, cell, figures, memory, pages, rng);
    memory.look(figures, Point::after);
    return finish_buffers(agent, cell, start);
}

}  // namespace mano::agent
