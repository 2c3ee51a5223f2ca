// SPDX-License-Identifier: GPL-2.0-or-later
// The files that go by node and zone.
#include <algorithm>
#include <map>

#include "procfs/text.h"

namespace mano::procfs {
namespace {

// More orders than any kernel has (MAX_PAGE_ORDER is below 20 everywhere); a longer line is forged.
constexpr std::size_t kMaxOrders = 64;

std::vector<std::string_view> words_of(std::string_view text, std::size_t limit) {
    std::vector<std::string_view> words;
    for (std::string_view word = take_word(text); !word.empty() && words.size() < limit;
         word = take_word(text)) {
        words.push_back(word);
    }
    return words;
}

// ---- buddyinfo ----

// False when a number of the line was unreadable.
bool read_buddy_line(std::string_view line, Collector& out, std::map<std::size_t, double>& totals) {
    const std::optional<ZoneLine> zone = split_zone_line(line);
    if (!zone || is_blank(zone->rest)) {
        out.ledger().add(Fault::layout, line);
        return false;
    }
    const auto words = words_of(zone->rest, kMaxOrders + 1);
    if (words.size() > kMaxOrders) {
        out.ledger().add(Fault::layout, line);
        return false;
    }
    bool whole = true;
    for (std::size_t order = 0; order < words.size(); ++order) {
        const std::optional<double> blocks = read_number(words[order], out.ledger());
        if (!blocks) {
            whole = false;
            continue;
        }
        totals[order] += *blocks;
        out.add("buddy." + zone->place + ".order" + std::to_string(order), *blocks);
    }
    return whole;
}

// ---- pagetypeinfo ----

// A count, or ">100000" where the kernel gave up.
void add_capped(std::string name, std::string_view word, Collector& out) {
    if (!word.starts_with('>')) {
        out.add_word(std::move(name), word);
        return;
    }
    if (out.add_word(name, word.substr(1))) out.ledger().add(Fault::lower_bound, name);
}

class PageTypes {
  public:
    explicit PageTypes(Collector& out) : out_(out) {}

    void line(std::string_view line) {
        if (line.starts_with("Node")) {
            row(line);
        } else if (!header(line)) {
            setting(line);
        }
    }

  private:
    // The headings name the columns: orders above the counts of free pages, types above the blocks.
    bool header(std::string_view line) {
        constexpr std::string_view kFree = "Free pages count per migrate type at order";
        constexpr std::string_view kBlocks = "Number of blocks type";
        constexpr std::string_view kMixed = "Number of mixed blocks";
        if (line.starts_with(kFree)) {
            orders_ = words_of(line.substr(kFree.size()), kMaxOrders);
        } else if (line.starts_with(kBlocks)) {
            types_ = words_of(line.substr(kBlocks.size()), kMaxOrders);
            what_ = ".blocks";
        } else if (line.starts_with(kMixed)) {
            types_ = words_of(line.substr(kMixed.size()), kMaxOrders);
            what_ = ".mixed_blocks";
        } else {
            return false;
        }
        return true;
    }

    // "Pages per block:  512" → pagetype.pages_per_block
    void setting(std::string_view line) {
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return out_.ledger().add(Fault::layout, line);
        std::string key(line.substr(0, colon));
        std::transform(key.begin(), key.end(), key.begin(), [](char c) {
            if (c == ' ') return '_';
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        std::string_view rest = line.substr(colon + 1);
        const std::string_view number = take_word(rest);
        if (!valid_key(key)) return out_.ledger().add(Fault::key, key);
        if (!is_blank(rest)) return out_.ledger().add(Fault::layout, line);
        out_.add_word("pagetype." + key, number);
    }

    void row(std::string_view line) {
        const std::optional<ZoneLine> zone = split_zone_line(line);
        if (!zone) return out_.ledger().add(Fault::layout, line);
        std::string_view rest = zone->rest;
        if (!rest.starts_with(',')) {
            return cells(line, "pagetype." + zone->place + ".", what_, types_, rest);
        }
        rest.remove_prefix(1);
        if (take_word(rest) != "type") return out_.ledger().add(Fault::layout, line);
        const std::string_view type = take_word(rest);
        if (!valid_key(type)) return out_.ledger().add(Fault::key, type);
        std::string prefix = "pagetype." + zone->place + ".";
        prefix.append(type).append(".order");
        cells(line, prefix, "", orders_, rest);
    }

    // One number under each column's name, neither more nor fewer.
    void cells(std::string_view line, const std::string& before, std::string_view after,
               const std::vector<std::string_view>& columns, std::string_view rest) {
        const auto words = words_of(rest, columns.size() + 1);
        if (columns.empty() || words.size() != columns.size()) {
            return out_.ledger().add(Fault::layout, line);
        }
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (!valid_key(columns[i])) {
                out_.ledger().add(Fault::key, columns[i]);
                continue;
            }
            add_capped(std::string(before).append(columns[i]).append(after), words[i], out_);
        }
    }

    Collector& out_;
    std::vector<std::string_view> orders_;
    std::vector<std::string_view> types_;
    std::string_view what_ = ".blocks";
};

// ---- zoneinfo ----

// Sections are told by their headings; within the per-CPU lists, by what is indented deeper than
// the line "cpu: N" that they belong to.
class ZoneInfo {
  public:
    explicit ZoneInfo(Collector& out) : out_(out) {}

