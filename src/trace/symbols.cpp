// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mano::trace {
namespace {

constexpr std::size_t kMaxSymbols = 2'000'000;
constexpr std::size_t kMaxName = 200;

struct Line {
    std::uint64_t address = 0;
    std::string_view name;  // without the module
    std::string_view text;
};

bool parse_line(std::string_view text, Line& line) {
    line.text = text;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), line.address, 16);
    if (error != std::errc() || line.address == 0) return false;
    const auto at = static_cast<std::size_t>(end - text.data());
    if (text.size() < at + 4 || text[at] != ' ' || text[at + 2] != ' ') return false;
    const char type = text[at + 1];
    if (type != 't' && type != 'T' && type != 'w' && type != 'W') return false;
    line.name = text.substr(at + 3);
    line.name = line.name.substr(0, line.name.find_first_of(" \t"));
    return !line.name.empty() && line.name.size() <= kMaxName &&
           std::all_of(line.name.begin(), line.name.end(),
                       [](char c) { return c > ' ' && c <= '~'; });
}

template <typename Each>
void for_each_symbol(std::string_view text, Each each) {
    std::size_t count = 0;
    while (!text.empty() && count < kMaxSymbols) {
        const std::size_t end = text.find('\n');
        Line line;
        if (parse_line(text.substr(0, end), line)) {
            each(line);
            ++count;
        }
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

// Of several names at one address the one that people write: without leading "__pfx_" and dots.
bool is_better(std::string_view name, std::string_view than) {
    const auto odd = [](std::string_view text) {
        return text.starts_with("__pfx_") || text.starts_with(".") ||
               text.starts_with("__x64_sys_");
    };
    return !odd(name) && odd(than);
}

}  // namespace

Symbols Symbols::read(std::string_view kallsyms) {
    Symbols symbols;
    for_each_symbol(kallsyms, [&](const Line& line) {
        symbols.entries_.push_back({line.address, std::string(line.name)});
    });
    std::stable_sort(symbols.entries_.begin(), symbols.entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.address < b.address; });
    std::vector<Entry> one;
    for (Entry& entry : symbols.entries_) {
        if (one.empty() || one.back().address != entry.address) {
            one.push_back(std::move(entry));
        } else if (is_better(entry.name, one.back().name)) {
            one.back().name = std::move(entry.name);
        }
    }
    symbols.entries_ = std::move(one);
    return symbols;
}

std::string Symbols::name_of(std::uint64_t address) const {
    const auto after =
        std::upper_bound(entries_.begin(), entries_.end(), address,
                         [](std::uint64_t at, const Entry& entry) { return at < entry.address; });
    // Nothing in a kernel is a megabyte long: the address lies behind the last symbol kept.
    constexpr std::uint64_t kLongest = 1 << 20;
    if (after == entries_.begin() || address - std::prev(after)->address > kLongest)
        return fmt::format("{:#x}", address);
    return std::prev(after)->name;
}

std::string kept_symbols(std::string_view kallsyms, const std::set<std::uint64_t>& addresses) {
    std::vector<Line> lines;
    for_each_symbol(kallsyms, [&](const Line& line) { lines.push_back(line); });
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.address < b.address; });
    std::string kept;
    for (std::size_t i = 0; i < lines.size();) {
        std::size_t next = i + 1;
        while (next < lines.size() && lines[next].address == lines[i].address)
            ++next;
        // A return address behind a call that ends a function lies at the next one's start.
        const auto found = addresses.lower_bound(lines[i].address);
        const std::uint64_t end = next < lines.size() ? lines[next].address : ~std::uint64_t{0};
        const bool wanted = found != addresses.end() && *found <= end;
        for (; i < next; ++i) {
            if (wanted) kept += std::string(lines[i].text) + '\n';
        }
    }
    return kept;
}

}  // namespace mano::trace
