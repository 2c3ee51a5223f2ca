// SPDX-License-Identifier: GPL-2.0-or-later
// A probe: what is measured, in worker processes in a cgroup of their own. One table, no
// registration; a new probe is a line in kProbes (probe.cpp) and a schema in src/plan.
#pragma once

#include "agent/agent.h"

namespace mano::agent {

struct Probe {
    plan::LoadId id;
    // What must be there; false: an ending (precondition missing, with the mend) has been written.
    bool (*check)(Agent& agent);
    unsigned (*workers)(const plan::LoadView& load);
    // In a worker: prepare, set its cell's ready, wait_for_go(), run, fill the cell. Exit status.
    Work work;
    // Writes the probe's own values from the cells, after an iteration.
    void (*report)(Agent& agent, std::uint32_t iteration);
    // What a worker was doing when it was refused, by the cell's error_at; may be nullptr.
    const char* (*step)(std::uint32_t error_at) = nullptr;
};

const Probe* find_probe(plan::LoadId id);

bool command_check(Agent& agent);
int command_work(Agent& agent, unsigned index);
void command_report(Agent& agent, std::uint32_t iteration);
// What the program said on its standard error, cut to what an evidence holds.
std::string_view command_errors();

int shm_work(Agent& agent, unsigned index);
void shm_report(Agent& agent, std::uint32_t iteration);

bool mthp_check(Agent& agent);
int mthp_work(Agent& agent, unsigned index);
bool thp_check(Agent& agent);
int thp_work(Agent& agent, unsigned index);
void huge_report(Agent& agent, std::uint32_t iteration);

bool timer_check(Agent& agent);
unsigned timer_workers(const plan::LoadView& load);
int timer_work(Agent& agent, unsigned index);
void timer_report(Agent& agent, std::uint32_t iteration);
const char* timer_step(std::uint32_t error_at);

// All three are reported by buffers_report (buffers.h).
bool packet_ring_check(Agent& agent);
int packet_ring_work(Agent& agent, unsigned index);
const char* packet_ring_step(std::uint32_t error_at);
bool io_uring_ring_check(Agent& agent);
int io_uring_ring_work(Agent& agent, unsigned index);
const char* io_uring_ring_step(std::uint32_t error_at);
bool aux_check(Agent& agent);
int aux_work(Agent& agent, unsigned index);
const char* aux_step(std::uint32_t error_at);

// Sum and worst of the crew's cells, for the reports.
struct Totals {
    std::uint64_t ops = 0, cpu_ns = 0, count = 0, sum_ns = 0, bytes = 0;
    std::uint64_t time_ns = 0, max_ns = 0;  // the longest worker's, the worst operation's
};
Totals totals(const Crew& crew);

}  // namespace mano::agent
