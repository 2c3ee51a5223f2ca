// SPDX-License-Identifier: GPL-2.0-or-later
// Lines of /proc/kallsyms → names of kernel addresses. Pure; the text is hostile and bounded.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mano::trace {

class Symbols {
  public:
    Symbols() = default;
    // Lines that aren't "address type name[\t[module]]", and symbols that are no text, are skipped.
    static Symbols read(std::string_view kallsyms);
    // The function that an address lies in, or "0xffffffff81000000" where none is known.
    std::string name_of(std::uint64_t address) const;
    bool empty() const { return entries_.empty(); }

  private:
    struct Entry {
        std::uint64_t address = 0;
        std::string name;
    };
    std::vector<Entry> entries_;  // ascending, one an address
};

// The lines of those symbols that any of `addresses` lies in.
std::string kept_symbols(std::string_view kallsyms, const std::set<std::uint64_t>& addresses);

}  // namespace mano::trace
