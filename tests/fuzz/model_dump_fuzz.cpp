// SPDX-License-Identifier: GPL-2.0-or-later
// Hostile dumps of zoneinfo, buddyinfo and pagetypeinfo (one text, cut at the byte 0x1e): refused
// with a reason, or a machine that keeps its invariants.
#include <cstdlib>

#include "substrate/model/dump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mano::substrate::model;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t first = std::min(text.find('\x1e'), text.size());
    const std::size_t second = std::min(text.find('\x1e', first + 1), text.size());
    DumpTexts texts;
    texts.zoneinfo = text.substr(0, first);
    if (first < text.size()) texts.buddyinfo = text.substr(first + 1, second - first - 1);
    if (second < text.size()) texts.pagetypeinfo = text.substr(second + 1);
    const auto dump = read_dump(texts);
    if (!dump) {
        if (dump.error().text().empty()) std::abort();
        return 0;
    }
    // Large ones take long, and say nothing more.
    constexpr std::uint64_t kMostPages = 1 << 16;
    if (dump->managed > kMostPages || dump->shape.cpus() > 64) return 0;
    mano::model::Memory memory(dump->shape, *mano::model::find_variant("7.3"), 1);
    mano::Rng rng(1);
    for (std::size_t zone = 0; zone < dump->zones.size(); ++zone)
        mano::model::arrange(memory, zone, dump->zones[zone], rng);
    if (!memory.validate().empty()) std::abort();
    return 0;
}
