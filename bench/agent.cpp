// SPDX-License-Identifier: GPL-2.0-or-later
// What the agent costs: its memory and page faults in a guest, and a whole reading (PSI, vmstat,
// mTHP statistics, buddyinfo, zoneinfo and the rest) there and on this host, beside C's standard
// library and a Python script that read the same. `agent [RUNS [KERNEL]]`.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/process.h"
#include "base/units.h"
#include "rig.h"

namespace mano::bench {
namespace {

struct Cost {
    std::vector<double> ns;
    std::vector<double> least_ns;
    double bytes = 0;
    double faults = 0;
    double whole_cpu_s = 0;  // of the process, its start included
    std::string said;
};

void note(const std::vector<std::string>& program, Cost& cost) {
    const double cpu = children_cpu_s();
    const Output output = need(run_program(program));
    if (!output.exit.ok()) die(program[0] + ": " + output.exit.text() + output.err);
    cost.whole_cpu_s = children_cpu_s() - cpu;
    cost.ns.push_back(printed(output.out, "ns"));
    cost.least_ns.push_back(printed(output.out, "least_ns"));
    cost.bytes = printed(output.out, "bytes");
    cost.faults = printed(output.out, "faults");
    cost.said = output.out;
}

const char* source_name(unsigned source) {
    switch (source) {
        case 1:
            return "vmstat (after stat_refresh)";
        case 2:
            return "meminfo";
        case 3:
            return "buddyinfo";
        case 4:
            return "pagetypeinfo";
        case 5:
            return "zoneinfo";
        case 6:
            return "stat";
        case 10:
            return "pressure/memory";
        case 11:
            return "pressure/io";
        case 12:
            return "pressure/cpu";
        case 40:
            return "mTHP statistics";
        default:
            return "other";
    }
}

void print_sources(const std::string& said) {
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
        unsigned source = 0;
        double ns = 0;
        double least = 0;
        double bytes = 0;
        if (std::sscanf(line.c_str(), "source %u: %lf ns, least %lf ns, %lf bytes", &source, &ns,
                        &least, &bytes) != 4) {
            continue;
        }
        std::printf("    %-28s %9.1f us, least %8.1f us  %6.0f bytes\n", source_name(source),
                    ns / 1e3, least / 1e3, bytes);
    }
}

struct Readers {
    Cost ours, fgets, python;
};

double least_us(const Cost& cost) {
    return *std::min_element(cost.least_ns.begin(), cost.least_ns.end()) / 1e3;
}

void print_readers(const Readers& readers) {
    std::printf("  %-26s %-34s %-10s %s\n", "", "us, median of medians [range]", "least us",
                "page faults");
    auto row = [](const char* what, const Cost& cost) {
        std::printf("  %-26s %-34s %-10.1f %.0f\n", what, spread(cost.ns, 1e3).c_str(),
                    least_us(cost), cost.faults);
    };
    row("the agent's code", readers.ours);
    row("C, fopen and fgets", readers.fgets);
    row("Python, running already", readers.python);
    std::printf("  What the agent's time goes to (last run):\n");
    print_sources(readers.ours.said);
    std::printf("RATIO fgets / agent: %.2f; Python / agent: %.2f\n",
                median(readers.fgets.ns) / median(readers.ours.ns),
                median(readers.python.ns) / median(readers.ours.ns));
}

// As nobody: without pagetypeinfo, which walks free lists under the zone's lock, and stat_refresh,
// which waits for a worker on every CPU: both cost what the host's size and load make them cost.
void host(unsigned runs) {
    Readers user, root;
    for (unsigned i = 0; i < runs; ++i) {
        note({MANO_BENCH_PROGRAMS "/readings", "1000", "user"}, user.ours);
        note({MANO_BENCH_PROGRAMS "/fgets_reader", "1000", "-", "user"}, user.fgets);
        note({"python3", MANO_BENCH_SOURCE "/python_reader.py", "50", "user"}, user.python);
    }
    for (unsigned i = 0; i < 3; ++i) {
        note({MANO_BENCH_PROGRAMS "/readings", "30"}, root.ours);
        note({MANO_BENCH_PROGRAMS "/fgets_reader", "30", "-"}, root.fgets);
        note({"python3", MANO_BENCH_SOURCE "/python_reader.py", "30"}, root.python);
    }
    std::printf(
        "\nPSI, vmstat, mTHP statistics, buddyinfo, zoneinfo, meminfo and stat on this host, "
        "%u runs of 1,000 (Python: 50), interleaved\n",
        runs);
    print_readers(user);
    Cost once;
    note({"python3", MANO_BENCH_SOURCE "/python_reader.py", "1", "user"}, once);
    std::printf("  Python started for two readings: %.1f ms of CPU\n", once.whole_cpu_s * 1e3);
    print_goal("one reading on this host, us, median", median(user.ours.ns) / 1e3, 150);
    print_goal("one reading on this host, us, least", least_us(user.ours), 150);
    print_goal("page faults in 1,000 readings on this host", user.ours.faults, 0);
    std::printf("\nThe same with pagetypeinfo and stat_refresh (as root), 3 runs of 30\n");
    print_readers(root);
}

void guest(const std::string& spec) {
    constexpr std::uint32_t kIterations = 5;
    plan::Plan plan = one_trial(spec, 256 * kMiB, 1);
    plan.exact = true;
    plan.cases[0].trial.iterations = kIterations;
    const kernels::Kernel booted = kernel(spec);
    const auto record = run(plan, booted);
    plan::Plan peer = plan;
    peer.cases[0].trial.iterations = 1;
    add_file(peer, "bin/fgets_reader", MANO_BENCH_PROGRAMS "/fgets_reader");
    set_command(peer, "fgets_reader 5 /dev/console");
    const auto peer_record = run(peer, booted);
    const double faults = value(record, "agent.page_faults").value_or(NAN);
    const double rss = value(record, "agent.rss_bytes").value_or(NAN);
    const double ours = median(values(record, "agent.reading_ns"));
    const double fgets = printed(peer_record.console, "ns");
    std::printf("\nIn a guest, %s, exact mode (a us is 1,000 instructions), %u readings\n",
                booted.provenance.release.c_str(), kIterations);
    std::printf("  agent: %.0f KiB resident, %.0f page faults while it measures\n", rss / 1024,
                faults);
    std::printf("  a whole reading: %.1f us; C, fopen and fgets: %.1f us, %.0f page faults\n",
                ours / 1e3, fgets / 1e3, printed(peer_record.console, "faults"));
    std::printf("RATIO fgets / agent, instructions in the guest: %.2f\n", fgets / ours);
    print_goal("agent resident in the guest, KiB", rss / 1024, 1024);
    print_goal("page faults while measuring in the guest", faults, 0);
}

}  // namespace
}  // namespace mano::bench

int main(int count, char** arguments) {
    using namespace mano::bench;  // NOLINT(google-build-using-namespace)
    const unsigned runs = number(count, arguments, 1, 8);
    print_machine("bench/agent");
    host(runs);
    guest(count > 2 ? arguments[2] : "debian:7.3");
    print_machine("end");
    return 0;
}
