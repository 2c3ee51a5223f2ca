// SPDX-License-Identifier: GPL-2.0-or-later
// Every parser against texts recorded from real kernels: tests/fixtures/<release>/. A folder counts
// when it has a file vmstat; the other files are optional, except that zoneinfo and buddyinfo exist
// on every kernel. tools/fixtures records such a folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.h"
#include "measure/metric.h"
#include "procfs/procfs.h"

namespace mano::procfs {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> releases() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(fs::path(MANO_SOURCE_DIR) / "tests/fixtures")) {
        if (fs::exists(entry.path() / "vmstat")) out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

std::optional<std::string> text_of(const fs::path& path) {
    if (!fs::exists(path)) return std::nullopt;
    auto text = read_file(path);
    if (!text) {
        ADD_FAILURE() << text.error().text();
        return std::nullopt;
    }
    return *text;
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void expect_no_loss(const std::vector<measure::Loss>& losses) {
    for (const auto& loss : losses) {
        ADD_FAILURE() << loss.source << ": " << loss.count << " " << loss.meaning;
    }
}

std::map<std::string, double> as_map(const Parsed& parsed) {
    std::map<std::string, double> out;
    for (const Value& value : parsed.values)
        out[value.name] = value.value;
    return out;
}

class Fixtures : public ::testing::TestWithParam<fs::path> {
  protected:
    std::optional<std::string> text(std::string_view name) const {
        return text_of(GetParam() / name);
    }
};

TEST_P(Fixtures, VmstatIsReadToTheLastLine) {
    const auto vmstat = text("vmstat");
    ASSERT_TRUE(vmstat);
    const Parsed parsed = parse_vmstat(*vmstat);
    expect_no_loss(parsed.losses);
    EXPECT_EQ(parsed.values.size(), lines_of(*vmstat));
    const auto values = as_map(parsed);
    for (const char* key : {"vmstat.nr_free_pages", "vmstat.allocstall_normal",
                            "vmstat.pgscan_direct", "vmstat.compact_stall", "vmstat.pgfault"}) {
        EXPECT_TRUE(values.contains(key)) << key;
    }
}

TEST_P(Fixtures, MeminfoIsReadToTheLastLine) {
    const auto meminfo = text("meminfo");
    if (!meminfo) GTEST_SKIP() << "no meminfo recorded for " << GetParam();
    const Parsed parsed = parse_meminfo(*meminfo);
    expect_no_loss(parsed.losses);
    EXPECT_EQ(parsed.values.size(), lines_of(*meminfo));
    const auto values = as_map(parsed);
    EXPECT_LT(values.at("meminfo.MemFree"), values.at("meminfo.MemTotal"));
}

// Two files of one kernel describe the same zones: what one says the other must allow.
TEST_P(Fixtures, BuddyinfoAndZoneinfoAgree) {
    const auto buddy_text = text("buddyinfo");
    const auto zone_text = text("zoneinfo");
    ASSERT_TRUE(buddy_text && zone_text);
    const Parsed buddy = parse_buddyinfo(*buddy_text);
    const Parsed zones = parse_zoneinfo(*zone_text);
    expect_no_loss(buddy.losses);
    expect_no_loss(zones.losses);
    std::map<std::string, double> pages;  // "node0.DMA" → pages in free blocks
    for (const Value& value : buddy.values) {
        const std::size_t order = value.name.rfind(".order");
        ASSERT_NE(order, std::string::npos);
        const std::string place = value.name.substr(6, order - 6);
        pages[place] +=
            value.value * static_cast<double>(1ULL << std::stoul(value.name.substr(order + 6)));
    }
    const auto values = as_map(zones);
    double sum = 0;
    for (const auto& [place, free] : pages) {
        if (place == "total") continue;
        sum += free;
        // Read a moment apart, and some pages lie on per-CPU lists: only the size can be compared.
        ASSERT_TRUE(values.contains("zoneinfo." + place + ".managed")) << place;
        EXPECT_LE(free, values.at("zoneinfo." + place + ".present")) << place;
    }
    EXPECT_EQ(sum, pages.at("total"));
}

TEST_P(Fixtures, ZoneinfoHasItsPerCpuLists) {
    const auto zone_text = text("zoneinfo");
    ASSERT_TRUE(zone_text);
    const auto values = as_map(parse_zoneinfo(*zone_text));
    std::size_t lists = 0;
    for (const auto& [name, value] : values) {
        if (!name.ends_with(".count") || name.find(".cpu") == std::string::npos) continue;
        ++lists;
        const std::string list = name.substr(0, name.size() - 6);
        EXPECT_TRUE(values.contains(list + ".high")) << list;
        EXPECT_TRUE(values.contains(list + ".batch")) << list;
        EXPECT_TRUE(values.contains(list + ".vm_stats_threshold")) << list;
    }
    EXPECT_GT(lists, 0U);
    EXPECT_TRUE(values.contains("zoneinfo.node0.nr_slab_reclaimable"));
    EXPECT_TRUE(values.contains("zoneinfo.node0.DMA.min"));
    EXPECT_TRUE(values.contains("zoneinfo.node0.DMA.nr_free_pages"));
    // Every number of the text is there: a "key number" or "key: number" line gives one value, a
    // protection line several; headings and "cpu:" lines give none.
    std::size_t expected = 0;
    std::string_view rest = *zone_text;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const auto has = [&](std::string_view word) {
            return line.find(word) != std::string_view::npos;
        };
        if (has("protection:")) {
            expected += 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
        } else if (!has("zone ") && !has("per-node") && !has("pagesets") && !has("cpu:")) {
            ++expected;
        }
    }
    EXPECT_EQ(values.size(), expected);
}

TEST_P(Fixtures, PagetypeinfoAgreesWithItself) {
    const auto types = text("pagetypeinfo");
    if (!types) GTEST_SKIP() << "no pagetypeinfo recorded for " << GetParam();
    const Parsed parsed = parse_pagetypeinfo(*types);
    for (const auto& loss : parsed.losses)
        EXPECT_THAT(loss.meaning, ::testing::HasSubstr("lower"));
    const auto values = as_map(parsed);
    EXPECT_EQ(
        values.at("pagetype.pages_per_block"),
        static_cast<double>(1U << static_cast<unsigned>(values.at("pagetype.page_block_order"))));
    std::size_t blocks = 0;
    for (const auto& [name, value] : values)
        blocks += name.ends_with(".Movable.blocks") ? 1U : 0U;
    EXPECT_GT(blocks, 0U);
}

TEST_P(Fixtures, TheOthersAreReadWithoutLoss) {
    if (const auto stat = text("stat")) {
        const Parsed parsed = parse_stat(*stat);
        expect_no_loss(parsed.losses);
        EXPECT_TRUE(as_map(parsed).contains("stat.cpu.steal_ticks"));
        EXPECT_TRUE(as_map(parsed).contains("stat.ctxt"));
    }
    if (const auto stats = text("mthp")) {
        const Parsed parsed = parse_mthp_stats(*stats);
        expect_no_loss(parsed.losses);
        EXPECT_EQ(parsed.values.size(), lines_of(*stats));
    }
    if (const auto stat = text("memory.stat")) {
        const Parsed parsed = parse_memory_stat("probe", *stat);
        expect_no_loss(parsed.losses);
        EXPECT_EQ(parsed.values.size(), lines_of(*stat));
    }
    if (const auto swaps = text("swaps")) {
        const Swaps parsed = parse_swaps(*swaps);
        expect_no_loss(parsed.losses);
        EXPECT_EQ(parsed.swaps.size() + 1, lines_of(*swaps));
    }
    for (const std::string resource : {"memory", "io", "cpu"}) {
        if (const auto psi = text("pressure." + resource)) {
            const Parsed parsed = parse_psi("system", resource, *psi);
            expect_no_loss(parsed.losses);
            EXPECT_EQ(parsed.values.size(), lines_of(*psi));
        }
    }
}

// What has no entry in the catalogue has no unit and no direction: a parser's prefix and the
// catalogue's family must be the same word.
TEST_P(Fixtures, EveryNameIsInTheCatalogue) {
    std::vector<Parsed> all;
    const auto add = [&](std::string_view name, auto parse) {
        if (const auto content = text(name)) all.push_back(parse(*content));
    };
    add("vmstat", parse_vmstat);
    add("meminfo", parse_meminfo);
    add("buddyinfo", parse_buddyinfo);
    add("pagetypeinfo", parse_pagetypeinfo);
    add("zoneinfo", parse_zoneinfo);
    add("stat", parse_stat);
    add("mthp", parse_mthp_stats);
    add("memory.stat",
        [](std::string_view content) { return parse_memory_stat("probe", content); });
    for (const std::string resource : {"memory", "io", "cpu"}) {
        add("pressure." + resource,
            [&](std::string_view content) { return parse_psi("system", resource, content); });
    }
    for (const Parsed& parsed : all) {
        for (const Value& value : parsed.values) {
            EXPECT_TRUE(measure::find_metric(value.name)) << value.name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Releases, Fixtures, ::testing::ValuesIn(releases()), [](const auto& test) {
    std::string name = test.param.filename().string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

TEST(FixturesFolder, HasAtLeastOneRelease) {
    EXPECT_FALSE(releases().empty());
}

}  // namespace
}  // namespace mano::procfs
