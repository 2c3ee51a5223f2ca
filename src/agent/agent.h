// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's state, one for the process, and what its parts ask of each other. The agent is PID 1
// of a guest: it sets up the machine that the plan describes, brings up the pressure, runs the
// probe and writes readings into the log. Everything is allocated, opened and locked before the
// pressure begins.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "agent/machine.h"
#include "agent/probe/figures.h"
#include "agent/sampler/counters.h"
#include "agent/sampler/readings.h"
#include "agent/sampler/tracer.h"
#include "agent/sampler/triggers.h"
#include "agent/sys.h"
#include "measure/ending.h"
#include "plan/plan_view.h"
#include "wire/writer.h"

namespace mano::agent {

using plan::kMaxWorkers;

// What one worker process of a load and PID 1 tell each other, in shared memory.
struct WorkerCell {
    std::atomic<std::uint32_t> ready;
    std::atomic<std::uint32_t> error;     // errno of what it was refused
    std::atomic<std::uint32_t> error_at;  // what it was doing: index into the load's own list
    std::atomic<std::uint64_t> ops;
    std::atomic<std::uint64_t> time_ns;  // from go to done
    std::atomic<std::uint64_t> cpu_ns;
    std::atomic<std::uint64_t> count;  // of timed operations
    std::atomic<std::uint64_t> sum_ns;
    std::atomic<std::uint64_t> max_ns;
    std::atomic<std::uint64_t> bytes;  // owned (pressure) or touched (probe)
    std::atomic<std::int64_t> adjust;  // hold: bytes to take (or, negative, to give back)
};

// The shared block of one load (pressure or probe).
struct LoadBlock {
    alignas(64) std::atomic<std::uint32_t> go;    // futex: 0 wait, 1 run
    alignas(64) std::atomic<std::uint32_t> stop;  // the load's workers end soon after it is 1
    WorkerCell workers[kMaxWorkers];
    BufferFigures figures;  // of probes that take whole buffers; they have one worker
};

// Where the three groups control, load and probe lie, and what else a live host differs in from a
// guest, whose only tenant is the agent.
struct Place {
    bool live = false;
    Path v2 = Path(MANO_CGROUP);  // the folder of their pressure files and cpu.stat; empty: none
    Path memory = Path(MANO_CGROUP);  // the folder of memory.stat; empty: none
    std::uint64_t limit = 0;          // bytes that load and probe may hold together; 0: no limit
    // cgroup v1 counts OOM kills in another file, by the same key.
    std::string_view events = "memory.events";
};

// A load's processes, as PID 1 sees them.
struct Crew {
    LoadBlock* block = nullptr;
    unsigned size = 0;
    unsigned alive = 0;
    pid_t pids[kMaxWorkers] = {};
    int cgroup_fds[2] = {-1, -1};  // cgroup.procs that each joins; two where v1 and v2 are mixed
    int kill_signal = 0;           // of the first worker that a signal ended
    int exit_status = 0;           // of the first worker that ended with another status than 0
};

struct Agent {
    wire::Writer log;
    Place place;
    plan::PlanView plan;
    Readings readings;
    Counters counters;
    Triggers triggers;
    Tracer tracer;  // of attribution trials
    Crew pressure;
    Crew probe;
    std::uint64_t jiffy_ns = 0;
    std::uint64_t page_bytes = 4096;
    std::uint64_t load_cpu_us_at_hold = 0;
    std::uint64_t hold_since_ns = 0;
    std::uint64_t demand_bytes = 0;
    std::uint64_t load_faults = 0;  // major faults of the pressure at the iteration's start
    std::uint64_t late_ns = 0;      // the worst of PID 1's own appointments
    std::uint32_t iteration = 0;    // the present one, or the last
    std::uint64_t faults = 0;       // PID 1's own, from an iteration's first reading to its last
    int kmsg_fd = -1;  // the kernel's log from the trial's start on; a live host's only
};

// Waits until `done` says so or `limit_ns` of guest time is over, beating the heart and reaping
// children meanwhile. true: done.
bool wait_until(Agent& agent, std::uint64_t limit_ns, bool (*done)(Agent&));
// Reaps whatever has ended, noting what concerns the crews.
void reap(Agent& agent);

// Starts `size` workers that join the crew's cgroup, call `work(agent, index)` and exit. false:
// fork was refused (an ending is written).
using Work = int (*)(Agent& agent, unsigned index);
bool start_crew(Agent& agent, Crew& crew, unsigned size, int oom_score_adj, Work work);
void wait_for_go(LoadBlock& block);  // in a worker
void give_go(LoadBlock& block);
void end_crew(Agent& agent, Crew& crew);  // SIGKILL and reap
bool crew_ready(const Crew& crew);

// Writes the ending once, in words; evidence may be built by Text.
void end_trial(Agent& agent, measure::Ending ending, std::string_view evidence);

}  // namespace mano::agent
