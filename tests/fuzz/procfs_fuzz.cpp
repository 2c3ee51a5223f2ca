// SPDX-License-Identifier: GPL-2.0-or-later
// Texts of a hostile guest into every parser of procfs: nothing may crash, and what comes out keeps
// the promises of procfs.h. The first byte picks the parser.
#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include "procfs/procfs.h"

namespace {

void require(bool promise) {
    if (!promise) std::abort();
}

void check(const mano::procfs::Parsed& parsed, std::string_view text) {
    std::unordered_set<std::string_view> names;
    for (const auto& value : parsed.values) {
        require(names.insert(value.name).second);
        require(value.value >= 0 && value.value <= mano::procfs::kMaxNumber);
        require(std::floor(value.value) == value.value);
        for (const char c : value.name)
            require(c > ' ' && c <= '~');
    }
    for (const auto& loss : parsed.losses) {
        require(loss.count > 0 && !loss.meaning.empty() && !loss.source.empty());
        require(loss.meaning.size() < 256);
    }
    // Nothing is dropped in silence: a text with a word in it yields a value or a Loss, unless all
    // of it is layout or of the kinds that procfs.h says are left unread.
    require(parsed.values.size() <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mano::procfs;
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 10) {
        case 0:
            check(parse_vmstat(text), text);
            break;
        case 1:
            check(parse_psi("probe", "memory", text), text);
            break;
        case 2:
            check(parse_memory_stat("probe", text), text);
            break;
        case 3:
            check(parse_meminfo(text), text);
            break;
        case 4:
            check(parse_buddyinfo(text), text);
            break;
        case 5:
            check(parse_pagetypeinfo(text), text);
            break;
        case 6:
            check(parse_zoneinfo(text), text);
            break;
        case 7:
            check(parse_stat(text), text);
            break;
        case 8:
            check(parse_mthp_stats(text), text);
            break;
        default:
            for (const auto& swap : parse_swaps(text).swaps) {
                require(!swap.path.empty() && !swap.type.empty());
            }
    }
    return 0;
}
