// SPDX-License-Identifier: GPL-2.0-or-later
// How long from power-on until the agent is ready, beside the bare boot of the same kernel with an
// empty init on the same QEMU command line; PVH beside bzImage; and what a trial costs on the host
// beyond the guest's own life. `boot [BOOTS [KERNEL…]]`.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/process.h"
#include "base/units.h"
#include "rig.h"
#include "store/store.h"
#include "substrate/guest/guest.h"
#include "substrate/guest/image.h"

namespace mano::bench {
namespace {

namespace guest = substrate::guest;
constexpr std::uint64_t kLogBytes = std::uint64_t{32} << 20;

struct Times {
    std::vector<double> wall_s;
    std::vector<double> cpu_s;  // QEMU's
};

std::string agent_image(const plan::Plan& plan) {
    std::string bytes = need(plan::encode(plan.cases[0].trial));
    return need(guest::make_image({{"init", std::string(guest::agent_binary()), 0755, {}},
                                   {"plan", std::move(bytes), 0644, {}}}));
}

void boot_agent(const guest::Qemu& qemu, const plan::Plan& plan, const kernels::Kernel& kernel,
                Times& times) {
    const double cpu = children_cpu_s();
    guest::Guest boot{.qemu = qemu,
                      .plan = plan,
                      .arm = plan.arms[0],
                      .kernel = kernel,
                      .image = agent_image(plan),
                      .log_bytes = kLogBytes,
                      .limits = {},
                      .only_hello = true};
    const guest::Life life = need(guest::live(boot, {}, {}));
    if (life.boot_ns == 0) die("no hello: " + life.evidence);
    times.wall_s.push_back(static_cast<double>(life.boot_ns) / 1e9);
    times.cpu_s.push_back(children_cpu_s() - cpu);
}

std::array<Fd, 2> socket_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) die("socketpair");
    return {Fd(ends[0]), Fd(ends[1])};
}

// Until the byte comes: a wait of its own, without the agent's log. Faster to notice than ours.
void wait_for_mark(int console) {
    std::string said;
    while (true) {
        pollfd polled = {console, POLLIN, 0};
        constexpr int kLimitMs = 300'000;
        if (::poll(&polled, 1, kLimitMs) <= 0) die("the bare guest doesn't boot: " + said);
        char buffer[4096];
        const ssize_t got = ::read(console, buffer, sizeof buffer);
        if (got <= 0) die("the bare guest ended: " + said);
        said.append(buffer, static_cast<std::size_t>(got));
        if (said.find('\xfe') != std::string::npos) return;
    }
}

void boot_bare(const guest::Qemu& qemu, const plan::Plan& plan, const kernels::Kernel& kernel,
               Times& times) {
    const double cpu = children_cpu_s();
    const TempFolder folder = need(TempFolder::make("/dev/shm", "manometer-bench-"));
    const std::string init = need(read_file(MANO_BENCH_PROGRAMS "/empty_init"));
    const std::string image = need(guest::make_image({{"init", init, 0755, {}}}));
    if (!write_file_atomic(folder.path() / "image", image)) die("no room in /dev/shm");
    auto console = socket_pair();
    auto qmp = socket_pair();
    const guest::Launch launch{.qemu = qemu,
                               .plan = plan,
                               .arm = plan.arms[0],
                               .kernel = kernel,
                               .image = folder.path() / "image",
                               .log = folder.path() / "log",
                               .log_bytes = kLogBytes,
                               .qmp_fd = qmp[1].get(),
                               .console_fd = console[1].get()};
    SpawnOptions options;
    options.stderr_fd = 2;
    options.inherit = {qmp[1].get(), console[1].get()};
    Child child = need(Child::spawn(guest::command_line(launch), options));
    const double start = now_s();  // as live() does
    console[1].close();
    qmp[1].close();
    wait_for_mark(console[0].get());
    times.wall_s.push_back(now_s() - start);
    child.kill_and_reap();
    times.cpu_s.push_back(children_cpu_s() - cpu);
}

void print_row(const char* what, const Times& times) {
    std::printf("  %-22s %-24s %s\n", what, spread(times.wall_s, 1).c_str(),
                spread(times.cpu_s, 1).c_str());
}

double ratio(const std::vector<double>& a, const std::vector<double>& b) {
    return median(a) / median(b);
}

// What a busy host can't disturb: in exact mode, the instructions of the kernel until it starts
// /init, and the agent's until its hello. The console's time of the former is in whole
// microseconds.
void instructions(const guest::Qemu& qemu, const std::string& spec) {
    plan::Plan plan = one_trial(spec, 256 * kMiB, 1);
    plan.exact = true;
    plan.shape.extra_cmdline = {"loglevel=7"};
    const kernels::Kernel booted = kernel(spec);
    guest::Guest boot{.qemu = qemu,
                      .plan = plan,
                      .arm = plan.arms[0],
                      .kernel = booted,
                      .image = agent_image(plan),
                      .log_bytes = kLogBytes,
                      .limits = {}};
    const guest::Life life = need(guest::live(boot, {}, {}));
    const std::size_t line = life.console.find("] Run /init as init process");
    const std::size_t start = line == std::string::npos ? line : life.console.rfind('[', line);
    if (life.frames.empty() || start == std::string::npos) die("no boot: " + life.evidence);
    const double kernel_s = std::strtod(life.console.c_str() + start + 1, nullptr);
    const double hello_s = static_cast<double>(life.frames.front().guest_ns) / 1e9;
    std::printf(
        "In exact mode: the kernel starts /init after %.1f million instructions, the agent "
        "says hello %.1f million later\n",
        kernel_s * 1e3, (hello_s - kernel_s) * 1e3);
    std::printf("RATIO agent ready / start of /init, instructions: %.3f\n", hello_s / kernel_s);
    print_goal(spec + ", agent ready / start of /init, instructions", hello_s / kernel_s, 1.1);
}

