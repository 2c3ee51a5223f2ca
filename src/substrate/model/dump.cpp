// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/model/dump.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/file.h"
#include "procfs/procfs.h"

namespace mano::substrate::model {
namespace {

namespace pm = mano::model;

constexpr std::array kZoneNames{"DMA", "DMA32", "Normal", "Movable"};
constexpr std::array kTypeNames{"Unmovable", "Movable", "Reclaimable"};
constexpr unsigned kMostNodes = 64;
constexpr unsigned kMostCpus = 4096;
constexpr std::size_t kMostBytes = std::size_t{8} << 20;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 30;  // 4 TiB

using Values = std::map<std::string, std::uint64_t, std::less<>>;

// Where in the text the parser's example of a fault stands: "line 3, column 8".
std::string place_of(std::string_view text, std::string_view meaning) {
    const std::size_t open = meaning.find('"');
    const std::size_t close = meaning.rfind('"');
    if (open == std::string_view::npos || close <= open + 1) return "the text";
    std::string_view quoted = meaning.substr(open + 1, close - open - 1);
    // A long example is cut.
    if (quoted.ends_with("...")) quoted.remove_suffix(3);
    const std::size_t at = quoted.empty() ? std::string_view::npos : text.find(quoted);
    if (at == std::string_view::npos) return "the text";
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    const std::size_t start = text.rfind('\n', at);
    const std::size_t column = start == std::string_view::npos ? at + 1 : at - start;
    return fmt::format("line {}, column {}", line, column);
}

Result<Values> values_of(std::string_view file, const std::string& text,
                         procfs::Parsed (*parse)(std::string_view),
                         std::vector<std::string>& remarks) {
    if (text.size() > kMostBytes)
        return fail(Code::invalid, "{} has {} bytes, expected at most {}", file, text.size(),
                    kMostBytes);
    procfs::Parsed parsed = parse(text);
    for (const measure::Loss& loss : parsed.losses) {
        // Where the kernel stops counting there are more free blocks than it says.
        if (loss.meaning.find("lower bounds") != std::string::npos) {
            remarks.push_back(fmt::format("{}: {}", file, loss.meaning));
            continue;
        }
        return fail(Code::invalid, "{}, {}: {} ({} such)", file, place_of(text, loss.meaning),
                    loss.meaning, loss.count);
    }
    Values values;
    for (const procfs::Value& value : parsed.values)
        values[value.name] = static_cast<std::uint64_t>(value.value);
    return values;
}

std::uint64_t at(const Values& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? 0 : found->second;
}

class Reader {
  public:
    explicit Reader(const DumpTexts& texts) : texts_(texts) {}

    Result<Dump> whole() {
        MANO_ASSIGN(zoneinfo_,
                    values_of("zoneinfo", texts_.zoneinfo, procfs::parse_zoneinfo, dump_.remarks));
        MANO_ASSIGN(buddyinfo_, values_of("buddyinfo", texts_.buddyinfo, procfs::parse_buddyinfo,
                                          dump_.remarks));
        MANO_ASSIGN(types_, values_of("pagetypeinfo", texts_.pagetypeinfo,
                                      procfs::parse_pagetypeinfo, dump_.remarks));
        MANO_TRY(check_block_order());
        MANO_TRY(read_nodes());
        return std::move(dump_);
    }

  private:
    Status check_block_order() const {
        const std::uint64_t order = at(types_, "pagetype.page_block_order");
        if (order == pm::kPageblockOrder) return {};
        return fail(Code::invalid,
                    "pagetypeinfo: page block order {}: the model has {}, as x86 with huge pages",
                    order, pm::kPageblockOrder);
    }

    static std::string key(unsigned node, unsigned zone) {
        return fmt::format("node{}.{}.", node, kZoneNames[zone]);
    }

    Status read_nodes() {
        std::uint64_t min = 0;
        const unsigned cpus = count_cpus();
        if (cpus == 0) return fail(Code::invalid, "zoneinfo: it has no CPU's lists (pagesets)");
        for (unsigned node = 0; node < kMostNodes; ++node) {
            pm::NodeShape shape;
            bool there = false;
            for (unsigned zone = 0; zone < pm::kZoneKinds; ++zone) {
                const std::uint64_t managed =
                    at(zoneinfo_, "zoneinfo." + key(node, zone) + "managed");
                if (managed == 0) continue;
                there = true;
                shape.managed[zone] = managed;
                dump_.managed += managed;
                if (managed > kMostPages || dump_.managed > kMostPages)
                    return fail(Code::invalid,
                                "zoneinfo: node {}, zone {}: {} pages are more than "
                                "4 TiB",
                                node, kZoneNames[zone], managed);
                min += at(zoneinfo_, "zoneinfo." + key(node, zone) + "min");
                MANO_ASSIGN(pm::ZoneState state, read_zone(node, zone, managed));
                dump_.zones.push_back(state);
            }
            if (there) dump_.shape.nodes.push_back(shape);
        }
        if (dump_.shape.nodes.empty())
            return fail(Code::invalid,
                        "zoneinfo: no node 0 to {} has a zone DMA, DMA32, Normal or "
                        "Movable with managed pages",
                        kMostNodes - 1);
        spread(cpus);
        dump_.shape.boot.min_free_kbytes = min * (pm::kPageBytes / 1024);
        return {};
    }

