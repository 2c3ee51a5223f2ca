// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/meminfo.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/units.h"

namespace mano {

std::optional<std::uint64_t> meminfo_bytes(std::string_view key) {
    const auto meminfo = read_file("/proc/meminfo", 1 << 16);
    if (!meminfo) return std::nullopt;
    std::string_view rest = *meminfo;
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) continue;
        line.remove_prefix(key.size() + 1);
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        std::uint64_t kib = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), kib);
        if (error != std::errc()) return std::nullopt;
        return kib * kKiB;
    }
    return std::nullopt;
}

}  // namespace mano
