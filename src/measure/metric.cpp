// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/metric.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "measure/catalogue.h"

namespace mano::measure {
namespace {

Metric make(const Entry& entry, std::string name) {
    Metric metric;
    metric.name = std::move(name);
    metric.unit = entry.unit;
    metric.kind = entry.kind;
    metric.better = entry.better;
    metric.floor = entry.floor;
    metric.meaning = entry.meaning;
    return metric;
}

const Entry& family(std::string_view prefix) {
    for (const Entry& entry : family_entries()) {
        if (entry.name.starts_with(prefix)) return entry;
    }
    return family_entries().front();  // not reached: prefixes are this file's own
}

const Entry* find_key(std::span<const Entry> entries, std::string_view key) {
    for (const Entry& entry : entries) {
        if (entry.name == key) return &entry;
    }
    return nullptr;
}

// "a.b.c" → "a" and "b.c"; without a point the second part is empty.
struct Split {
    std::string_view head, tail;
};
Split split(std::string_view text) {
    const std::size_t point = text.find('.');
    if (point == std::string_view::npos) return {text, {}};
    return {text.substr(0, point), text.substr(point + 1)};
}

bool is_word(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-' || c == '(' || c == ')';
    });
}

bool is_number(std::string_view text) {
    return !text.empty() && text.size() <= 9 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<Metric> psi_metric(std::string_view name, std::string_view rest) {
    const Split who = split(rest);
    const Split resource = split(who.tail);
    const Split line = split(resource.tail);
    if (!is_one_of(who.head, {"probe", "load", "system"}) ||
        !is_one_of(resource.head, {"memory", "io", "cpu", "irq"}) ||
        !is_one_of(line.head, {"some", "full"}) || line.tail != "total_us") {
        return std::nullopt;
    }
    return make(family("psi."), std::string(name));
}

// "order0" … "order15"
bool is_order(std::string_view text) {
    constexpr std::string_view kOrder = "order";
    if (!text.starts_with(kOrder)) return false;
    text.remove_prefix(kOrder.size());
    return is_number(text) && (text.size() == 1 || (text.size() == 2 && text <= "15"));
}

// The families below "probe."; the other names there are entries of their own.
std::optional<Metric> probe_metric(std::string_view name, std::string_view rest) {
    const Split what = split(rest);
    const Split of = split(what.tail);
    const bool chunks = what.head == "chunks" && is_order(what.tail);
    const bool errors = what.head == "errno" &&
                        is_one_of(what.tail, {"ENOMEM", "EPERM", "EACCES", "EINVAL", "other"});
    const bool blocks = what.head == "blocks" &&
                        is_one_of(of.head, {"before", "held", "after", "later"}) &&
                        is_order(of.tail);
    const bool times = what.head == "timer" && of.head == "histogram" && is_number(of.tail);
    if (!chunks && !errors && !blocks && !times) return std::nullopt;
    return make(family("probe." + std::string(what.head) + "."), std::string(name));
}

// The kernel's own habit: nr_* and *_nodes are states, the rest counts up. Exceptions are entries.
Metric vmstat_like(std::string_view name, std::string_view key) {
    if (const Entry* entry = find_key(vmstat_entries(), key))
        return make(*entry, std::string(name));
    Metric metric = make(family("vmstat."), std::string(name));
    const bool state = key.starts_with("nr_");
    metric.kind = state ? Kind::gauge : Kind::counter;
    metric.unit =
        state || key.starts_with("pg") || key.starts_with("workingset_") ? "pages" : "count";
    if (state) metric.floor = 256;
    return metric;
}

std::optional<Metric> mthp_metric(std::string_view name, std::string_view rest) {
    const Split size = split(rest);
    if (!size.head.ends_with("kB") || !is_number(size.head.substr(0, size.head.size() - 2)) ||
        !is_word(size.tail)) {
        return std::nullopt;
    }
    if (const Entry* entry = find_key(mthp_entries(), size.tail)) {
        return make(*entry, std::string(name));
    }
    Metric metric = make(family("mthp."), std::string(name));
    if (size.tail.starts_with("nr_")) metric.kind = Kind::gauge;
    return metric;
}

std::optional<Metric> memcg_metric(std::string_view name, std::string_view rest) {
    const Split who = split(rest);
    if (!is_one_of(who.head, {"probe", "load"}) || !is_word(who.tail)) return std::nullopt;
    if (const Entry* entry = find_key(memcg_entries(), who.tail)) {
        return make(*entry, std::string(name));
    }
    Metric metric = make(family("memcg."), std::string(name));
    static constexpr std::array<std::string_view, 9> kCounting{
        "pg", "workingset_", "thp_", "numa_", "swpin", "swpout", "zswpin", "zswpout", "zswpwb"};
    const bool counts =
        std::any_of(kCounting.begin(), kCounting.end(),
                    [&](std::string_view start) { return who.tail.starts_with(start); });
    metric.unit = counts ? "count" : "bytes";
    if (counts) {
        metric.kind = Kind::counter;
        metric.floor = 100;
    }
    return metric;
}

// Per-zone statistics have vmstat's names and rules; sizes, watermarks and lists are states.
Metric zoneinfo_metric(std::string_view name) {
    const std::string_view key = name.substr(name.rfind('.') + 1);
    Metric metric = make(family("zoneinfo."), std::string(name));
    static constexpr std::array<std::string_view, 7> kCounting{
        "numa_", "pgscan", "pgsteal", "pgrefill", "pgdemote", "pgpromote", "workingset_"};
    const bool counts = std::any_of(kCounting.begin(), kCounting.end(),
                                    [&](std::string_view start) { return key.starts_with(start); });
    if (counts || find_key(vmstat_entries(), key) != nullptr) {
        const Metric like = vmstat_like(name, key);
        metric.kind = like.kind;
        metric.unit = like.unit;
    }
    return metric;
}

Metric stat_metric(std::string_view name, std::string_view key) {
    Metric metric = make(family("stat."), std::string(name));
    metric.unit = key.ends_with("_ticks") ? "ticks" : "count";
    if (key.starts_with("procs_") || key == "btime") metric.kind = Kind::gauge;
    if (key == "processes") metric.meaning = "processes and threads made since boot, /proc/stat";
    return metric;
}

Metric model_metric(std::string_view name, std::string_view key) {
    Metric metric = make(family("model."), std::string(name));
    metric.unit = key.ends_with("_ns") ? "ns" : key.ends_with("_us") ? "us" : "count";
    return metric;
}

std::optional<Metric> cgroup_cpu_metric(std::string_view name, std::string_view rest) {
    const Split who = split(rest);
    if (!is_one_of(who.head, {"probe", "load"}) || !is_word(who.tail)) return std::nullopt;
    Metric metric = make(family("cpu."), std::string(name));
    metric.unit = who.tail.ends_with("_usec") ? "us" : "count";
    return metric;
}

Metric meminfo_metric(std::string_view name, std::string_view key) {
    Metric metric = make(family("meminfo."), std::string(name));
    if (key.starts_with("HugePages_")) {
        metric.unit = "count";
        metric.floor = 1;
    }
    return metric;
}

const std::unordered_map<std::string_view, Metric>& exact_metrics() {
    static const auto map = [] {
        std::unordered_map<std::string_view, Metric> made;
        for (const Entry& entry : exact_entries()) {
            made.emplace(entry.name, make(entry, std::string(entry.name)));
        }
        return made;
    }();
    return map;
}

// The keys of /proc/meminfo (fs/proc/meminfo.c and the architectures'), parentheses as underscores.
constexpr std::array<std::string_view, 62> kMeminfo{"Active",         "Active_anon",
                                                    "Active_file",    "AnonHugePages",
                                                    "AnonPages",      "Balloon",
                                                    "Bounce",         "Buffers",
                                                    "Cached",         "CmaFree",
                                                    "CmaTotal",       "CommitLimit",
                                                    "Committed_AS",   "DirectMap1G",
                                                    "DirectMap2M",    "DirectMap4k",
                                                    "Dirty",          "FileHugePages",
                                                    "FilePmdMapped",  "GPUActive",
                                                    "GPUReclaim",     "HardwareCorrupted",
                                                    "HugePages_Free", "HugePages_Rsvd",
                                                    "HugePages_Surp", "HugePages_Total",
                                                    "Hugepagesize",   "Hugetlb",
                                                    "Inactive",       "Inactive_anon",
                                                    "Inactive_file",  "KReclaimable",
                                                    "KernelStack",    "Mapped",
                                                    "MemAvailable",   "MemFree",
                                                    "MemTotal",       "Mlocked",
                                                    "NFS_Unstable",   "PageTables",
                                                    "Percpu",         "Quicklists",
                                                    "SReclaimable",   "SUnreclaim",
                                                    "SecPageTables",  "ShadowCallStack",
                                                    "Shmem",          "ShmemHugePages",
                                                    "ShmemPmdMapped", "Slab",
                                                    "SwapCached",     "SwapFree",
                                                    "SwapTotal",      "Unaccepted",
                                                    "Unevictable",    "VmallocChunk",
                                                    "VmallocTotal",   "VmallocUsed",
                                                    "Writeback",      "WritebackTmp",
                                                    "Zswap",          "Zswapped"};
// Those of /proc/stat (fs/proc/stat.c), without the lines of single CPUs.
constexpr std::array<std::string_view, 17> kStat{"btime",
                                                 "cpu.guest_nice_ticks",
                                                 "cpu.guest_ticks",
                                                 "cpu.idle_ticks",
                                                 "cpu.iowait_ticks",
                                                 "cpu.irq_ticks",
                                                 "cpu.nice_ticks",
                                                 "cpu.softirq_ticks",
                                                 "cpu.steal_ticks",
                                                 "cpu.system_ticks",
                                                 "cpu.user_ticks",
                                                 "ctxt",
                                                 "intr",
                                                 "processes",
                                                 "procs_blocked",
                                                 "procs_running",
                                                 "softirq"};

// "node0.DMA32.free", "total.order3": what buddyinfo, pagetypeinfo and zoneinfo are keyed by.
bool is_of_a_zone(std::string_view rest) {
    const Split first = split(rest);
    if (first.head == "total" || first.head == "page_block_order" ||
        first.head == "pages_per_block") {
        return true;
    }
    constexpr std::string_view kNode = "node";
    const std::string_view number = first.head.substr(std::min(kNode.size(), first.head.size()));
    const bool node = first.head.starts_with(kNode) && !number.empty() &&
                      number.find_first_not_of("0123456789") == std::string_view::npos;
    const Split zone = split(first.tail);
    return node && !zone.tail.empty() &&
           is_one_of(zone.head, {"DMA", "DMA32", "Normal", "HighMem", "Movable", "Device", "node"});
}

// Every full name that a message may suggest.
const std::vector<std::string>& known_names() {
    static const auto names = [] {
        std::vector<std::string> made;
        for (const Entry& entry : exact_entries())
            made.emplace_back(entry.name);
        for (const Entry& entry : vmstat_entries())
            made.push_back("vmstat." + std::string(entry.name));
        for (const std::string_view key : vmstat_keys())
            made.push_back("vmstat." + std::string(key));
        for (const std::string_view key : kMeminfo)
            made.push_back("meminfo." + std::string(key));
        for (const std::string_view key : kStat)
            made.push_back("stat." + std::string(key));
        for (const int size : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
            for (const Entry& entry : mthp_entries()) {
                made.push_back(fmt::format("mthp.{}kB.{}", size, entry.name));
            }
        }
        for (const std::string_view who : {"probe", "load"}) {
            for (const Entry& entry : memcg_entries()) {
                made.push_back(fmt::format("memcg.{}.{}", who, entry.name));
            }
        }
        for (const std::string_view who : {"probe", "system"}) {
            for (const std::string_view resource : {"memory", "io", "cpu"}) {
                for (const std::string_view line : {"some", "full"}) {
                    made.push_back(fmt::format("psi.{}.{}.{}.total_us", who, resource, line));
                }
            }
        }
        for (const std::string_view key :
             {"MemFree", "MemAvailable", "AnonHugePages", "SwapFree"}) {
            made.push_back("meminfo." + std::string(key));
        }
        for (const std::string_view key : {"ctxt", "processes", "intr", "softirq", "cpu.user_ticks",
                                           "cpu.system_ticks", "cpu.idle_ticks"}) {
            made.push_back("stat." + std::string(key));
        }
        for (int order = 0; order <= 10; ++order) {
            made.push_back(fmt::format("buddy.total.order{}", order));
        }
        return made;
    }();
    return names;
}

}  // namespace

