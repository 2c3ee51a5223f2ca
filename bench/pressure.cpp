// SPDX-License-Identifier: GPL-2.0-or-later
// `hold` beside stress-ng's --vm modes in the same guest: how well each keeps the level it was
// asked for, what CPU it takes to do so, and how fast it fills; and hold's filling beside a plain
// MADV_POPULATE_WRITE followed by the same filling. `pressure [RUNS [KERNEL [fill]]]`; with `fill`
// only the latter.
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/process.h"
#include "base/units.h"
#include "rig.h"

namespace mano::bench {
namespace {

constexpr unsigned kPercent = 90;
constexpr unsigned kWorkers = 4;
constexpr unsigned kHoldSeconds = 10;
constexpr std::uint64_t kMemory = kGiB;
constexpr std::uint64_t kZram = 512 * kMiB;

// A dynamically linked program with its loader and libraries, where the loader looks for them.
void add_with_libraries(plan::Plan& plan, const std::string& program) {
    add_file(plan, "bin/" + std::filesystem::path(program).filename().string(), program);
    const Output output = need(run_program({"ldd", program}));
    std::istringstream lines(output.out);
    std::set<std::string> added;
    for (std::string line; std::getline(lines, line);) {
        // "libm.so.6 => /lib/…/libm.so.6 (0x…)", or the loader's path alone.
        const std::size_t start = line.find('/');
        if (start == std::string::npos) continue;
        const std::string path = line.substr(start, line.find(' ', start) - start);
        if (added.insert(path).second) add_file(plan, path.substr(1), path);
    }
}

plan::Plan same_guest(const std::string& spec, const std::string& stress_ng) {
    plan::Plan plan = one_trial(spec, kMemory, 2);
    plan.shape.zram_bytes = kZram;
    plan.cases[0].trial.swap = {kZram, "lz4"};
    add_file(plan, "bin/in_guest", MANO_BENCH_PROGRAMS "/in_guest");
    if (!stress_ng.empty()) add_with_libraries(plan, stress_ng);
    return plan;
}

void set_hold(plan::Plan& plan) {
    constexpr std::int64_t kSettleNs = 200'000'000;
    plan.cases[0].trial.pressure = {
        plan::LoadId::hold,
        {kPercent * 10'000, kWorkers, 0, 0, 16384, 500'000, kSettleNs, 10'000},
        ""};
}

struct Held {
    std::vector<double> least, most, inside, cpu_pct, mib_per_s;
};

// In shares of the demand; NaN (a level that was never there) stays NaN.
void note(const std::string& console, double demand, double fill_ns, Held& held) {
    held.least.push_back(printed(console, "least") / demand);
    held.most.push_back(printed(console, "most") / demand);
    held.cpu_pct.push_back(printed(console, "cpu_pct"));
    if (fill_ns > 0) held.mib_per_s.push_back(demand / kMiB / (fill_ns / 1e9));
}

void hold_once(const std::string& spec, const std::string& stress_ng, Held& held) {
    plan::Plan plan = same_guest(spec, stress_ng);
    set_hold(plan);
    set_command(plan, fmt::format("in_guest watch {}", kHoldSeconds));
    const auto record = run(plan, kernel(spec));
    note(record.console, value(record, "pressure.demand_bytes").value_or(NAN),
         value(record, "pressure.fill_ns").value_or(NAN), held);
}

void stress_once(const std::string& spec, const std::string& stress_ng, const std::string& mode,
                 Held& held) {
    plan::Plan plan = same_guest(spec, stress_ng);
    const std::string words = fmt::format(
        "in_guest watch {} {} /bin/stress-ng --vm {} --vm-bytes {{}} --temp-path /tmp -q{}",
        kHoldSeconds, kPercent, kWorkers, mode.empty() ? "" : " " + mode);
    set_command(plan, words);
    const auto record = run(plan, kernel(spec));
    note(record.console, printed(record.console, "demand"), printed(record.console, "fill_ns"),
         held);
}

std::string percent(const std::vector<double>& values, double unit) {
    return fmt::format("{:.1f}", median(values) / unit);
}

void levels(const std::string& spec, unsigned runs) {
    const auto found = find_program("stress-ng");
    if (!found) std::printf("stress-ng isn't on PATH: hold alone\n");
    const std::string stress_ng = found ? found->string() : "";
    const std::vector<std::string> modes = {"", "--vm-keep", "--vm-hang 0"};
    Held hold;
    std::vector<Held> stress(modes.size());
    for (unsigned i = 0; i < runs; ++i) {
        hold_once(spec, stress_ng, hold);
        for (std::size_t m = 0; found && m < modes.size(); ++m) {
            stress_once(spec, stress_ng, modes[m], stress[m]);
        }
    }
    std::printf(
        "\n%u %% of MemAvailable, %u workers, watched for %u s once it was there; "
        "1 GiB, 2 CPUs, zram 512 MiB lz4; medians of %u runs\n",
        kPercent, kWorkers, kHoldSeconds, runs);
    std::printf("  %-28s %-21s %-10s %s\n", "", "level/demand, least most", "CPU %", "fill, MiB/s");
    auto row = [](const std::string& what, const Held& held) {
        std::printf("  %-28s %7s %% %7s %%     %-10.3f %.0f\n", what.c_str(),
                    percent(held.least, 0.01).c_str(), percent(held.most, 0.01).c_str(),
                    median(held.cpu_pct), median(held.mib_per_s));
    };
    row("hold", hold);
    for (std::size_t m = 0; found && m < modes.size(); ++m) {
        row("stress-ng --vm " + modes[m], stress[m]);
        if (median(hold.cpu_pct) > 0) {  // else there is no ratio
            std::printf("RATIO CPU while holding, stress-ng %s / hold: %.0f\n",
                        modes[m].empty() ? "(default)" : modes[m].c_str(),
                        median(stress[m].cpu_pct) / median(hold.cpu_pct));
        }
    }
    print_goal("hold: CPU while it holds, % of one", median(hold.cpu_pct), 1);
    print_goal("hold: lowest level / demand", median(hold.least), 0.99, true);
    print_goal("hold: highest level / demand", median(hold.most), 1.01);
}

double speed(double bytes, double ns) {
    return bytes / kMiB / (ns / 1e9);
}

// The same by instructions: no noise of a busy host, but no caches either.
void exact_fill(const std::string& spec) {
    plan::Plan plan = same_guest(spec, "");
    plan.exact = true;
    plan::Plan peer = plan;
    set_hold(plan);
    set_command(peer, fmt::format("in_guest fill whole {} {}", kWorkers, kPercent));
    const auto record = run(plan, kernel(spec));
    const std::string console = run(peer, kernel(spec)).console;
    const double hold = value(record, "pressure.demand_bytes").value_or(NAN) /
                        value(record, "pressure.fill_ns").value_or(NAN);
    const double ratio = hold / (printed(console, "bytes") / printed(console, "ns"));
    std::printf(
        "RATIO hold / MADV_POPULATE_WRITE and the same filling, guest's instructions: %.3f\n",
        ratio);
    print_goal("hold's filling / MADV_POPULATE_WRITE and the same filling, instructions", ratio,
               0.9, true);
}

struct Filled {
    std::vector<double> mib_per_s;
    std::vector<double> cpu_s;  // QEMU's, over the whole trial
};

void fill_once(const plan::Plan& plan, const std::string& spec, Filled& filled) {
    const double cpu = children_cpu_s();
    const auto record = run(plan, kernel(spec));
    filled.cpu_s.push_back(children_cpu_s() - cpu);
    if (const auto ns = value(record, "pressure.fill_ns")) {
        filled.mib_per_s.push_back(
            speed(value(record, "pressure.demand_bytes").value_or(NAN), *ns));
    } else if (plan.cases[0].trial.probe.id == plan::LoadId::command) {
        const double bytes = printed(record.console, "bytes");
        filled.mib_per_s.push_back(speed(bytes, printed(record.console, "ns")));
    }
}

void guest_fill(const std::string& spec, unsigned runs) {
    const plan::Plan nothing = same_guest(spec, "");
    plan::Plan hold_plan = nothing;
    set_hold(hold_plan);
    plan::Plan whole_plan = nothing;
    set_command(whole_plan, fmt::format("in_guest fill whole {} {}", kWorkers, kPercent));
    plan::Plan touch_plan = nothing;
    set_command(touch_plan, fmt::format("in_guest fill touch {} {}", kWorkers, kPercent));
    Filled hold, whole, touch, boot;
    for (unsigned i = 0; i < runs; ++i) {
        fill_once(whole_plan, spec, whole);
        fill_once(hold_plan, spec, hold);
        fill_once(touch_plan, spec, touch);
        fill_once(nothing, spec, boot);
    }
    const double boot_cpu = median(boot.cpu_s);
    std::printf("\nFilling 90 %% with base pages in that guest, %u runs, interleaved\n", runs);
    std::printf("  %-30s %-24s %s\n", "", "MiB/s, wall", "QEMU's CPU s, an idle trial's left out");
    auto row = [boot_cpu](const char* what, const Filled& filled) {
        std::printf("  %-30s %-24s %.2f\n", what, spread(filled.mib_per_s, 1).c_str(),
                    median(filled.cpu_s) - boot_cpu);
    };
    row("hold", hold);
    row("MADV_POPULATE_WRITE, then fill", whole);
    row("a fault a page", touch);
    const double wall = median(hold.mib_per_s) / median(whole.mib_per_s);
    const double cpu = (median(whole.cpu_s) - boot_cpu) / (median(hold.cpu_s) - boot_cpu);
    std::printf(
        "RATIO hold / MADV_POPULATE_WRITE and the same filling, guest: %.3f wall, "
        "%.3f by QEMU's CPU time\n",
        wall, cpu);
    print_goal("hold's filling / MADV_POPULATE_WRITE and the same, wall", wall, 0.9, true);
    print_goal("hold's filling / MADV_POPULATE_WRITE and the same, CPU", cpu, 0.9, true);
    exact_fill(spec);
}

// On hardware, one worker: by CPU time, since the machine may be shared.
void host_fill(unsigned runs) {
    const std::string program = MANO_BENCH_PROGRAMS "/in_guest";
    const std::vector<const char*> ways = {"batch", "whole", "touch"};
    std::vector<std::vector<double>> speeds(ways.size());
    for (unsigned i = 0; i < runs; ++i) {
        for (std::size_t w = 0; w < ways.size(); ++w) {
            const Output output = need(run_program({program, "fill", ways[w], "1", "2", "-"}));
            if (!output.exit.ok()) die("in_guest: " + output.exit.text() + output.err);
            speeds[w].push_back(speed(printed(output.out, "bytes"), printed(output.out, "cpu_ns")));
        }
    }
    std::printf(
        "\nThe same code on this host, 2 %% of its memory, one worker, MiB per CPU second, "
        "%u runs, interleaved\n",
        runs);
    std::printf("  hold's way                      %s\n", spread(speeds[0], 1).c_str());
    std::printf("  MADV_POPULATE_WRITE, then fill  %s\n", spread(speeds[1], 1).c_str());
    std::printf("  a fault a page                  %s\n", spread(speeds[2], 1).c_str());
    const double ratio = median(speeds[0]) / median(speeds[1]);
    std::printf("RATIO hold / MADV_POPULATE_WRITE and the same filling, host: %.3f\n", ratio);
    print_goal("hold's filling / MADV_POPULATE_WRITE and the same filling, host", ratio, 0.9, true);
}

}  // namespace
}  // namespace mano::bench

int main(int count, char** arguments) {
    using namespace mano::bench;  // NOLINT(google-build-using-namespace)
    const unsigned runs = number(count, arguments, 1, 5);
    const std::string spec = count > 2 ? arguments[2] : "debian:7.3";
    print_machine("bench/pressure");
    host_fill(2 * runs);
    guest_fill(spec, runs);
    if (count < 4) levels(spec, runs);
    print_machine("end");
    return 0;
}
