// SPDX-License-Identifier: GPL-2.0-or-later
// The block that mm developers quote, under mmtests' names
// (bin/lib/MMTests/MonitorMmtestsvmstat.pm) and in its order. Values are means over the trials; a
// ratio is that of the means, which is that of the totals. What no kernel of the run has is left
// out; what one lacks is "-". mmtests prints 100 % efficiency where nothing was scanned: here it is
// "-".
#include <algorithm>
#include <array>
#include <functional>

#include "report/internal.h"
#include "report/layout.h"
#include "report/renderers.h"

namespace mano::report {
namespace {

// A counter's mean in one arm by its vmstat name; nullopt: unknown there.
using Get = std::function<std::optional<double>(std::string_view)>;

struct Item {
    std::string_view name;
    std::string_view key;  // of /proc/vmstat, or empty when computed
    std::optional<double> (*compute)(const Get&) = nullptr;
    bool fraction = false;  // two decimals
};

std::optional<double> ratio(std::optional<double> part, std::optional<double> whole,
                            double factor) {
    if (!part || !whole || *whole <= 0) return std::nullopt;
    return factor * *part / *whole;
}
std::optional<double> minus(std::optional<double> a, std::optional<double> b) {
    if (!a || !b) return std::nullopt;
    return *a - *b;
}
// Pages a second of the probe's time.
std::optional<double> velocity(const Get& get, std::string_view key) {
    return ratio(get(key), get("probe.time_ns"), 1e9);
}
std::optional<double> compaction_cost(const Get& get) {
    // Its cost model in units of 8 bytes touched: 7 a page scanned by the migration scanner, 19 one
    // isolated, 1038 one moved, 14 one that failed to move; in millions. As mmtests computes it,
    // the free scanner costs nothing.
    const auto scanned = get("compact_migrate_scanned");
    const auto isolated = get("compact_isolated");
    const auto moved = get("pgmigrate_success");
    const auto failed = get("pgmigrate_fail");
    if (!scanned || !isolated || !moved || !failed) return std::nullopt;
    return (7 * *scanned + 19 * *isolated + 1038 * *moved + 14 * *failed) / 1e6;
}

constexpr std::array<Item, 56> kItems{{
    {"Minor Faults", "", [](const Get& get) { return minus(get("pgfault"), get("pgmajfault")); }},
    {"Major Faults", "pgmajfault"},
    {"Swap Ins", "pswpin"},
    {"Swap Outs", "pswpout"},
    {"Allocation stalls", "allocstall"},
    {"Fragmentation stalls", "fragment_stall"},
    {"DMA allocs", "pgalloc_dma"},
    {"DMA32 allocs", "pgalloc_dma32"},
    {"Normal allocs", "pgalloc_normal"},
    {"Movable allocs", "pgalloc_movable"},
    {"Direct pages scanned", "pgscan_direct"},
    {"Kswapd pages scanned", "pgscan_kswapd"},
    {"Kswapd pages reclaimed", "pgsteal_kswapd"},
    {"Direct pages reclaimed", "pgsteal_direct"},
    {"Kswapd efficiency %", "",
     [](const Get& get) { return ratio(get("pgsteal_kswapd"), get("pgscan_kswapd"), 100); }, true},
    {"Kswapd velocity", "", [](const Get& get) { return velocity(get, "pgscan_kswapd"); }, true},
    {"Direct efficiency %", "",
     [](const Get& get) { return ratio(get("pgsteal_direct"), get("pgscan_direct"), 100); }, true},
    {"Direct velocity", "", [](const Get& get) { return velocity(get, "pgscan_direct"); }, true},
    {"Percentage direct scans", "",
     [](const Get& get) {
         const auto direct = get("pgscan_direct");
         const auto kswapd = get("pgscan_kswapd");
         if (!direct || !kswapd) return std::optional<double>();
         return ratio(direct, *direct + *kswapd, 100);
     },
     true},
    {"Page writes by reclaim", "nr_vmscan_write"},
    {"Page writes file", "",
     [](const Get& get) { return minus(get("nr_vmscan_write"), get("pswpout")); }},
    {"Page writes anon", "pswpout"},
    {"Page reclaim immediate", "nr_vmscan_immediate_reclaim"},
    {"Sector Reads", "pgpgin"},
    {"Sector Writes", "pgpgout"},
    {"Page rescued immediate", "pgrescued"},
    {"Slabs scanned", "slabs_scanned"},
    {"Direct inode steals", "pginodesteal"},
    {"Kswapd inode steals", "kswapd_inodesteal"},
    {"THP fault alloc", "thp_fault_alloc"},
    {"THP fault fallback", "thp_fault_fallback"},
    {"THP collapse alloc", "thp_collapse_alloc"},
    {"THP collapse fail", "thp_collapse_alloc_failed"},
    {"THP split", "thp_split_page"},
    {"THP split failed", "thp_split_page_failed"},
    {"Compaction stalls", "compact_stall"},
    {"Compaction success", "compact_success"},
    {"Compaction failures", "compact_fail"},
    {"Compaction efficiency", "",
     [](const Get& get) { return ratio(get("compact_success"), get("compact_stall"), 100); }, true},
    {"Page migrate success", "pgmigrate_success"},
    {"Page migrate failure", "pgmigrate_fail"},
    {"Compaction pages isolated", "compact_isolated"},
    {"Compaction migrate scanned", "compact_migrate_scanned"},
    {"Compaction free scanned", "compact_free_scanned"},
    {"Compact scan efficiency", "",
     [](const Get& get) {
         return ratio(get("compact_migrate_scanned"), get("compact_free_scanned"), 100);
     },
     true},
    {"Compaction cost", "", compaction_cost, true},
    {"Kcompactd wake", "compact_daemon_wake"},
    {"Kcompactd migrate scanned", "compact_daemon_migrate_scanned"},
    {"Kcompactd free scanned", "compact_daemon_free_scanned"},
    {"NUMA alloc hit", "numa_hit"},
    {"NUMA alloc miss", "numa_miss"},
    {"NUMA interleave hit", "numa_interleave"},
    {"NUMA alloc local", "numa_local"},
    {"NUMA base-page range updates", "numa_pte_updates"},
    {"NUMA hint faults", "numa_hint_faults"},
    {"NUMA pages migrated", "numa_pages_migrated"},
}};

std::optional<double> mean_of(const CaseReport& report, std::size_t arm, std::string_view name) {
    for (const MetricRow& row : report.rows) {
        if (row.metric.name == name) return row.arms[arm].summary.mean;
    }
    return std::nullopt;
}

std::optional<double> value_of(const ReportData& data, const CaseReport& report, std::size_t arm,
                               const Item& item) {
    const Get get = [&](std::string_view key) {
        if (key.starts_with("probe.")) return mean_of(report, arm, key);
        // An import from LKP has the same counters under proc-vmstat.
        const std::string_view prefix = data.foreign ? "proc-vmstat." : "vmstat.";
        return mean_of(report, arm, std::string(prefix) + std::string(key));
    };
    return item.compute != nullptr ? item.compute(get) : get(item.key);
}

std::string cell(const std::optional<double>& value, bool fraction) {
    if (!value) return "-";
    return fraction ? fmt::format("{:.2f}", *value) : fmt::format("{:.0f}", *value);
}

std::string render_case(const ReportData& data, const CaseReport& report) {
    constexpr std::size_t kNameWidth = 30;
    std::size_t width = 12;
    for (const ArmReport& arm : data.arms)
        width = std::max(width, ascii(arm.name).size());
    std::string text = report.name.empty() ? "" : ascii(report.name) + ":\n";
    text += std::string(kNameWidth, ' ');
    for (const ArmReport& arm : data.arms)
        text += "  " + pad_left(ascii(arm.name), width);
    text += '\n';
    std::size_t rows = 0;
    for (const Item& item : kItems) {
        std::string line = pad_right(item.name, kNameWidth);
        bool any = false;
        for (std::size_t arm = 0; arm < data.arms.size(); ++arm) {
            const auto value = value_of(data, report, arm, item);
            any = any || value.has_value();
            line += "  " + pad_left(cell(value, item.fraction), width);
        }
        if (!any) continue;
        ++rows;
        text += line + '\n';
    }
    if (rows == 0) return text + "no /proc/vmstat counter in this run set\n";
    const bool timed = mean_of(report, 0, "probe.time_ns").has_value();
    if (!timed) text += "(no velocities: the probe's time isn't known)\n";
    return text;
}

}  // namespace

std::string render_mmtests(const ReportData& data) {
    std::string text;
    for (const CaseReport& report : data.cases)
        text += render_case(data, report) + '\n';
    text += wrap(fmt::format("Means over the trials that count of run set {}; velocities in pages "
                             "per second of the probe's {}time.",
                             data.header.id, data.header.plan.exact ? "virtual " : ""),
                 0, 0);
    return text;
}

}  // namespace mano::report