std::string_view name_of(Kind kind) {
    switch (kind) {
        case Kind::counter:
            return "counter";
        case Kind::gauge:
            return "gauge";
        case Kind::max:
            return "max";
        case Kind::min:
            return "min";
        case Kind::ratio:
            return "ratio";
        case Kind::rate:
            return "rate";
    }
    return "counter";
}

std::string_view name_of(Better better) {
    switch (better) {
        case Better::lower:
            return "lower";
        case Better::higher:
            return "higher";
        case Better::neither:
            return "neither";
    }
    return "neither";
}

std::optional<Kind> kind_from(std::string_view name) {
    for (const Kind kind :
         {Kind::counter, Kind::gauge, Kind::max, Kind::min, Kind::ratio, Kind::rate}) {
        if (name_of(kind) == name) return kind;
    }
    return std::nullopt;
}

std::optional<Better> better_from(std::string_view name) {
    for (const Better better : {Better::lower, Better::higher, Better::neither}) {
        if (name_of(better) == name) return better;
    }
    return std::nullopt;
}

std::optional<Metric> find_metric(std::string_view name) {
    const auto& exact = exact_metrics();
    if (const auto found = exact.find(name); found != exact.end()) return found->second;
    const auto [head, rest] = split(name);
    if (!is_word(rest)) return std::nullopt;
    if (head == "probe") return probe_metric(name, rest);
    if (head == "psi") return psi_metric(name, rest);
    if (head == "vmstat") return vmstat_like(name, rest);
    if (head == "mthp") return mthp_metric(name, rest);
    if (head == "memcg") return memcg_metric(name, rest);
    if (head == "cpu") return cgroup_cpu_metric(name, rest);
    if (head == "zoneinfo") return zoneinfo_metric(name);
    if (head == "stat") return stat_metric(name, rest);
    if (head == "meminfo") return meminfo_metric(name, rest);
    if (head == "model") return model_metric(name, rest);
    for (const std::string_view plain : {"buddy.", "pagetype.", "tp.", "trigger.", "kmsg."}) {
        if (name.starts_with(plain)) return make(family(plain), std::string(name));
    }
    return std::nullopt;
}

