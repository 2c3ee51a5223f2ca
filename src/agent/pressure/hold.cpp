// SPDX-License-Identifier: GPL-2.0-or-later
// `hold`: workers that bring what they own to a share of the memory available at the start, punch
// holes in it in a drawn pattern, and then sleep. Demand = bytes still owned after the holes ÷
// MemAvailable at the start; the level is verified as resident + swapped.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/machine.h"
#include "agent/pressure/fill.h"
#include "agent/pressure/pressure.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

using measure::Ending;

// By position in the schema (src/plan/schema.cpp).
enum Param : std::size_t {
    kDemand,
    kWorkers,
    kFolio,
    kPunch,
    kPunchChunk,
    kCompressible,
    kSettle,
    kTolerance,
};
enum Step : std::uint32_t { kMapping, kPopulating, kCorrecting };
constexpr const char* kSteps[] = {"mmap of its memory", "MADV_POPULATE_WRITE",
                                  "MADV_POPULATE_WRITE of what had gone"};

constexpr std::uint64_t kPpm = 1'000'000;
constexpr std::uint64_t kHuge = std::uint64_t{2} << 20;
constexpr std::uint64_t kRoomShare = 4;  // a worker can make up for a quarter of its share

struct Share {
    std::uint64_t owned = 0;   // after punching
    std::uint64_t mapped = 0;  // before
};

// What each worker owns, in whole chunks; computed alike by PID 1 and the workers.
Share share_of(const Agent& agent) {
    const plan::LoadView& load = agent.plan.pressure;
    const auto workers =
        static_cast<std::uint64_t>(load.value(kWorkers) > 0 ? load.value(kWorkers) : 1);
    const auto punch = static_cast<std::uint64_t>(load.value(kPunch));
    const std::uint64_t page = agent.page_bytes;
    Share share;
    share.owned = agent.demand_bytes / workers / page * page;
    const double kept = 1.0 - static_cast<double>(punch) / static_cast<double>(kPpm);
    share.mapped =
        static_cast<std::uint64_t>(static_cast<double>(share.owned) / kept) / page * page;
    return share;
}

// Releases exactly the planned number of chunks, drawn by selection sampling (Knuth, Algorithm S),
// so that the bytes owned in the end are exact.
void punch_holes(const Agent& agent, char* memory, const Share& share, Rng& rng) {
    const auto chunk = static_cast<std::uint64_t>(agent.plan.pressure.value(kPunchChunk));
    if (share.mapped == share.owned || chunk == 0) return;
    std::uint64_t release = (share.mapped - share.owned + chunk / 2) / chunk;
    const std::uint64_t chunks = share.mapped / chunk;
    for (std::uint64_t i = 0; i < chunks && release > 0; ++i) {
        if (rng.below(chunks - i) >= release) continue;
        ::madvise(memory + i * chunk, chunk, MADV_DONTNEED);
        --release;
    }
}

// What a worker holds: its memory, and room behind it to make up for what goes.
struct Holding {
    char* memory = nullptr;
    std::uint64_t filled = 0;  // from the start
    std::uint64_t room = 0;
};

// Takes or gives back at the end of what is filled. 0, or an errno.
int correct(Holding& holding, std::int64_t adjust, Filler& filler) {
    if (adjust < 0) {
        const auto wanted = static_cast<std::uint64_t>(-adjust);
        const std::uint64_t give = wanted < holding.filled ? wanted : holding.filled;
        holding.filled -= give;
        return ::madvise(holding.memory + holding.filled, give, MADV_DONTNEED) == 0 ? 0 : errno;
    }
    const auto wanted = static_cast<std::uint64_t>(adjust);
    const std::uint64_t left = holding.room - holding.filled;
    const std::uint64_t take = wanted < left ? wanted : left;
    const int error = populate_and_fill(holding.memory + holding.filled, take, filler);
    if (error == 0) holding.filled += take;
    return error;
}

