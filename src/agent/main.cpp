// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's life: set up, pressure, iterations of the probe with readings around each, goodbye.
// docs/agent.md tells it in words.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "agent/agent.h"
#include "agent/guard.h"
#include "agent/machine.h"
#include "agent/pressure/pressure.h"
#include "agent/probe/probe.h"
#include "base/rng.h"

// Nothing here throws. The library's own handler would bring a reader of C++ names into the agent:
// a tenth of its size, and that is memory of the machine that it measures.
namespace __gnu_cxx {                // NOLINT(bugprone-reserved-identifier)
void __verbose_terminate_handler();  // NOLINT(bugprone-reserved-identifier)
void __verbose_terminate_handler() {
    ::abort();
}
}  // namespace __gnu_cxx

namespace mano::agent {
namespace {

using measure::Ending;

// One for the process; too large for the first stack. Not built at the start, which would touch all
// of it: that is memory of the machine that it measures.
constinit Agent agent;

std::string_view read_plan(int fd) {
    static char bytes[plan::kMaxPlanBytes];
    std::size_t size = 0;
    while (fd >= 0 && size < sizeof bytes) {
        const ssize_t got = ::read(fd, bytes + size, sizeof bytes - size);
        if (got <= 0) break;
        size += static_cast<std::size_t>(got);
    }
    if (fd >= 0) ::close(fd);
    return {bytes, size};
}

bool set_up_guest() {
    // Modules first: a knob or a swap device may be theirs.
    return start_cpus(agent) && load_modules(agent) && apply_settings(agent) && start_swap(agent) &&
           make_cgroups(agent);
}

// The groups are there, and what the settings were is recorded.
bool set_up_host() {
    watch_health(agent);
    open_cgroups(agent);
    return apply_settings(agent);
}

bool set_up() {
    agent.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const rlimit files = {16384, 16384};
    ::setrlimit(RLIMIT_NOFILE, &files);
    agent.pressure.block = static_cast<LoadBlock*>(shared_memory(sizeof(LoadBlock)));
    agent.probe.block = static_cast<LoadBlock*>(shared_memory(sizeof(LoadBlock)));
    if (agent.pressure.block == nullptr || agent.probe.block == nullptr) {
        end_trial(agent, Ending::precondition_missing, "not enough memory for the agent itself");
        return false;
    }
    sigset_t child_ends;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child_ends, nullptr);
    if (agent.place.live ? !set_up_host() : !set_up_guest()) return false;
    agent.readings.open(agent.place, agent.log);
    agent.counters.open(agent.plan, agent.log);
    agent.triggers.open(agent.plan, group_file(agent.place.v2, "probe", "memory.pressure"),
                        agent.log);
    if (agent.plan.traced) agent.tracer.open(agent.log);
    state_machine(agent);
    // What is touched from here on stays; what never is (the workers' tables) costs nothing. Where
    // a user may lock but little, what is to come must not be refused for that.
    ::mlockall(MCL_CURRENT | MCL_ONFAULT | (agent.place.live ? 0 : MCL_FUTURE));
    return true;
}

Path probe_memory_events() {
    return group_file(agent.place.memory, "probe", agent.place.events);
}

bool probe_ended_badly() {
    bool refused = false;
    for (unsigned i = 0; i < agent.probe.size; ++i) {
        refused = refused || agent.probe.block->workers[i].error != 0;
    }
    return refused || agent.probe.kill_signal != 0 || agent.probe.exit_status != 0;
}

// Each worker writes its time last.
bool probe_has_told() {
    bool told = agent.probe.kill_signal == 0;
    for (unsigned i = 0; i < agent.probe.size; ++i)
        told = told && agent.probe.block->workers[i].time_ns != 0;
    return told;
}

// Workers of the pressure that are gone went before the probe did (the OOM killer prefers them), so
// that is how the trial ended, whatever became of the probe. A killed process with much memory
// takes a moment to be gone.
bool pressure_died() {
    auto is_smaller = [](Agent& a) { return a.pressure.alive < a.pressure.size; };
    constexpr std::uint64_t kDyingNs = 200'000'000;
    if (agent.pressure.size > 0 && probe_ended_badly()) wait_until(agent, kDyingNs, is_smaller);
    return is_smaller(agent);
}

// Why the probe's crew ended badly; true: it didn't.
bool probe_went_well(const Probe& probe) {
    for (unsigned i = 0; i < agent.probe.size; ++i) {
        const WorkerCell& cell = agent.probe.block->workers[i];
        const std::uint32_t error = cell.error;
        if (error == 0) continue;
        Text<192> text("the kernel refused the probe");
        if (probe.step != nullptr) text.add(" ").add(probe.step(cell.error_at));
        text.add(": ").add(errno_name(static_cast<int>(error)).view());
        end_trial(agent, Ending::probe_refused, text);
        return false;
    }
    if (agent.probe.kill_signal != 0) {
        static char buffer[1024];
        bool found = false;
        const std::uint64_t kills =
            number_after(read_small(probe_memory_events().c_str(), buffer).text, "oom_kill", found);
        const bool by_oom = agent.probe.kill_signal == SIGKILL && kills > 0;
        end_trial(agent, by_oom ? Ending::probe_oom_killed : Ending::probe_failed,
                  Text<96>(by_oom ? "the OOM killer ended the probe" : "the probe ended",
                           " by signal ", agent.probe.kill_signal));
        return false;
    }
    if (agent.probe.exit_status != 0) {
        end_trial(agent, Ending::probe_failed,
                  Text<1200>("the probe ended with exit status ", agent.probe.exit_status, ". ",
                             command_errors()));
        return false;
    }
    return true;
}

std::uint64_t own_faults() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

// The first and the last byte of the process's own data, from the linker; the stack's, from libc.
extern "C" char __data_start[];     // NOLINT(bugprone-reserved-identifier)
extern "C" char _end[];             // NOLINT(bugprone-reserved-identifier)
extern "C" void* __libc_stack_end;  // NOLINT(bugprone-reserved-identifier)

// Writes what stands there already to each page of [begin, end) that is resident. `end - begin` is
// at most 4096 pages.
void own_range(std::uintptr_t begin, std::uintptr_t end) {
    static unsigned char resident[4096];
    const std::uintptr_t step = agent.page_bytes;
    begin &= ~(step - 1);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (::mincore(reinterpret_cast<void*>(begin), end - begin, resident) != 0) return;
    for (std::size_t i = 0; begin + i * step < end && i < sizeof resident; ++i) {
        if ((resident[i] & 1) == 0) continue;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        auto* byte = reinterpret_cast<volatile char*>(begin + i * step);
        *byte = *byte;
    }
}

// A fork leaves PID 1's own pages to be copied at their next write. That is done here, so that it
// doesn't happen between the readings: data, what libc keeps for the thread (errno), and the stack
// with as much below as a reading may use. (A stack reaches 128 KiB down from the first: the
// kernel's setup_arg_pages().)
void own_pages_again() {
    constexpr std::uintptr_t kBelow = 64 * 1024;
    own_range(reinterpret_cast<std::uintptr_t>(__data_start),
              reinterpret_cast<std::uintptr_t>(_end));
    const auto thread = reinterpret_cast<std::uintptr_t>(&errno);
    own_range(thread, thread + 1);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    own_range(here - kBelow, reinterpret_cast<std::uintptr_t>(__libc_stack_end));
}

bool run_iteration(const Pressure& pressure, const Probe& probe, std::uint32_t iteration) {
    agent.iteration = iteration;
    agent.log.phase(wire::Phase::probe, iteration);
    if (!start_crew(agent, agent.probe, probe.workers(agent.plan.probe), 0, probe.work))
        return false;
    wait_until(agent, agent.plan.probe_limit_ns, [](Agent& a) { return crew_ready(a.probe); });
    if (!pressure.verify(agent, iteration, 0)) return false;
    own_pages_again();
    agent.tracer.start(agent.log, agent.pressure, agent.probe, iteration);
    agent.triggers.start();
    const std::uint64_t faults = own_faults();
    const std::uint64_t reading = now_ns();
    agent.counters.take(agent.log, iteration, 0);
    agent.readings.take(agent.log, iteration, 0);
    agent.log.value("agent.reading_ns", static_cast<double>(now_ns() - reading), iteration);
    give_go(*agent.probe.block);
    const bool ended =
        wait_until(agent, agent.plan.probe_limit_ns, [](Agent& a) { return a.probe.alive == 0; });
    agent.readings.take(agent.log, iteration, 1);
    agent.counters.take(agent.log, iteration, 1);
    agent.tracer.stop(agent.log);
    agent.faults += own_faults() - faults;
    wait_until(agent, agent.triggers.settle_ns(), [](Agent&) { return false; });
    agent.triggers.take(agent.log, iteration);
    if (!ended) {
        end_crew(agent, agent.probe);
        end_trial(agent, Ending::probe_failed,
                  Text<128>("the probe didn't end within ", agent.plan.probe_limit_ns / 1'000'000,
                            " ms of its time (run.probe_limit)"));
        return false;
    }
    // A worker that was killed has told nothing of itself, or only of its beginning. One that was
    // refused something has told what.
    if (!probe_has_told()) {
        agent.log.loss("probe", 1,
                       "a process of the probe ended badly: its times and counts aren't known");
    } else {
        probe.report(agent, iteration);
    }
    if (pressure_died()) return pressure.verify(agent, iteration, 1);
    if (!probe_went_well(probe)) return false;
    agent.log.value("probe.success", 1, iteration);
    return pressure.verify(agent, iteration, 1);
}

void own_cost() {
    agent.log.value("agent.page_faults", static_cast<double>(agent.faults));
    agent.log.value("agent.late_ns_max", static_cast<double>(agent.late_ns));
    char buffer[128];
    bool found = false;
    // /proc/self/statm: size, resident … in pages.
    const std::string_view text = read_small("/proc/self/statm", buffer).text;
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return;
    const std::uint64_t pages =
        number_after(Text<48>("r ", text.substr(blank + 1)).view(), "r", found);
    if (found) agent.log.value("agent.rss_bytes", static_cast<double>(pages * agent.page_bytes));
}

void run_trial(const Pressure& pressure, const Probe& probe) {
    agent.log.phase(wire::Phase::pressure);
    if (!pressure.start(agent)) return;
    Rng rng = Rng(agent.plan.seed).split(7000);
    bool going = true;
    for (std::uint32_t i = 0; going && i < agent.plan.iterations; ++i) {
        const std::uint64_t gap = agent.plan.iteration_gap_ns;
        if (gap > 0) {
            const std::uint64_t wait = gap / 2 + rng.below(gap);
            const std::uint64_t due = now_ns() + wait;
            wait_until(agent, wait, [](Agent&) { return false; });
            const std::uint64_t late = now_ns() - due;
            if (late > agent.late_ns) agent.late_ns = late;
        }
        going = run_iteration(pressure, probe, i);
    }
    own_cost();
    pressure.stop(agent);
}

void live(int plan_fd) {
    const std::string_view bytes = read_plan(plan_fd);
    if (!plan::decode(bytes, agent.plan)) {
        end_trial(agent, Ending::harness_fault, "the plan in the image is damaged");
        return;
    }
    agent.log.phase(wire::Phase::setup);
    agent.log.value("trial.boot_ns", static_cast<double>(now_ns()));
    if (!set_up()) return;
    const Pressure* pressure = find_pressure(agent.plan.pressure.id);
    const Probe* probe = find_probe(agent.plan.probe.id);
    if (pressure == nullptr || probe == nullptr) {
        end_trial(agent, Ending::harness_fault, "the plan names a pressure or probe unknown here");
        return;
    }
    if (!probe->check(agent)) return;
    // The state before any pressure; also a rehearsal, so that no reading that counts is the first.
    agent.readings.take(agent.log, wire::kNoIteration, 0);
    run_trial(*pressure, *probe);
    agent.tracer.send_symbols(agent.log);
    state_health(agent);
}

// The whole record, from hello to goodbye.
void tell(int plan_fd) {
    agent.log.hello("manometer-agent " MANO_VERSION);
    live(plan_fd);
    agent.log.phase(wire::Phase::done);
    agent.log.goodbye();
}

}  // namespace

bool run_on_host(const Place& place, std::span<std::byte> memory, int plan_fd) {
    agent.place = place;
    if (!agent.log.start(memory)) return false;
    tell(plan_fd);
    return true;
}

}  // namespace mano::agent

int main(int argc, char** argv) {
    using namespace mano::agent;  // NOLINT(google-build-using-namespace)
    if (::getpid() != 1) return guard_main(argc, argv);
    mount_filesystems();
    listen_to_console();
    const std::span<std::byte> memory = map_log();
    if (!agent.log.start(memory)) power_off();  // the host sees a guest that never said hello
    tell(::open("/plan", O_RDONLY | O_CLOEXEC));
    // The host has all and ends the guest. A power-off would print on the console, and how much of
    // it the host still sees is chance.
    while (true)
        ::pause();
}
