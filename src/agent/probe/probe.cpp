// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/probe/probe.h"

#include "agent/probe/buffers.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

bool nothing_needed(Agent& /*agent*/) {
    return true;
}
unsigned one_worker(const plan::LoadView& /*load*/) {
    return 1;
}

// `idle`: waits. The control of every comparison, with the seed in its wait.
int idle_work(Agent& agent, unsigned index) {
    enum Param : std::size_t { kDuration };
    WorkerCell& cell = agent.probe.block->workers[index];
    const auto duration = static_cast<std::uint64_t>(agent.plan.probe.value(kDuration));
    Rng rng = Rng(agent.plan.seed).split(3000);
    const std::uint64_t jitter = rng.below(duration / 20 + 1);
    cell.ready = 1;
    wait_for_go(*agent.probe.block);
    const std::uint64_t start = now_ns();
    sleep_ns(duration + jitter);
    cell.time_ns = now_ns() - start;
    cell.cpu_ns = cpu_ns();
    return 0;
}

void idle_report(Agent& agent, std::uint32_t iteration) {
    const Totals sum = totals(agent.probe);
    agent.log.value("probe.time_ns", static_cast<double>(sum.time_ns), iteration);
    agent.log.value("probe.cpu_ns", static_cast<double>(sum.cpu_ns), iteration);
}

unsigned shm_workers(const plan::LoadView& load) {
    return static_cast<unsigned>(load.value(0));
}
unsigned mthp_workers(const plan::LoadView& load) {
    return static_cast<unsigned>(load.value(2));
}
unsigned thp_workers(const plan::LoadView& load) {
    return static_cast<unsigned>(load.value(1));
}

constexpr Probe kProbes[] = {
    {plan::LoadId::idle, nothing_needed, one_worker, idle_work, idle_report},
    {plan::LoadId::shm, nothing_needed, shm_workers, shm_work, shm_report},
    {plan::LoadId::mthp, mthp_check, mthp_workers, mthp_work, huge_report},
    {plan::LoadId::thp, thp_check, thp_workers, thp_work, huge_report},
    {plan::LoadId::command, command_check, one_worker, command_work, command_report},
    {plan::LoadId::packet_ring, packet_ring_check, one_worker, packet_ring_work, buffers_report,
     packet_ring_step},
    {plan::LoadId::io_uring_ring, io_uring_ring_check, one_worker, io_uring_ring_work,
     buffers_report, io_uring_ring_step},
    {plan::LoadId::aux, aux_check, one_worker, aux_work, buffers_report, aux_step},
    {plan::LoadId::timer, timer_check, timer_workers, timer_work, timer_report, timer_step},
};

}  // namespace

const Probe* find_probe(plan::LoadId id) {
    for (const Probe& probe : kProbes) {
        if (probe.id == id) return &probe;
    }
    return nullptr;
}

Totals totals(const Crew& crew) {
    Totals sum;
    for (unsigned i = 0; i < crew.size; ++i) {
        const WorkerCell& cell = crew.block->workers[i];
        sum.ops += cell.ops;
        sum.cpu_ns += cell.cpu_ns;
        sum.count += cell.count;
        sum.sum_ns += cell.sum_ns;
        sum.bytes += cell.bytes;
        if (cell.time_ns > sum.time_ns) sum.time_ns = cell.time_ns;
        if (cell.max_ns > sum.max_ns) sum.max_ns = cell.max_ns;
    }
    return sum;
}

}  // namespace mano::agent