// Sleeps until PID 1 asks for a correction.
[[noreturn]] void hold_on(WorkerCell& cell, Holding& holding, Filler& filler) {
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR1);
    while (true) {
        int signal = 0;
        if (::sigwait(&asked, &signal) != 0) continue;
        const int error = correct(holding, cell.adjust, filler);
        if (error != 0) {
            cell.error_at = kCorrecting;
            cell.error = static_cast<std::uint32_t>(error);
        }
        cell.ready = 1;
    }
}

int hold_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.pressure;
    WorkerCell& cell = agent.pressure.block->workers[index];
    const Share share = share_of(agent);
    Rng rng = Rng(agent.plan.seed).split(1000 + index);
    auto refused = [&](Step step) {
        cell.error_at = step;
        cell.error = static_cast<std::uint32_t>(errno);
        cell.ready = 1;
        return 1;
    };
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &asked, nullptr);
    const std::uint64_t room = share.mapped + share.owned / kRoomShare;
    auto* base = static_cast<char*>(::mmap(nullptr, room + 2 * kHuge, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base == MAP_FAILED) return refused(kMapping);
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    Holding holding;
    holding.memory = base + ((address + kHuge - 1) / kHuge * kHuge - address);
    holding.filled = share.mapped;
    holding.room = room;
    const bool folios = load.value(kFolio) > static_cast<std::int64_t>(agent.page_bytes);
    ::madvise(holding.memory, room, folios ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);

    static Filler filler(rng, static_cast<std::uint64_t>(load.value(kCompressible)),
                         agent.page_bytes);
    const std::uint64_t start = now_ns();
    if (const int error = populate_and_fill(holding.memory, share.mapped, filler); error != 0) {
        errno = error;
        return refused(kPopulating);
    }
    punch_holes(agent, holding.memory, share, rng);
    cell.time_ns = now_ns() - start;
    cell.cpu_ns = cpu_ns();
    cell.bytes = share.owned;
    cell.ready = 1;
    hold_on(cell, holding, filler);
}

std::uint64_t number_in(const char* path, std::string_view key, bool& found) {
    static char buffer[8192];
    return number_after(read_small(path, buffer).text, key, found);
}

struct Level {
    std::uint64_t resident = 0;
    std::uint64_t swapped = 0;
    std::uint64_t bytes() const { return resident + swapped; }
};

void add_level(Level& level, pid_t pid) {
    const Path path("/proc/", pid, "/status");
    static char buffer[8192];
    const std::string_view text = read_small(path.c_str(), buffer).text;
    bool found = false;
    level.resident += number_after(text, "RssAnon", found) * 1024;
    level.swapped += number_after(text, "VmSwap", found) * 1024;
}

Level read_level(const Agent& agent) {
    Level level;
    for (unsigned i = 0; i < agent.pressure.size; ++i) {
        if (agent.pressure.pids[i] > 0) add_level(level, agent.pressure.pids[i]);
    }
    return level;
}

// How far the level is off the demand, as a share of it.
double off_by(const Agent& agent, const Level& level) {
    return static_cast<double>(level.bytes()) / static_cast<double>(agent.demand_bytes) - 1.0;
}

double tolerance_of(const Agent& agent) {
    return static_cast<double>(agent.plan.pressure.value(kTolerance)) / static_cast<double>(kPpm);
}

std::uint64_t load_cpu_us(const Agent& agent) {
    bool found = false;
    return number_in(group_file(agent.place.v2, "load", "cpu.stat").c_str(), "usage_usec", found);
}

// Of the workers, so far: what they had lost to swap and needed again.
std::uint64_t load_major_faults(const Agent& agent) {
    bool found = false;
    return number_in(group_file(agent.place.memory, "load", "memory.stat").c_str(), "pgmajfault",
                     found);
}

std::uint64_t load_oom_kills(const Agent& agent) {
    bool found = false;
    return number_in(group_file(agent.place.memory, "load", agent.place.events).c_str(), "oom_kill",
                     found);
}

