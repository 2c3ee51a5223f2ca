// SPDX-License-Identifier: GPL-2.0-or-later
// `churn`: workers that make and end processes with threads until the trial is over.
#include "agent/churn.h"

#include "agent/pressure/pressure.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

enum Param : std::size_t { kWorkers, kThreads, kBurst };

int churn_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.pressure;
    LoadBlock& block = *agent.pressure.block;
    WorkerCell& cell = block.workers[index];
    Rng rng = Rng(agent.plan.seed).split(2000 + index);
    const auto threads = static_cast<std::uint64_t>(load.value(kThreads));
    const auto burst = static_cast<std::uint64_t>(load.value(kBurst));
    sleep_ns(rng.below(2'000'000));
    while (block.stop == 0) {
        const int error = churn_once(static_cast<unsigned>(1 + rng.below(threads)));
        if (error != 0) cell.error = static_cast<std::uint32_t>(error);
        cell.ops.fetch_add(1, std::memory_order_relaxed);
        cell.ready = 1;
        if (burst > 0) sleep_ns(burst / 2 + rng.below(burst));
    }
    return 0;
}

}  // namespace

bool churn_start(Agent& agent) {
    const auto workers = static_cast<unsigned>(agent.plan.pressure.value(kWorkers));
    if (!start_crew(agent, agent.pressure, workers, 1000, churn_work)) return false;
    const bool up = wait_until(agent, agent.plan.pressure_limit_ns,
                               [](Agent& a) { return crew_ready(a.pressure); });
    if (up && agent.pressure.alive == agent.pressure.size) return true;
    end_trial(agent, measure::Ending::pressure_missed, "the churning workers didn't come up");
    return false;
}

bool churn_verify(Agent& agent, std::uint32_t iteration, std::uint8_t moment) {
    log_rounds(agent, "pressure.churned", iteration, moment);
    return is_whole(agent, "a churning worker");
}

}  // namespace mano::agent
