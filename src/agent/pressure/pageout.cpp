// SPDX-License-Identifier: GPL-2.0-or-later
// `pageout`: workers that write their memory and have it paged out with MADV_PAGEOUT, over and
// over, so that the kernel walks page tables, compresses and frees all the time.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/machine.h"
#include "agent/pressure/pressure.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

enum Param : std::size_t { kWorkers, kSize, kPause };
enum Step : std::uint32_t { kMapping, kPagingOut };
constexpr const char* kSteps[] = {"mmap of its memory", "MADV_PAGEOUT"};

int refused(WorkerCell& cell, Step step) {
    cell.error_at = step;
    cell.error = static_cast<std::uint32_t>(errno);
    return 3;
}

// Half of each page is noise, so that swap really takes room; where it lies hangs on the seed.
void dirty(char* memory, std::uint64_t bytes, std::uint64_t page, Rng& rng) {
    for (std::uint64_t at = 0; at < bytes; at += page) {
        std::uint64_t word = rng.next();
        for (std::uint64_t i = 0; i < page / 2; i += sizeof word) {
            std::memcpy(memory + at + i, &word, sizeof word);
            word = word * 6364136223846793005ULL + 1442695040888963407ULL;
        }
    }
}

int pageout_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.pressure;
    LoadBlock& block = *agent.pressure.block;
    WorkerCell& cell = block.workers[index];
    Rng rng = Rng(agent.plan.seed).split(2500 + index);
    const std::uint64_t page = agent.page_bytes;
    const std::uint64_t bytes = static_cast<std::uint64_t>(load.value(kSize)) / page * page;
    const auto pause = static_cast<std::uint64_t>(load.value(kPause));
    auto* memory = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) return refused(cell, kMapping);
    sleep_ns(rng.below(2'000'000));
    while (block.stop == 0) {
        dirty(memory, bytes, page, rng);
        if (::madvise(memory, bytes, MADV_PAGEOUT) != 0) return refused(cell, kPagingOut);
        cell.ops.fetch_add(1, std::memory_order_relaxed);
        cell.ready = 1;
        if (pause > 0) sleep_ns(pause / 2 + rng.below(pause));
    }
    return 0;
}

bool told_refusal(Agent& agent) {
    for (unsigned i = 0; i < agent.pressure.size; ++i) {
        const WorkerCell& cell = agent.pressure.block->workers[i];
        if (cell.error == 0) continue;
        end_trial(agent, measure::Ending::precondition_missing,
                  Text<192>("the kernel refused the pressure's ", kSteps[cell.error_at], ": ",
                            errno_name(static_cast<int>(cell.error.load())).view()));
        return true;
    }
    return false;
}

}  // namespace

bool pageout_start(Agent& agent) {
    if (agent.plan.zram_bytes == 0) {
        end_trial(agent, measure::Ending::precondition_missing,
                  "paging out needs swap: set guest.zram");
        return false;
    }
    const auto workers = static_cast<unsigned>(agent.plan.pressure.value(kWorkers));
    if (!start_crew(agent, agent.pressure, workers, 1000, pageout_work)) return false;
    const bool up = wait_until(agent, agent.plan.pressure_limit_ns, [](Agent& a) {
        return a.pressure.alive < a.pressure.size || crew_ready(a.pressure);
    });
    if (told_refusal(agent)) return false;
    if (up && agent.pressure.alive == agent.pressure.size) return true;
    end_trial(agent, measure::Ending::pressure_missed,
              "not every worker had paged out its memory once within pressure_limit");
    return false;
}

bool pageout_verify(Agent& agent, std::uint32_t iteration, std::uint8_t moment) {
    log_rounds(agent, "pressure.paged_out", iteration, moment);
    // A worker that was refused something has ended, and says more.
    if (agent.pressure.alive < agent.pressure.size && told_refusal(agent)) return false;
    return is_whole(agent, "a paging worker");
}

}  // namespace mano::agent