    unsigned count_cpus() const {
        unsigned cpus = 0;
        for (unsigned zone = 0; zone < pm::kZoneKinds; ++zone) {
            while (cpus < kMostCpus &&
                   zoneinfo_.contains(fmt::format("zoneinfo.{}cpu{}.count", key(0, zone), cpus)))
                ++cpus;
        }
        return cpus;
    }

    // zoneinfo doesn't say which CPU is whose.
    void spread(unsigned cpus) {
        const auto nodes = static_cast<unsigned>(dump_.shape.nodes.size());
        for (unsigned node = 0; node < nodes; ++node)
            dump_.shape.nodes[node].cpus = cpus / nodes + (node < cpus % nodes ? 1 : 0);
        if (nodes > 1)
            dump_.remarks.push_back(
                "zoneinfo doesn't say which CPU is of which node: they are "
                "spread evenly, in their order");
    }

    Result<pm::ZoneState> read_zone(unsigned node, unsigned zone, std::uint64_t managed) {
        pm::ZoneState state;
        const std::string place = key(node, zone);
        std::uint64_t free = 0;
        for (unsigned order = 0; order < pm::kOrders; ++order) {
            std::uint64_t typed = 0;
            for (unsigned type = 0; type < pm::kPcpTypes; ++type) {
                const std::uint64_t blocks = at(
                    types_, fmt::format("pagetype.{}{}.order{}", place, kTypeNames[type], order));
                if (blocks > managed >> order) return too_many(node, zone, order, blocks);
                state.free[order][type] = blocks;
                typed += blocks;
            }
            // What buddyinfo has more is of a type that the model hasn't: it counts as movable.
            const std::uint64_t all = at(buddyinfo_, fmt::format("buddy.{}order{}", place, order));
            if (all > managed >> order) return too_many(node, zone, order, all);
            if (all > typed) state.free[order][pm::kMovable] += all - typed;
            free += std::max(all, typed) << order;
        }
        if (free > managed)
            return fail(Code::invalid,
                        "buddyinfo: node {}, zone {}: {} free pages, but zoneinfo "
                        "says {} managed: are the files of one machine and time?",
                        node, kZoneNames[zone], free, managed);
        for (unsigned type = 0; type < pm::kPcpTypes; ++type)
            state.blocks[type] =
                at(types_, fmt::format("pagetype.{}{}.blocks", place, kTypeNames[type]));
        const auto lru = [&](const char* list, const char* what) {
            return std::min(
                managed, at(zoneinfo_, fmt::format("zoneinfo.{}nr_zone_{}_{}", place, list, what)));
        };
        state.inactive = lru("inactive", "anon") + lru("inactive", "file");
        state.active = lru("active", "anon") + lru("active", "file");
        return state;
    }

    static tl::unexpected<Error> too_many(unsigned node, unsigned zone, unsigned order,
                                          std::uint64_t blocks) {
        return fail(Code::invalid,
                    "node {}, zone {}: {} free blocks of order {} are more than the zone has pages",
                    node, kZoneNames[zone], blocks, order);
    }

    const DumpTexts& texts_;
    Values zoneinfo_, buddyinfo_, types_;
    Dump dump_;
};

}  // namespace

Result<Dump> read_dump(const DumpTexts& texts) {
    Reader reader(texts);
    return reader.whole();
}

Result<DumpTexts> read_dump_folder(const std::filesystem::path& folder) {
    DumpTexts texts;
    for (const auto& [name, text] :
         {std::pair{"zoneinfo", &texts.zoneinfo}, std::pair{"buddyinfo", &texts.buddyinfo},
          std::pair{"pagetypeinfo", &texts.pagetypeinfo}}) {
        auto read = read_file(folder / name);
        if (!read) {
            return fail(Code::invalid,
                        "{}; expected copies of /proc/zoneinfo, /proc/buddyinfo and "
                        "/proc/pagetypeinfo (which only root may read) in one folder",
                        read.error().text());
        }
        *text = std::move(*read);
    }
    return texts;
}

}  // namespace mano::substrate::model