bool crew_whole(Agent& agent) {
    if (agent.pressure.alive == agent.pressure.size) return true;
    const bool by_oom = load_oom_kills(agent) > 0;
    end_trial(agent, by_oom ? Ending::worker_oom_killed : Ending::pressure_missed,
              Text<128>(by_oom ? "the OOM killer ended a worker that held memory"
                               : "a worker that held memory ended",
                        " (signal ", agent.pressure.kill_signal, ")"));
    return false;
}

bool crew_refused(Agent& agent) {
    for (unsigned i = 0; i < agent.pressure.size; ++i) {
        const WorkerCell& cell = agent.pressure.block->workers[i];
        if (cell.error == 0) continue;
        end_trial(agent, Ending::pressure_missed,
                  Text<128>("a worker was refused ", std::string_view(kSteps[cell.error_at]), ": ",
                            errno_name(static_cast<int>(cell.error)).view()));
        return true;
    }
    return false;
}

// What the workers own can drift: the kernel may take pages of theirs away for good (a page that it
// can't read back, zero-filled pages of a folio that it splits, what a user's own program does to
// them). A drift of more than half the tolerance is corrected, worker by worker, before the
// iteration's first reading. false: an ending has been written.
bool follow_drift(Agent& agent, std::uint32_t iteration) {
    const double bound = tolerance_of(agent) / 2;
    double off = off_by(agent, read_level(agent));
    if (off <= bound && off >= -bound) return true;
    std::int64_t corrected = 0;
    for (unsigned i = 0; i < agent.pressure.size; ++i) {
        WorkerCell& cell = agent.pressure.block->workers[i];
        if (agent.pressure.pids[i] <= 0) continue;
        Level level;
        add_level(level, agent.pressure.pids[i]);
        const auto page = static_cast<std::int64_t>(agent.page_bytes);
        const std::int64_t missing = static_cast<std::int64_t>(share_of(agent).owned) -
                                     static_cast<std::int64_t>(level.bytes());
        cell.adjust = missing / page * page;
        if (cell.adjust == 0) continue;
        corrected += missing > 0 ? missing : -missing;
        cell.ready = 0;
        ::kill(agent.pressure.pids[i], SIGUSR1);
    }
    wait_until(agent, agent.plan.pressure_limit_ns, [](Agent& a) {
        return a.pressure.alive < a.pressure.size || crew_ready(a.pressure);
    });
    agent.log.value("pressure.corrected_bytes", static_cast<double>(corrected), iteration);
    return !crew_refused(agent);
}

bool has_memory_for(Agent& agent, std::uint64_t available) {
    const plan::LoadView& load = agent.plan.pressure;
    bool found = false;
    const std::uint64_t swap = number_in("/proc/meminfo", "SwapFree", found) * 1024;
    const auto demand_ppm = static_cast<std::uint64_t>(load.value(kDemand));
    if (demand_ppm >= 950'000 && swap == 0) {
        end_trial(agent, Ending::precondition_missing,
                  "a demand of 95 % or more needs swap, and this guest has none: set guest.zram");
        return false;
    }
    // What zram takes in it holds in the same memory, compressed: it gains what compresses.
    const auto gain = static_cast<std::uint64_t>(static_cast<double>(swap) * 0.9 *
                                                 static_cast<double>(load.value(kCompressible)) /
                                                 static_cast<double>(kPpm));
    const std::uint64_t need =
        share_of(agent).mapped * static_cast<std::uint64_t>(load.value(kWorkers));
    if (need <= available + gain) return true;
    end_trial(agent, Ending::precondition_missing,
              Text<256>("filling needs ", need >> 20, " MiB, but ", available >> 20,
                        " MiB are available and compressed swap gains about ", gain >> 20,
                        " MiB: lower pressure.demand or pressure.punch, or raise guest.zram or "
                        "pressure.compressible"));
    return false;
}

}  // namespace

