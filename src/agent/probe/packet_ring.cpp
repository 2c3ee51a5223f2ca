// SPDX-License-Identifier: GPL-2.0-or-later
// `packet-ring`: receive rings of packet sockets. Each block of a ring is an optional high order:
// the kernel tries it with __GFP_NORETRY, which reclaims and compacts, then takes vmalloc's single
// pages, then tries once more and harder (net/packet/af_packet.c, alloc_one_pg_vec_page). No
// packet is ever received.
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "agent/probe/buffers.h"
#include "agent/probe/probe.h"

namespace mano::agent {
namespace {

enum Param : std::size_t { kRings, kSize, kBlock, kRounds };
enum Step : std::uint32_t { kSocket, kVersion, kRing, kMap };
constexpr const char* kSteps[] = {"a packet socket", "TPACKET_V2", "PACKET_RX_RING",
                                  "mmap of a packet ring"};
constexpr std::size_t kMaxRings = 64;
constexpr unsigned kFrame = 2048;

struct Ring {
    int fd = -1;
    void* memory = MAP_FAILED;
};
Ring rings[kMaxRings];

int open_socket() {
    return ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}

// 0, or errno with the step in `step`.
int make_ring(Ring& ring, std::uint64_t size, std::uint64_t block, Timed& time, Step& step) {
    step = kSocket;
    ring.fd = open_socket();
    if (ring.fd < 0) return errno;
    step = kVersion;
    const int version = TPACKET_V2;
    if (::setsockopt(ring.fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0) {
        return errno;
    }
    const tpacket_req wanted = {.tp_block_size = static_cast<unsigned>(block),
                                .tp_block_nr = static_cast<unsigned>(size / block),
                                .tp_frame_size = kFrame,
                                .tp_frame_nr = static_cast<unsigned>(size / kFrame)};
    const std::uint64_t start = now_ns();
    step = kRing;
    int error = 0;
    if (::setsockopt(ring.fd, SOL_PACKET, PACKET_RX_RING, &wanted, sizeof wanted) != 0) {
        error = errno;
    } else {
        step = kMap;
        ring.memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
        if (ring.memory == MAP_FAILED) error = errno;
    }
    time.add(now_ns() - start);
    return error;
}

void drop_ring(Ring& ring, std::uint64_t size, Timed& time) {
    const std::uint64_t start = now_ns();
    if (ring.memory != MAP_FAILED) ::munmap(ring.memory, size);
    if (ring.fd >= 0) ::close(ring.fd);
    if (ring.memory != MAP_FAILED) time.add(now_ns() - start);
    ring = {};
}

struct Task {
    std::size_t rings;
    std::uint64_t size, block, page_bytes;
};

void one_round(const Task& task, bool first, WorkerCell& cell, BufferFigures& figures,
               FreeMemory& memory, PageMap& pages, Rng& rng) {
    for (std::size_t i = 0; i < task.rings; ++i) {
        Step step = kSocket;
        ++figures.asked;
        const int error = make_ring(rings[i], task.size, task.block, figures.map, step);
        memory.look(figures);
        if (error == 0) {
            ++figures.obtained;
            figures.bytes += task.size;
            continue;
        }
        refuse(figures, error);
        cell.error = static_cast<std::uint32_t>(error);
        cell.error_at = step;
    }
    if (first) memory.look(figures, Point::held);
    for (std::size_t i = 0; i < task.rings; ++i) {
        if (rings[i].memory == MAP_FAILED) continue;
        pages.add_chunks(figures, rings[i].memory, task.size, task.block, task.page_bytes);
    }
    std::uint16_t order[kMaxRings];
    draw_order(rng, order, task.rings);
    for (std::size_t i = 0; i < task.rings; ++i)
        drop_ring(rings[order[i]], task.size, figures.unmap);
}

}  // namespace

const char* packet_ring_step(std::uint32_t error_at) {
    return kSteps[error_at];
}

bool packet_ring_check(Agent& agent) {
    const int fd = open_socket();
    const int error = errno;
    if (fd >= 0) {
        ::close(fd);
        return true;
    }
    Text<384> text("this kernel has no packet sockets (", errno_name(error).view(), ")");
    text.add(
        ": it needs CONFIG_PACKET, built in or as the module af_packet. Use another kernel "
        "(debian:6.1 and debian:7.3 have it), or name the folder of this kernel's modules "
        "(PATH,modules=DIR)");
    end_trial(agent, measure::Ending::precondition_missing, text);
    return false;
}

int packet_ring_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.probe;
    WorkerCell& cell = agent.probe.block->workers[index];
    BufferFigures& figures = agent.probe.block->figures;
    const Task task = {static_cast<std::size_t>(load.value(kRings)),
                       static_cast<std::uint64_t>(load.value(kSize)),
                       static_cast<std::uint64_t>(load.value(kBlock)), agent.page_bytes};
    hold_own_memory();
    Rng rng = probe_rng(agent, 6000);
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
