// SPDX-License-Identifier: GPL-2.0-or-later
// /proc/swaps: a table with a heading.
#include <map>

#include "procfs/text.h"

namespace mano::procfs {
namespace {

constexpr std::size_t kMaxColumns = 16;
constexpr std::size_t kMaxSwaps = 256;  // kernels stop below 32

using Row = std::vector<std::string_view>;

Row row_of(std::string_view line) {
    Row row;
    for (std::string_view word = take_word(line); !word.empty() && row.size() < kMaxColumns;
         word = take_word(line)) {
        row.push_back(word);
    }
    return row;
}

// The kernel counts in KiB here.
std::optional<std::uint64_t> read_kib(std::string_view word, Ledger& ledger) {
    const std::optional<double> number = read_number(word, ledger);
    if (!number) return std::nullopt;
    if (*number * 1024 > kMaxNumber) {
        ledger.add(Fault::overflow, word);
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(*number) * 1024;
}

}  // namespace

Swaps parse_swaps(std::string_view text) {
    Swaps out;
    Ledger ledger("swaps");
    std::map<std::string_view, std::size_t> column;
    for_each_line(text, ledger, [&](std::string_view line) {
        const Row row = row_of(line);
        if (column.empty()) {
            for (std::size_t i = 0; i < row.size(); ++i)
                column.emplace(row[i], i);
            return;
        }
        const auto cell = [&](std::string_view name) -> std::string_view {
            const auto found = column.find(name);
            return found == column.end() || found->second >= row.size() ? std::string_view{}
                                                                        : row[found->second];
        };
        const std::string_view path = cell("Filename");
        const std::string_view type = cell("Type");
        if (path.empty() || type.empty() || row.size() != column.size()) {
            return ledger.add(Fault::layout, line);
        }
        const auto size = read_kib(cell("Size"), ledger);
        const auto used = read_kib(cell("Used"), ledger);
        if (!size || !used) return;
        if (out.swaps.size() == kMaxSwaps) return ledger.add(Fault::too_many, line);
        out.swaps.push_back({std::string(path), std::string(type), *size, *used});
    });
    out.losses = ledger.losses();
    return out;
}

}  // namespace mano::procfs
