// SPDX-License-Identifier: GPL-2.0-or-later
// The files that are a flat list of keys.
#include <algorithm>

#include "procfs/text.h"

namespace mano::procfs {
namespace {

std::string join(std::string_view a, std::string_view b) {
    return std::string(a).append(b);
}

// "some avg10=0.00 … total=123": the word that starts with "total=".
void read_psi_line(std::string_view prefix, std::string_view line, Collector& out) {
    std::string_view rest = line;
    const std::string_view kind = take_word(rest);
    if (!valid_key(kind)) return out.ledger().add(Fault::key, kind);
    constexpr std::string_view kTotal = "total=";
    for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
        if (!word.starts_with(kTotal)) continue;
        out.add_word(join(prefix, kind) + ".total_us", word.substr(kTotal.size()));
        return;
    }
    out.ledger().add(Fault::layout, line);
}

// "Active(anon):   1556 kB" or "HugePages_Total:  0".
void read_meminfo_line(std::string_view line, Collector& out) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return out.ledger().add(Fault::layout, line);
    const std::string_view key = line.substr(0, colon);
    std::string_view rest = line.substr(colon + 1);
    const std::string_view number = take_word(rest);
    const std::string_view unit = take_word(rest);
    if (number.empty() || !(unit.empty() || unit == "kB") || !is_blank(rest)) {
        return out.ledger().add(Fault::layout, line);
    }
    if (!valid_key(key)) return out.ledger().add(Fault::key, key);
    std::string name = "meminfo.";
    for (const char c : key) {
        if (c == '(') name.push_back('_');
        if (c != '(' && c != ')') name.push_back(c);
    }
    const std::optional<double> value = read_number(number, out.ledger());
    if (!value) return;
    const double scaled = unit.empty() ? *value : *value * 1024;
    if (scaled > kMaxNumber) return out.ledger().add(Fault::overflow, line);
    out.add(std::move(name), scaled);
}

// The columns of /proc/stat's first line have no heading; their order is the kernel's interface
// (proc_stat(5)) and new ones are only ever appended.
constexpr std::string_view kCpuColumns[] = {"user", "nice",    "system", "idle",  "iowait",
                                            "irq",  "softirq", "steal",  "guest", "guest_nice"};

void read_cpu_line(std::string_view rest, Collector& out) {
    for (const std::string_view column : kCpuColumns) {
        const std::string_view word = take_word(rest);
        if (word.empty()) return;  // older kernels have fewer columns
        out.add_word(join("stat.cpu.", column) + "_ticks", word);
    }
    if (!is_blank(rest)) out.ledger().add(Fault::layout, rest);
}

bool is_single_cpu(std::string_view key) {
    return key.size() > 3 && key.starts_with("cpu") &&
           std::all_of(key.begin() + 3, key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void read_stat_line(std::string_view line, Collector& out) {
    std::string_view rest = line;
    const std::string_view key = take_word(rest);
    if (key == "cpu") return read_cpu_line(rest, out);
    if (is_single_cpu(key)) return;
    if (key == "intr" || key == "softirq") {
        // The total, then one number for each source.
        out.add_word(join("stat.", key), take_word(rest));
        return;
    }
    out.add_pair("stat.", line);
}

void read_mthp_line(std::string_view line, Collector& out) {
    constexpr std::string_view kFolder = "hugepages-";
    std::string_view rest = line;
    const std::string_view folder = take_word(rest);
    if (!folder.starts_with(kFolder)) return out.ledger().add(Fault::layout, line);
    const std::string_view size = folder.substr(kFolder.size());
    if (!valid_key(size)) return out.ledger().add(Fault::key, folder);
    out.add_pair(join("mthp.", size) + ".", rest);
}

}  // namespace

Parsed parse_pairs(std::string_view source, std::string_view prefix, std::string_view text) {
    Collector out(source);
    if (text.empty()) out.ledger().add(Fault::empty);
    for_each_line(text, out.ledger(), [&](std::string_view line) { out.add_pair(prefix, line); });
    return out.take();
}

Parsed parse_vmstat(std::string_view text) {
    return parse_pairs("vmstat", "vmstat.", text);
}

Parsed parse_memory_stat(std::string_view who, std::string_view text) {
    const std::string prefix = join("memcg.", who) + ".";
    Collector out(join("memcg.", who));
    if (text.empty()) out.ledger().add(Fault::empty);
    for_each_line(text, out.ledger(), [&](std::string_view line) {
        // cgroup v1's way to say that there is no limit, 2^63 less a page or so: as with "max",
        // there is no number then.
        const bool limit = line.starts_with("hierarchical_");
        if (limit && line.find(" 92233720368547") != std::string_view::npos) return;
        out.add_pair(prefix, line);
    });
    return out.take();
}

Parsed parse_cpu_stat(std::string_view who, std::string_view text) {
    const std::string prefix = join("cpu.", who) + ".";
    return parse_pairs(join("cpu.", who), prefix, text);
}

Parsed parse_psi(std::string_view who, std::string_view resource, std::string_view text) {
    std::string source = join("psi.", who) + ".";
    source.append(resource);
    Collector out(source);
    if (text.empty()) out.ledger().add(Fault::empty);
    const std::string prefix = source + ".";
    for_each_line(text, out.ledger(),
                  [&](std::string_view line) { read_psi_line(prefix, line, out); });
    return out.take();
}

Parsed parse_number_file(std::string_view name, std::string_view text) {
    Collector out(name);
    if (text.empty()) out.ledger().add(Fault::empty);
    for_each_line(text, out.ledger(), [&](std::string_view line) {
        std::string_view rest = line;
        const std::string_view word = take_word(rest);
        if (!is_blank(rest)) return out.ledger().add(Fault::layout, line);
        if (word != "max") out.add_word(std::string(name), word);
    });
    return out.take();
}

Parsed parse_meminfo(std::string_view text) {
    Collector out("meminfo");
    if (text.empty()) out.ledger().add(Fault::empty);
    for_each_line(text, out.ledger(), [&](std::string_view line) { read_meminfo_line(line, out); });
    return out.take();
}

Parsed parse_stat(std::string_view text) {
    Collector out("stat");
    if (text.empty()) out.ledger().add(Fault::empty);
    for_each_line(text, out.ledger(), [&](std::string_view line) { read_stat_line(line, out); });
    return out.take();
}

Parsed parse_mthp_stats(std::string_view text) {
    Collector out("mthp");
    for_each_line(text, out.ledger(), [&](std::string_view line) { read_mthp_line(line, out); });
    return out.take();
}

}  // namespace mano::procfs
