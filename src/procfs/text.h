// SPDX-License-Identifier: GPL-2.0-or-later
// What all parsers of this folder share: walking over lines and words, numbers, and the collector
// that keeps names unique and counts every fault. Internal to procfs; must not know any file's
// layout.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "procfs/procfs.h"

namespace mano::procfs {

// Everything that can be wrong with a text. Each kind becomes at most one Loss.
enum class Fault : std::uint8_t {
    layout,       // a line that fits no known form
    key,          // a key with characters or a length that no metric name has
    number,       // not a number
    negative,     //
    overflow,     // above 2^53
    duplicate,    // a name for the second time
    cut,          // the text ends inside a line
    long_line,    //
    too_long,     // bytes beyond kMaxTextBytes
    too_many,     // values beyond kMaxValues
    lower_bound,  // the kernel stopped counting
    empty,        // nothing at all
};
constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::empty) + 1;

// Fault → Loss with its count and its first example.
class Ledger {
  public:
    explicit Ledger(std::string_view source) : source_(source) {}
    void add(Fault fault, std::string_view example = {}, std::uint64_t count = 1);
    std::uint64_t count(Fault fault) const { return entries_[index(fault)].count; }
    std::vector<measure::Loss> losses() const;

  private:
    static std::size_t index(Fault fault) { return static_cast<std::size_t>(fault); }
    struct Entry {
        std::uint64_t count = 0;
        std::string example;
    };
    std::string source_;
    std::array<Entry, kFaults> entries_;
};

// A whole number from 0 to 2^53; anything else goes into the ledger under its kind.
std::optional<double> read_number(std::string_view word, Ledger& ledger);

bool valid_key(std::string_view key);

// Takes the first word (run of non-blanks) off the front of `rest`; empty when there is none.
std::string_view take_word(std::string_view& rest);
bool is_blank(std::string_view text);

// Calls `each(line)` for every whole, non-blank line, without its newline. Faults of the text as a
// whole go into the ledger.
template <typename Each>
void for_each_line(std::string_view text, Ledger& ledger, Each&& each) {
    if (text.size() > kMaxTextBytes) {
        ledger.add(Fault::too_long, {}, text.size() - kMaxTextBytes);
        text = text.substr(0, kMaxTextBytes);
    }
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            ledger.add(Fault::cut, text);
            return;
        }
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (line.size() > kMaxLineBytes) {
            ledger.add(Fault::long_line, line);
        } else if (!is_blank(line)) {
            each(line);
        }
    }
}

// Collects values under unique names.
class Collector {
  public:
    explicit Collector(std::string_view source) : ledger_(source) {}
    Ledger& ledger() { return ledger_; }
    // `name` is complete; the caller has checked its parts with valid_key().
    void add(std::string name, double value);
    // `word` is read as a number; a fault is counted and nothing is added. True when it was a
    // number.
    bool add_word(std::string name, std::string_view word);
    // "key number" with nothing behind it → prefix + key.
    void add_pair(std::string_view prefix, std::string_view line);
    Parsed take();

  private:
    Ledger ledger_;
    std::unordered_set<std::string> seen_;
    std::vector<Value> values_;
};

// Where a line of buddyinfo, pagetypeinfo or zoneinfo belongs: "Node 0, zone   DMA" and the rest.
struct ZoneLine {
    std::string place;      // "node0.DMA"
    std::string node;       // "node0"
    std::string_view rest;  // what follows the zone's name (", type …" or numbers)
};
std::optional<ZoneLine> split_zone_line(std::string_view line);

}  // namespace mano::procfs
