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
            return "stat_refresh, vmstat";
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
        double bytes = 0;
        if (std::sscanf(line.c_str(), "source %u: %lf ns, %lf bytes", &source, &ns, &bytes) != 3) {
            continue;
        }
        std::printf("    %-22s %8.1f us  %7.0f bytes\n", source_name(source), ns / 1e3, bytes);
    }
}

void host(unsigned runs) {
    constexpr const char* kRounds = "1000";
    constexpr const char* kPythonRounds = "50";
    Cost ours, fgets, python, python_once;
    for (unsigned i = 0; i < runs; ++i) {
        note({MANO_BENCH_PROGRAMS "/readings", kRounds}, ours);
        note({MANO_BENCH_PROGRAMS "/fgets_reader", kRounds, "-"}, fgets);
        note({"python3", MANO_BENCH_SOURCE "/python_reader.py", kPythonRounds}, python);
    }
    note({"python3", MANO_BENCH_SOURCE "/python_reader.py", "1"}, python_once);
    std::printf("\nA whole reading on this host, %u runs of 1,000 (Python: 50), interleaved\n",
                runs);
    std::printf("  %-26s %-28s %-10s %s\n", "", "us, median of medians [range]", "least us",
                "page faults");
    auto row = [](const char* what, const Cost& cost) {
        std::printf("  %-26s %-28s %-10.1f %.0f\n", what, spread(cost.ns, 1e3).c_str(),
                    *std::min_element(cost.least_ns.begin(), cost.least_ns.end()) / 1e3,
                    cost.faults);
    };
    row("the agent's code", ours);
    row("C, fopen and fgets", fgets);
    row("Python, running already", python);
    std::printf("  bytes read: %.0f (agent, with labels), %.0f (fgets)\n", ours.bytes, fgets.bytes);
    std::printf("  Python started for two readings: %.1f ms of CPU\n",
                python_once.whole_cpu_s * 1e3);
    std::printf("  What the agent's time goes to (last run):\n");
    print_sources(ours.said);
    std::printf("RATIO fgets / agent: %.2f; Python / agent: %.2f\n",
                median(fgets.ns) / median(ours.ns), median(python.ns) / median(ours.ns));
    print_goal("one reading on this host, us", median(ours.ns) / 1e3, 150);
    print_goal("page faults in 1,000 readings on this host", ours.faults, 0);
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