bool hold_start(Agent& agent) {
    const plan::LoadView& load = agent.plan.pressure;
    bool found = false;
    std::uint64_t available = number_in("/proc/meminfo", "MemAvailable", found) * 1024;
    // On a live host the memory of which a share is taken is that of our own groups.
    if (agent.place.limit > 0 && agent.place.limit < available) available = agent.place.limit;
    if (!found) {
        end_trial(agent, Ending::precondition_missing, "/proc/meminfo has no MemAvailable");
        return false;
    }
    agent.demand_bytes = static_cast<std::uint64_t>(static_cast<double>(available) *
                                                    static_cast<double>(load.value(kDemand)) /
                                                    static_cast<double>(kPpm));
    if (!has_memory_for(agent, available)) return false;
    const auto workers = static_cast<unsigned>(load.value(kWorkers));
    if (!start_crew(agent, agent.pressure, workers, 1000, hold_work)) return false;
    const bool up = wait_until(agent, agent.plan.pressure_limit_ns, [](Agent& a) {
        return a.pressure.alive < a.pressure.size || crew_ready(a.pressure);
    });
    if (crew_refused(agent)) return false;
    if (!crew_whole(agent)) return false;
    if (!up) {
        end_trial(agent, Ending::pressure_missed,
                  Text<128>("the level wasn't reached within ",
                            agent.plan.pressure_limit_ns / 1'000'000, " ms of guest time"));
        return false;
    }
    wait_until(agent, static_cast<std::uint64_t>(load.value(kSettle)),
               [](Agent& a) { return a.pressure.alive < a.pressure.size; });
    std::uint64_t fill_ns = 0;
    for (unsigned i = 0; i < agent.pressure.size; ++i) {
        const std::uint64_t ns = agent.pressure.block->workers[i].time_ns;
        fill_ns = ns > fill_ns ? ns : fill_ns;
    }
    agent.log.value("pressure.fill_ns", static_cast<double>(fill_ns));
    agent.log.value("pressure.available_bytes", static_cast<double>(available));
    agent.log.value("pressure.demand_bytes", static_cast<double>(agent.demand_bytes));
    agent.load_cpu_us_at_hold = load_cpu_us(agent);
    agent.hold_since_ns = now_ns();
    return true;
}

bool hold_verify(Agent& agent, std::uint32_t iteration, std::uint8_t moment) {
    if (!crew_whole(agent)) return false;
    if (moment == 0 && !follow_drift(agent, iteration)) return false;
    const Level level = read_level(agent);
    const double off = off_by(agent, level);
    agent.log.value("pressure.resident_bytes", static_cast<double>(level.resident), iteration,
                    moment);
    agent.log.value("pressure.swapped_bytes", static_cast<double>(level.swapped), iteration,
                    moment);
    agent.log.value("pressure.level_pct",
                    static_cast<double>(agent.plan.pressure.value(kDemand)) / 1e4 * (1.0 + off),
                    iteration, moment);
    const std::uint64_t faults = load_major_faults(agent);
    if (moment == 1) {
        agent.log.value("pressure.refaults", static_cast<double>(faults - agent.load_faults),
                        iteration);
    }
    agent.load_faults = faults;
    const double tolerance = tolerance_of(agent);
    if (off <= tolerance && off >= -tolerance) return true;
    // A worker that was just killed has lost its memory before it can be reaped.
    wait_until(agent, 500'000'000, [](Agent& a) { return a.pressure.alive < a.pressure.size; });
    if (!crew_whole(agent)) return false;
    end_trial(agent, Ending::pressure_missed,
              Text<192>("resident + swapped is ", level.bytes() >> 20, " MiB, the demand is ",
                        agent.demand_bytes >> 20, " MiB: off by more than the tolerance"));
    return false;
}

void hold_stop(Agent& agent) {
    const std::uint64_t held_us = (now_ns() - agent.hold_since_ns) / 1000;
    const std::uint64_t used_us = load_cpu_us(agent) - agent.load_cpu_us_at_hold;
    if (held_us > 0) {
        agent.log.value("pressure.cpu_pct",
                        100.0 * static_cast<double>(used_us) / static_cast<double>(held_us));
    }
    end_crew(agent, agent.pressure);
}

}  // namespace mano::agent