std::span<const Metric> catalogue() {
    static const auto all = [] {
        std::vector<Metric> made;
        for (const Entry& entry : exact_entries())
            made.push_back(make(entry, std::string(entry.name)));
        for (const Entry& entry : family_entries()) {
            made.push_back(make(entry, std::string(entry.name)));
        }
        return made;
    }();
    return all;
}

bool is_known_metric(std::string_view name) {
    if (!find_metric(name)) return false;
    const auto [head, rest] = split(name);
    // Families whose keys are the same on every machine are checked to the key.
    if (is_one_of(head, {"buddy", "pagetype", "zoneinfo"})) return is_of_a_zone(rest);
    if (!is_one_of(head, {"vmstat", "mthp", "stat", "meminfo"})) return true;
    const auto& names = known_names();
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::span<const CatalogueFormula> catalogue_formulas() {
    static const auto all = [] {
        std::vector<CatalogueFormula> made;
        for (const Entry& entry : exact_entries()) {
            if (entry.formula.empty()) continue;
            // The table's formulas parse: a test looks at each.
            if (auto formula = Formula::parse(entry.formula)) {
                made.push_back({std::string(entry.name), std::move(*formula)});
            }
        }
        return made;
    }();
    return all;
}

std::string nearest_metric(std::string_view name, std::span<const std::string> also_known) {
    std::vector<std::string_view> candidates(also_known.begin(), also_known.end());
    candidates.insert(candidates.end(), known_names().begin(), known_names().end());
    return nearest_name(name, candidates);
}

}  // namespace mano::measure
