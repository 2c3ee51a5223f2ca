// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/pressure/pressure.h"

#include <sys/mman.h>

#include "base/rng.h"

namespace mano::agent {
namespace {

// No pressure, but the seed is used: pages are taken and given back in a drawn order, so that the
// free lists of two seeds differ as those of two boots of real hardware do.
bool none_start(Agent& agent) {
    enum Param : std::size_t { kJitterPages };
    constexpr std::uint64_t kMost = 4096;
    const auto wanted = static_cast<std::uint64_t>(agent.plan.pressure.value(kJitterPages));
    const std::uint64_t pages = wanted < kMost ? wanted : kMost;
    if (pages == 0) return true;
    const std::uint64_t page = agent.page_bytes;
    auto* memory = static_cast<char*>(
        ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) return true;
    // This process is locked for the future too (mlockall), which would touch every page at once.
    Rng rng(agent.plan.seed);
    for (std::uint64_t i = 0; i < pages; ++i)
        memory[rng.below(pages) * page] = 1;
    for (std::uint64_t i = 0; i < pages / 2; ++i) {
        ::munlock(memory + rng.below(pages) * page, page);
        ::madvise(memory + rng.below(pages) * page, page, MADV_DONTNEED);
    }
    ::munmap(memory, pages * page);
    sleep_ns(rng.below(5'000'000));
    return true;
}

bool none_verify(Agent& /*agent*/, std::uint32_t /*iteration*/, std::uint8_t /*moment*/) {
    return true;
}
void none_stop(Agent& /*agent*/) {}

constexpr Pressure kPressures[] = {
    {plan::LoadId::none, none_start, none_verify, none_stop},
    {plan::LoadId::hold, hold_start, hold_verify, hold_stop},
    {plan::LoadId::churn, churn_start, churn_verify, stop_rounds},
    {plan::LoadId::pageout, pageout_start, pageout_verify, stop_rounds},
};

}  // namespace

void log_rounds(Agent& agent, std::string_view metric, std::uint32_t iteration,
                std::uint8_t moment) {
    std::uint64_t ops = 0;
    for (unsigned i = 0; i < agent.pressure.size; ++i)
        ops += agent.pressure.block->workers[i].ops;
    agent.log.value(metric, static_cast<double>(ops), iteration, moment);
}

bool is_whole(Agent& agent, std::string_view worker) {
    if (agent.pressure.alive == agent.pressure.size) return true;
    end_trial(agent,
              agent.pressure.kill_signal == 9 ? measure::Ending::worker_oom_killed
                                              : measure::Ending::pressure_missed,
              Text<96>(worker, " ended (signal ", agent.pressure.kill_signal, ")"));
    return false;
}

void stop_rounds(Agent& agent) {
    agent.pressure.block->stop = 1;
    wait_until(agent, 1'000'000'000, [](Agent& a) { return a.pressure.alive == 0; });
    end_crew(agent, agent.pressure);
}

const Pressure* find_pressure(plan::LoadId id) {
    for (const Pressure& pressure : kPressures) {
        if (pressure.id == id) return &pressure;
    }
    return nullptr;
}

}  // namespace mano::agent