    void line(std::string_view line) {
        if (line.starts_with("Node")) return start_zone(line);
        if (zone_.empty()) return out_.ledger().add(Fault::layout, line);
        std::string_view rest = line;
        const std::string_view word = take_word(rest);
        const auto indent = static_cast<std::size_t>(word.data() - line.data());
        if (word == "per-node" || (word == "pagesets" && is_blank(rest))) {
            prefix_ = word == "per-node" ? node_ : zone_;
            cpu_.clear();
        } else if (word == "cpu:") {
            start_cpu(line, rest, indent);
        } else if (word == "pages") {
            // "pages free 3840": the first line of the zone's own numbers.
            prefix_ = zone_;
            cpu_.clear();
            out_.add_pair(prefix_, rest);
        } else if (word == "protection:") {
            protection(line, rest);
        } else {
            key_and_number(line, indent);
        }
    }

  private:
    void start_zone(std::string_view line) {
        const std::optional<ZoneLine> zone = split_zone_line(line);
        zone_.clear();
        cpu_.clear();
        if (!zone || !is_blank(zone->rest)) return out_.ledger().add(Fault::layout, line);
        node_ = "zoneinfo." + zone->node + ".";
        zone_ = "zoneinfo." + zone->place + ".";
        prefix_ = zone_;
    }

    void start_cpu(std::string_view line, std::string_view rest, std::size_t indent) {
        const std::string_view number = take_word(rest);
        cpu_.clear();
        if (!read_number(number, out_.ledger())) return;
        if (!is_blank(rest) || number.size() > 6) return out_.ledger().add(Fault::layout, line);
        cpu_ = zone_ + "cpu" + std::string(number) + ".";
        cpu_indent_ = indent;
    }

    // "protection: (0, 3019, 5451)": the pages kept back from allocations that could use zone I.
    void protection(std::string_view line, std::string_view rest) {
        std::string numbers(rest);
        for (char& c : numbers) {
            if (c == '(' || c == ')' || c == ',') c = ' ';
        }
        const auto words = words_of(numbers, kMaxOrders);
        if (words.empty()) return out_.ledger().add(Fault::layout, line);
        for (std::size_t i = 0; i < words.size(); ++i) {
            out_.add_word(zone_ + "protection." + std::to_string(i), words[i]);
        }
    }

    // "nr_mapped 2767", "count:  0", "vm stats threshold: 4", "start_pfn:  1".
    void key_and_number(std::string_view line, std::size_t indent) {
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return out_.add_pair(prefix_, line);
        std::string key(line.substr(indent, colon - indent));
        std::replace(key.begin(), key.end(), ' ', '_');
        std::string_view rest = line.substr(colon + 1);
        const std::string_view number = take_word(rest);
        if (number.empty() || !is_blank(rest)) return out_.ledger().add(Fault::layout, line);
        if (!valid_key(key)) return out_.ledger().add(Fault::key, key);
        // The kernel prints this one of a CPU at the left.
        const bool of_cpu = !cpu_.empty() && (indent > cpu_indent_ || key == "vm_stats_threshold");
        out_.add_word((of_cpu ? cpu_ : prefix_) + key, number);
    }

    Collector& out_;
    std::string node_;    // "zoneinfo.node0."
    std::string zone_;    // "zoneinfo.node0.DMA."; empty before the first and after a broken one
    std::string prefix_;  // the one of the two that the section belongs to
    std::string cpu_;     // "zoneinfo.node0.DMA.cpu0."; empty outside of a CPU's list
    std::size_t cpu_indent_ = 0;
};

}  // namespace

Parsed parse_buddyinfo(std::string_view text) {
    Collector out("buddyinfo");
    if (text.empty()) out.ledger().add(Fault::empty);
    std::map<std::size_t, double> totals;
    bool whole = true;
    for_each_line(text, out.ledger(), [&](std::string_view line) {
        whole = read_buddy_line(line, out, totals) && whole;
    });
    const Ledger& ledger = out.ledger();
    for (const Fault fault : {Fault::cut, Fault::long_line, Fault::too_long, Fault::duplicate}) {
        whole = whole && ledger.count(fault) == 0;
    }
    if (!whole) return out.take();
    for (const auto& [order, blocks] : totals) {
        const std::string name = "buddy.total.order" + std::to_string(order);
        if (blocks > kMaxNumber) {
            out.ledger().add(Fault::overflow, name);
        } else {
            out.add(name, blocks);
        }
    }
    return out.take();
}

Parsed parse_pagetypeinfo(std::string_view text) {
    Collector out("pagetypeinfo");
    if (text.empty()) out.ledger().add(Fault::empty);
    PageTypes reader(out);
    for_each_line(text, out.ledger(), [&](std::string_view line) { reader.line(line); });
    return out.take();
}

Parsed parse_zoneinfo(std::string_view text) {
    Collector out("zoneinfo");
    if (text.empty()) out.ledger().add(Fault::empty);
    ZoneInfo reader(out);
    for_each_line(text, out.ledger(), [&](std::string_view line) { reader.line(line); });
    return out.take();
}

}  // namespace mano::procfs
