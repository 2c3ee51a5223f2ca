// SPDX-License-Identifier: GPL-2.0-or-later
#include "procfs/text.h"

#include <algorithm>
#include <charconv>

namespace mano::procfs {
namespace {

constexpr std::size_t kExampleBytes = 48;

std::string_view meaning_of(Fault fault) {
    switch (fault) {
        case Fault::layout:
            return "lines of a form that is not known";
        case Fault::key:
            return "keys that can't be metric names";
        case Fault::number:
            return "values that are not whole numbers";
        case Fault::negative:
            return "values below zero";
        case Fault::overflow:
            return "values above 2^53, which can't be kept exactly";
        case Fault::duplicate:
            return "names that had a value already; the first value is kept";
        case Fault::cut:
            return "text ends inside a line, which is not believed";
        case Fault::long_line:
            return "lines that are too long";
        case Fault::too_long:
            return "bytes beyond the limit of a text";
        case Fault::too_many:
            return "values beyond the limit of a text";
        case Fault::lower_bound:
            return "values at which the kernel stopped counting: lower bounds";
        case Fault::empty:
            return "text is empty";
    }
    return "";
}

bool blank(char c) {
    return c == ' ' || c == '\t';
}
bool digit(char c) {
    return c >= '0' && c <= '9';
}
bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A quotation for a message: printable ASCII, bounded. The text is a guest's.
std::string quote(std::string_view text) {
    while (!text.empty() && blank(text.front()))
        text.remove_prefix(1);
    std::string out;
    for (const char c : text.substr(0, kExampleBytes)) {
        out.push_back(c >= ' ' && c <= '~' ? c : '?');
    }
    if (text.size() > kExampleBytes) out += "...";
    return out;
}

}  // namespace

void Ledger::add(Fault fault, std::string_view example, std::uint64_t count) {
    Entry& entry = entries_[index(fault)];
    if (entry.count == 0) entry.example = quote(example);
    entry.count += count;
}

std::vector<measure::Loss> Ledger::losses() const {
    std::vector<measure::Loss> out;
    for (std::size_t i = 0; i < kFaults; ++i) {
        const Entry& entry = entries_[i];
        if (entry.count == 0) continue;
        std::string meaning(meaning_of(static_cast<Fault>(i)));
        if (!entry.example.empty()) meaning += ", first: \"" + entry.example + "\"";
        out.push_back({source_, entry.count, std::move(meaning)});
    }
    return out;
}

std::optional<double> read_number(std::string_view word, Ledger& ledger) {
    std::string_view digits = word;
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(), digit)) {
        ledger.add(Fault::number, word);
        return std::nullopt;
    }
    if (negative) {
        ledger.add(Fault::negative, word);
        return std::nullopt;
    }
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || number > static_cast<std::uint64_t>(kMaxNumber)) {
        ledger.add(Fault::overflow, word);
        return std::nullopt;
    }
    return static_cast<double>(number);
}

bool valid_key(std::string_view key) {
    return !key.empty() && key.size() <= kMaxKeyBytes &&
           std::all_of(key.begin(), key.end(), [](char c) {
               return letter(c) || digit(c) ||
                      std::string_view("_.()-").find(c) != std::string::npos;
           });
}

std::string_view take_word(std::string_view& rest) {
    while (!rest.empty() && blank(rest.front()))
        rest.remove_prefix(1);
    std::size_t length = 0;
    while (length < rest.size() && !blank(rest[length]))
        ++length;
    const std::string_view word = rest.substr(0, length);
    rest.remove_prefix(length);
    return word;
}

bool is_blank(std::string_view text) {
    return std::all_of(text.begin(), text.end(), blank);
}

void Collector::add(std::string name, double value) {
    if (values_.size() >= kMaxValues) {
        ledger_.add(Fault::too_many, name);
        return;
    }
    if (!seen_.insert(name).second) {
        ledger_.add(Fault::duplicate, name);
        return;
    }
    values_.push_back({std::move(name), value});
}

bool Collector::add_word(std::string name, std::string_view word) {
    const std::optional<double> number = read_number(word, ledger_);
    if (number) add(std::move(name), *number);
    return number.has_value();
}

void Collector::add_pair(std::string_view prefix, std::string_view line) {
    std::string_view rest = line;
    const std::string_view key = take_word(rest);
    const std::string_view number = take_word(rest);
    if (number.empty() || !is_blank(rest)) {
        ledger_.add(Fault::layout, line);
    } else if (!valid_key(key)) {
        ledger_.add(Fault::key, key);
    } else {
        add_word(std::string(prefix).append(key), number);
    }
}

Parsed Collector::take() {
    return {std::move(values_), ledger_.losses()};
}

std::optional<ZoneLine> split_zone_line(std::string_view line) {
    std::string_view rest = line;
    if (take_word(rest) != "Node") return std::nullopt;
    std::string_view number = take_word(rest);
    if (!number.ends_with(',')) return std::nullopt;
    number.remove_suffix(1);
    if (number.empty() || number.size() > 6 || !std::all_of(number.begin(), number.end(), digit) ||
        take_word(rest) != "zone") {
        return std::nullopt;
    }
    const std::string_view word = take_word(rest);
    std::string_view zone = word;
    if (zone.ends_with(',')) {
        zone.remove_suffix(1);
        rest = std::string_view(zone.data() + zone.size(), rest.size() + 1);
    }
    if (!valid_key(zone)) return std::nullopt;
    std::string node = "node";
    node.append(number);
    std::string place = node + ".";
    place.append(zone);
    return ZoneLine{std::move(place), std::move(node), rest};
}

}  // namespace mano::procfs
