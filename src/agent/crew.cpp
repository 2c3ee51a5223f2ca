// SPDX-License-Identifier: GPL-2.0-or-later
// The worker processes of pressures and probes: start, go, wait, end. (Interface: agent.h.)
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "agent/agent.h"

namespace mano::agent {
namespace {

constexpr std::uint64_t kBeatNs = 50'000'000;
constexpr std::uint64_t kDrainNs = 5'000'000;  // of an attribution trial's rings
constexpr int kLiveOomScore = 500;             // at least, of any worker on a live host

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
    return ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

void note(Crew& crew, pid_t pid, int status) {
    for (unsigned i = 0; i < crew.size; ++i) {
        if (crew.pids[i] != pid) continue;
        crew.pids[i] = 0;
        --crew.alive;
        if (WIFSIGNALED(status) && crew.kill_signal == 0) crew.kill_signal = WTERMSIG(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && crew.exit_status == 0) {
            crew.exit_status = WEXITSTATUS(status);
        }
    }
}

// In a new worker.
void become_worker(const Agent& agent, const Crew& crew, int oom_score_adj) {
    ::setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int fd : crew.cgroup_fds) {
        if (fd >= 0) [[maybe_unused]]
            const ssize_t joined = ::write(fd, "0", 1);
    }
    // The host's own processes are the last that the OOM killer takes.
    if (agent.place.live && oom_score_adj < kLiveOomScore) oom_score_adj = kLiveOomScore;
    write_small("/proc/self/oom_score_adj", Text<16>(oom_score_adj));
}

}  // namespace

void reap(Agent& agent) {
    int status = 0;
    while (true) {
        const pid_t pid = ::waitpid(-1, &status, WNOHANG);
        if (pid <= 0) return;
        note(agent.pressure, pid, status);
        note(agent.probe, pid, status);
    }
}

bool wait_until(Agent& agent, std::uint64_t limit_ns, bool (*done)(Agent&)) {
    const std::uint64_t end = now_ns() + limit_ns;
    sigset_t child_ends;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    while (true) {
        reap(agent);
        agent.log.beat();
        agent.tracer.drain(agent.log);
        agent.triggers.look();
        if (done(agent)) return true;
        const std::uint64_t now = now_ns();
        if (now >= end) return false;
        const std::uint64_t most = agent.tracer.is_open() ? kDrainNs : kBeatNs;
        const std::uint64_t wait = end - now < most ? end - now : most;
        const timespec limit = {0, static_cast<long>(wait)};
        ::sigtimedwait(&child_ends, nullptr, &limit);
    }
}

bool start_crew(Agent& agent, Crew& crew, unsigned size, int oom_score_adj, Work work) {
    crew.size = 0;
    crew.alive = 0;
    crew.kill_signal = 0;
    crew.exit_status = 0;
    crew.block->go = 0;
    crew.block->stop = 0;
    crew.block->figures = {};
    for (unsigned i = 0; i < size && i < kMaxWorkers; ++i) {
        WorkerCell& cell = crew.block->workers[i];
        cell.ready = 0;
        cell.error = 0;
        cell.error_at = 0;
        cell.ops = 0;
        cell.time_ns = 0;
        cell.cpu_ns = 0;
        cell.count = 0;
        cell.sum_ns = 0;
        cell.max_ns = 0;
        cell.bytes = 0;
        cell.adjust = 0;
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid == 0) {
            die_with(parent);
            become_worker(agent, crew, oom_score_adj);
            ::_exit(work(agent, i));
        }
        if (pid < 0) {
            end_trial(agent, measure::Ending::probe_refused,
                      Text<64>("fork of a worker: ", errno_name(errno).view()));
            return false;
        }
        crew.pids[i] = pid;
        crew.size = i + 1;
        ++crew.alive;
    }
    return true;
}

bool crew_ready(const Crew& crew) {
    for (unsigned i = 0; i < crew.size; ++i) {
        if (crew.block->workers[i].ready == 0 && crew.pids[i] != 0) return false;
    }
    return true;
}

void wait_for_go(LoadBlock& block) {
    while (block.go.load(std::memory_order_acquire) == 0)
        futex(block.go, FUTEX_WAIT, 0);
}

void give_go(LoadBlock& block) {
    block.go.store(1, std::memory_order_release);
    futex(block.go, FUTEX_WAKE, INT_MAX);
}

void end_crew(Agent& agent, Crew& crew) {
    crew.block->stop = 1;
    give_go(*crew.block);
    for (unsigned i = 0; i < crew.size; ++i) {
        // The group: a worker's own children end with it.
        if (crew.pids[i] > 0) ::kill(-crew.pids[i], SIGKILL);
    }
    wait_until(agent, 10'000'000'000, [](Agent& a) {
        const bool pressure_over = a.pressure.block->stop == 0 || a.pressure.alive == 0;
        const bool probe_over = a.probe.block->stop == 0 || a.probe.alive == 0;
        return pressure_over && probe_over;
    });
}

void end_trial(Agent& agent, measure::Ending ending, std::string_view evidence) {
    agent.log.ending(static_cast<std::uint16_t>(ending), evidence);
}

}  // namespace mano::agent
