// SPDX-License-Identifier: GPL-2.0-or-later
// Text of /proc, /sys and cgroup files → named values, ready to become samples. Does no I/O: the
// agent sends the texts out of the guest, the substrate hands them in here. Must not know who reads
// the values. The texts come from guests, so they are hostile: every size is bounded, nothing
// throws, and whatever can't be read is counted in a Loss instead of being dropped.
//
// Layouts are read by key and header, never by a table of positions or kernel versions: a key that
// is new in the next kernel appears under its own name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/sample.h"

namespace mano::procfs {

struct Value {
    std::string name;  // the metric's name: "vmstat.pgscan_direct"
    double value = 0;  // a whole number from 0 to 2^53, in the unit that the kernel file has
    bool operator==(const Value&) const = default;
};

// Names are unique. Losses are one for each kind of fault, with the number of lines (or values) and
// the first of them quoted.
struct Parsed {
    std::vector<Value> values;
    std::vector<measure::Loss> losses;
};

// Limits of one text; what lies beyond is a Loss.
constexpr std::size_t kMaxTextBytes = std::size_t{32} << 20;
constexpr std::size_t kMaxLineBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxValues = std::size_t{1} << 19;
constexpr std::size_t kMaxKeyBytes = 96;
// Whole numbers up to here are exact in a double.
constexpr double kMaxNumber = 9007199254740992.0;

// Common to all: lines end in a newline. A last line without one was cut off, perhaps in
// mid-number, and is a Loss. Duplicate names keep the first value, the others are a Loss. So are
// numbers that are negative or above 2^53, and keys with characters other than [A-Za-z0-9_.()-]. An
// empty text is a Loss (but see parse_mthp_stats).

// /proc/vmstat → "vmstat.<key>", in the kernel's units (pages, events).
Parsed parse_vmstat(std::string_view text);

// A pressure file → "psi.<who>.<resource>.some.total_us" and ".full.total_us", in µs. `who` is
// "probe" or "system", `resource` "memory", "io" or "cpu". Averages are left unread: they are
// derived from the totals by the kernel. A kernel without the `full` line gives no such value.
Parsed parse_psi(std::string_view who, std::string_view resource, std::string_view text);

// Any file of "key number" lines (a cgroup's cpu.stat) → prefix + key, in the file's own units.
// `source` names the file in Losses.
Parsed parse_pairs(std::string_view source, std::string_view prefix, std::string_view text);

// A cgroup's memory.stat (also memory.events) → "memcg.<who>.<key>": bytes or events, as the kernel
// has them.
Parsed parse_memory_stat(std::string_view who, std::string_view text);

// A cgroup's cpu.stat → "cpu.<who>.<key>" ("cpu.probe.usage_usec"), in the kernel's units.
Parsed parse_cpu_stat(std::string_view who, std::string_view text);

// A file that holds one number ("memory.current"), under the name given. The word "max" gives
// nothing: there is no limit, hence no number.
Parsed parse_number_file(std::string_view name, std::string_view text);

// /proc/meminfo → "meminfo.<key>" in bytes; counts ("HugePages_Total") as they are.
// "Active(anon)" is "meminfo.Active_anon".
Parsed parse_meminfo(std::string_view text);

// /proc/buddyinfo → free blocks: "buddy.node<N>.<zone>.order<K>", and "buddy.total.order<K>" over
// all zones. No totals when a line was unreadable: a partial sum would look like a shortage.
Parsed parse_buddyinfo(std::string_view text);

// /proc/pagetypeinfo → free blocks "pagetype.node<N>.<zone>.<type>.order<K>", page blocks
// "….<type>.blocks" (and ".mixed_blocks"), "pagetype.pages_per_block", "pagetype.page_block_order".
// The kernel stops counting at 100000 and prints ">100000": such values are 100000, and a Loss says
// that they are lower bounds.
Parsed parse_pagetypeinfo(std::string_view text);

// /proc/zoneinfo → "zoneinfo.node<N>.<key>" (per-node statistics), "zoneinfo.node<N>.<zone>.<key>"
// (free, min, low, high, managed, nr_* …, in pages; protection.<I> for the reserve against zone I),
// and the per-CPU lists "zoneinfo.node<N>.<zone>.cpu<C>.count|high|batch|…".
Parsed parse_zoneinfo(std::string_view text);

// /proc/stat → "stat.cpu.<user|nice|system|idle|iowait|irq|softirq|steal|guest|guest_nice>_ticks"
// over all CPUs, "stat.intr" and "stat.softirq" (totals), and every other key ("stat.ctxt"). The
// lines of single CPUs and the counts of single interrupts are not read.
Parsed parse_stat(std::string_view text);

// The agent's collection of /sys/kernel/mm/transparent_hugepage/hugepages-*/stats/*, as lines
// "hugepages-64kB anon_fault_alloc 12" → "mthp.64kB.anon_fault_alloc". Empty is no Loss: kernels
// before 6.8 have no such files.
Parsed parse_mthp_stats(std::string_view text);

struct Swap {
    std::string path;  // as the kernel escapes it ("/dev/zram0")
    std::string type;  // "partition", "file"
    std::uint64_t size_bytes = 0;
    std::uint64_t used_bytes = 0;
    bool operator==(const Swap&) const = default;
};
struct Swaps {
    std::vector<Swap> swaps;
    std::vector<measure::Loss> losses;
};

// /proc/swaps, columns found by their heading. No swap is an empty list without a Loss.
Swaps parse_swaps(std::string_view text);

}  // namespace mano::procfs
