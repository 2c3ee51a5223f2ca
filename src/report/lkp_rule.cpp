// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/lkp_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "report/internal.h"

namespace mano::report {
namespace {

// A floor of etc/perf-metrics-threshold.yaml: below `most` at most, or a difference under half of
// it (`halved`), isn't reported. The first pattern that matches decides.
struct Threshold {
    std::string_view pattern;
    double most;
    bool halved = true;
};
constexpr std::array<Threshold, 41> kThresholds{{
    {"*.time.elapsed_time*", 10},
    {"*.time.file_system_inputs", 10000},
    {"*.time.file_system_outputs", 10000},
    {"*.time.involuntary_context_switches", 1000},
    {"*.time.major_page_faults", 1000},
    {"*.time.minor_page_faults", 1000},
    {"*.time.socket_messages_received", 10000},
    {"*.time.socket_messages_sent", 10000},
    {"*.time.swaps", 1000},
    {"*.time.system_time", 10},
    {"*.time.user_time", 10},
    {"*.time.voluntary_context_switches", 1000},
    {"*vmstat*nr_*", 100},
    {"dd.kill_time", 10},
    {"dd.startup_time", 10},
    {"interrupts.*", 100},
    {"iostat.*.avgrq-sz", 200},
    {"iostat.*.await", 50},
    {"iostat.*.util", 10},
    {"iostat.*.?/s", 50},
    {"iostat.*.?kB/s", 100},
    {"iostat.*.?_await", 50},
    {"perf-c2c.HITM.total", 3000},
    {"perf-profile.*", 1},
    {"proc-vmstat.allocstall", 100},
    {"proc-vmstat.compact_fail", 100},
    {"proc-vmstat.compact_stall", 100},
    {"proc-vmstat.htlb_buddy_alloc_fail", 100},
    {"proc-vmstat.kswapd_high_wmark_hit_quickly", 100},
    {"proc-vmstat.kswapd_low_wmark_hit_quickly", 100},
    {"proc-vmstat.pgmigrate_fail", 100},
    {"sysbench-fileio.latency_95th_ms", 10},
    {"vmstat.cpu.id", 10},
    {"vmstat.cpu.st", 10},
    {"vmstat.cpu.sy", 50},
    {"vmstat.cpu.us", 10},
    {"vmstat.cpu.wa", 10},
    {"vmstat.io.b?", 100},
    {"vmstat.system.cs", 100},
    {"vmstat.system.in", 100},
    {"xfstests.*.seconds", 10},
}};

// Monitors: what is in none of them is a test's own number. Of the monitors LKP counts those of
// kPerfMonitors among the "perf metrics", of which it shows changes above 1 % and not only above 5.
constexpr std::array<std::string_view, 33> kMonitors{
    "boot-meminfo", "boot-memory", "boot-slabinfo", "boot-time",    "buddyinfo",     "cpuidle",
    "cpuset",       "diskstats",   "energy",        "interrupts",   "iostat",        "kmsg",
    "lock_stat",    "meminfo",     "mpstat",        "numa-meminfo", "numa-numastat", "numa-vmstat",
    "pagetypeinfo", "perf-c2c",    "perf-profile",  "perf-sched",   "perf-stat",     "pmeter",
    "proc-stat",    "proc-vmstat", "sched_debug",   "slabinfo",     "softirqs",      "time",
    "turbostat",    "uptime",      "vmstat"};
constexpr std::array<std::string_view, 33> kPerfMetrics{
    "boot-meminfo.DirectMap",
    "boot-meminfo.KernelStack",
    "boot-meminfo.MemFree",
    "boot-meminfo.MemTotal",
    "boot-meminfo.PageTables",
    "boot-meminfo.Slab",
    "boot-meminfo.VmallocUsed",
    "boot-memory.bootmem",
    "boot-memory.code",
    "boot-memory.init",
    "boot-slabinfo.",
    "boot-time.",
    "energy.",
    "interrupts.CAL:Function_call_interrupts",
    "iostat.",
    "perf-c2c.HITM.total",
    "perf-profile.children.cycles-pp.native_queued_spin_lock_slowpath",
    "perf-stat.",
    "pmeter.",
    "proc-vmstat.",
    "turbostat.%Busy",
    "turbostat.Bzy_MHz",
    "turbostat.C1",
    "turbostat.CorWatt",
    "turbostat.Pk",
    "turbostat.POLL%",
    "turbostat.RAMWatt",
    "turbostat.SYS%LPI",
    "vmstat.cpu.",
    "vmstat.io.",
    "vmstat.swap.",
    "vmstat.system.",
    "proc-stat.",
};

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_perf_metric(std::string_view name) {
    return lkp_is_own(name) || starts_with_any(name, kPerfMetrics);
}

bool is_reasonable(std::string_view name, double delta, double most) {
    for (const Threshold& each : kThresholds) {
        if (!matches(each.pattern, name)) continue;
        return most >= each.most && (!each.halved || delta >= std::floor(each.most / 2));
    }
    if (name.starts_with("iostat")) return most > 1;
    if (name.starts_with("pagetypeinfo") || name.starts_with("buddyinfo") ||
        name.starts_with("slabinfo")) {
        return delta > 100;
    }
    if (name.starts_with("proc-vmstat") || name.find("meminfo") != std::string_view::npos) {
        return most > 1000;
    }
    if (name.starts_with("lock_stat")) return delta > 10000;
    if (name.starts_with("interrupts") || name.starts_with("softirqs")) return most > 10000;
    return true;
}

// Sorted, without what LKP takes for empty (-1) and without the outermost values of large samples.
struct Sample {
    std::vector<double> sorted;
    double least() const { return sorted.front(); }
    double middle() const { return sorted[sorted.size() / 2]; }  // its "mean": the upper median
    double most() const { return sorted.back(); }
};

Sample sample_of(std::span<const std::optional<double>> values, std::size_t most_cut) {
    Sample sample;
    for (const auto& value : values)
        sample.sorted.push_back(value.value_or(0));
    std::sort(sample.sorted.begin(), sample.sorted.end());
    while (!sample.sorted.empty() && sample.sorted.front() == -1)
        sample.sorted.erase(sample.sorted.begin());
    const std::size_t cut = std::min(values.size() >> 5U, most_cut);
    if (sample.sorted.size() <= 2 * cut) {
        sample.sorted.clear();
    } else {
        sample.sorted = {sample.sorted.begin() + static_cast<std::ptrdiff_t>(cut),
                         sample.sorted.end() - static_cast<std::ptrdiff_t>(cut)};
    }
    return sample;
}

constexpr std::size_t kFewestRuns = 3;
constexpr std::size_t kMostCut = 3;
constexpr double kMaxRatio = 5;

LkpRuling judge_failures(const Sample& base, const Sample& head) {
    if (base.most() == head.most()) return {false, "fails as often at most in both"};
    return {true, "fails in one and not in the other"};
}

LkpRuling judge_sizes(std::string_view name, const Sample& base, const Sample& head) {
    const bool rose = head.middle() > base.middle();
    const Sample& high = rose ? head : base;
    const Sample& low = rose ? base : head;
    const double delta = high.middle() - low.middle();
    const double ratio =
        low.middle() > 0 ? std::min(high.middle() / low.middle(), kMaxRatio) : kMaxRatio;
    if (ratio <= 1.01) return {false, "its medians differ by under 1%"};
    if (ratio <= 1.05 && !is_perf_metric(name)) {
        return {false, "its medians differ by under 5%, and it is no perf metric"};
    }
    if (!is_reasonable(name, delta, std::max(base.most(), head.most()))) {
        return {false, "below LKP's floor of this metric"};
    }
    return {true, "each median lies outside the other's range"};
}

}  // namespace

bool lkp_is_failure(std::string_view name) {
    if (name.find(".time.") != std::string_view::npos ||
        name.find(".timestamp:") != std::string_view::npos ||
        name.find(".bootstage:") != std::string_view::npos) {
        return false;
    }
    constexpr std::array<std::string_view, 4> kStarts{"dmesg", "kmsg", "last_state", "stderr"};
    if (starts_with_any(name, kStarts)) return true;
    const std::size_t killed = name.find("killed_by");
    if (killed != std::string_view::npos && killed > 0) return true;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return false;
    const std::string_view last = name.substr(dot + 1);
    if (last == "pass") return true;
    constexpr std::array<std::string_view, 3> kEnds{"error", "warn", "fail"};
    for (const std::string_view end : kEnds) {
        if (last.starts_with(end) && last.find('_', end.size()) == std::string_view::npos) {
            return true;
        }
    }
    return false;
}

bool lkp_is_own(std::string_view name) {
    const std::string_view monitor = name.substr(0, name.find('.'));
    return std::find(kMonitors.begin(), kMonitors.end(), monitor) == kMonitors.end();
}

bool lkp_is_absolute(std::string_view name) {
    return name.starts_with("perf-profile") || name.ends_with('%');
}

std::string lkp_name(std::string_view name, bool foreign) {
    const bool ours = !foreign && name.starts_with("vmstat.");
    return (ours ? "proc-" : "") + std::string(name);
}

LkpRuling lkp_rule(std::string_view name, std::span<const std::optional<double>> base,
                   std::span<const std::optional<double>> head) {
    const bool failure = lkp_is_failure(name);
    const auto known = [](const std::optional<double>& value) { return value.has_value(); };
    if (!failure && std::none_of(base.begin(), base.end(), known)) {
        return {false, "the base has no value of it"};
    }
    if (!failure && base.size() < kFewestRuns && head.size() < kFewestRuns) {
        return {false, "fewer than 3 runs on both sides"};
    }
    const std::size_t cut = failure ? 0 : kMostCut;
    const Sample b = sample_of(base, cut);
    const Sample a = sample_of(head, base.size() <= 3 ? std::min<std::size_t>(cut, 1) : cut);
    if (b.sorted.empty() || a.sorted.empty()) return {false, "no runs"};
    if (failure) return judge_failures(b, a);
    const bool fell = b.least() > a.middle() && b.middle() > a.most();
    const bool rose = a.least() > b.middle() && a.middle() > b.most();
    if (!fell && !rose) return {false, "a median lies inside the other's range"};
    return judge_sizes(name, b, a);
}

}  // namespace mano::report