void boots(const guest::Qemu& qemu, const std::string& spec, unsigned count) {
    const plan::Plan plan = one_trial(spec, 256 * kMiB, 1);
    const kernels::Kernel pvh = kernel(spec);
    kernels::Kernel packed = pvh;
    packed.pvh = false;
    const bool both = pvh.elf && pvh.pvh;
    Times agent, bare, agent_packed, bare_packed;
    for (unsigned i = 0; i < count; ++i) {
        boot_agent(qemu, plan, pvh, agent);
        boot_bare(qemu, plan, pvh, bare);
        if (!both || i % 4 != 0) continue;  // fewer: bzImages boot slowly
        boot_agent(qemu, plan, packed, agent_packed);
        boot_bare(qemu, plan, packed, bare_packed);
    }
    std::printf("\n%s (%s), %u boots each, interleaved, 1 CPU, 256 MiB\n", spec.c_str(),
                pvh.provenance.release.c_str(), count);
    std::printf("  %-22s %-24s %s\n", "power-on to", "wall s, median [range]", "QEMU's CPU s");
    print_row(both ? "agent ready, PVH" : "agent ready", agent);
    print_row(both ? "empty init, PVH" : "empty init", bare);
    if (both) {
        print_row("agent ready, bzImage", agent_packed);
        print_row("empty init, bzImage", bare_packed);
        std::printf("RATIO PVH / bzImage, agent ready: %.3f wall, %.3f CPU\n",
                    ratio(agent.wall_s, agent_packed.wall_s),
                    ratio(agent.cpu_s, agent_packed.cpu_s));
    }
    const double wall = ratio(agent.wall_s, bare.wall_s);
    const double cpu = ratio(agent.cpu_s, bare.cpu_s);
    std::printf("RATIO agent ready / empty init: %.3f wall, %.3f CPU\n", wall, cpu);
    print_goal(spec + ", agent ready / empty init, wall", wall, 1.1);
    print_goal(spec + ", agent ready / empty init, CPU", cpu, 1.1);
    instructions(qemu, spec);
}

// Whole trials of nothing. Ours outside the guest's life: image, log, decoding, storing. Ours
// altogether, the following of the guest included, is the CPU time of this process.
void overhead(const std::string& spec, unsigned count) {
    plan::Plan plan = one_trial(spec, 256 * kMiB, 1);
    plan.trials_per_cell = count;
    plan.trials.clear();
    for (unsigned i = 0; i < count; ++i)
        plan.trials.push_back({i, 0, 0, i, i + 1});
    const kernels::Kernel booted = kernel(spec);
    const TempFolder folder =
        need(TempFolder::make(std::filesystem::temp_directory_path(), "manometer-bench-"));
    store::Store store = need(store::Store::open(folder.path() / "store.db"));
    store::NewRunSet runset;
    runset.plan = plan;
    runset.arms.push_back({"a", "{}"});
    const std::string id = need(store.create(runset));
    guest::Options options;
    options.cache = cache_folder();
    guest::GuestSubstrate substrate(options);
    if (const Status ready = substrate.prepare(plan, {booted}); !ready) die(ready.error().text());
    std::vector<double> outside, storing, cpu, whole;
    for (const plan::PlannedTrial& trial : plan.trials) {
        const double start = now_s();
        const double own = own_cpu_s();
        const auto record = need(substrate.run({plan, trial, booted}, {}, {}));
        const double ran = now_s();
        if (record.ending != measure::Ending::goodbye) die(record.evidence);
        if (const Status kept = store.finish_trial(id, trial.position, record); !kept) {
            die(kept.error().text());
        }
        const double end = now_s();
        outside.push_back(end - start - static_cast<double>(record.host_ns) / 1e9);
        storing.push_back(end - ran);
        cpu.push_back(own_cpu_s() - own);
        whole.push_back(end - start);
    }
    std::printf("\nOne trial of nothing, %s, %u times\n", spec.c_str(), count);
    std::printf("  whole trial, s                        %s\n", spread(whole, 1).c_str());
    std::printf("  outside the guest's life, ms          %s\n", spread(outside, 1e-3).c_str());
    std::printf("    of it storing, ms                   %s\n", spread(storing, 1e-3).c_str());
    std::printf("  our CPU time, following included, ms  %s\n", spread(cpu, 1e-3).c_str());
    print_goal("overhead a trial outside the guest's life, wall ms", median(outside) * 1e3, 50);
    print_goal("overhead a trial, all of our CPU time, ms", median(cpu) * 1e3, 50);
}

}  // namespace
}  // namespace mano::bench

int main(int count, char** arguments) {
    using namespace mano::bench;  // NOLINT(google-build-using-namespace)
    const unsigned boots_each = number(count, arguments, 1, 8);
    std::vector<std::string> specs(arguments + std::min(count, 2), arguments + count);
    if (specs.empty()) specs = {"debian:7.3", "debian:6.1"};
    print_machine("bench/boot");
    const auto qemu = need(mano::substrate::guest::find_qemu());
    for (const std::string& spec : specs)
        boots(qemu, spec, boots_each);
    overhead(specs.front(), boots_each);
    print_machine("end");
    return 0;
}
