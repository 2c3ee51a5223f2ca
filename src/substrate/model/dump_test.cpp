// SPDX-License-Identifier: GPL-2.0-or-later
// Dumps of real machines and guests (tests/fixtures) become machines with the same free lists; what
// is broken in one is named by file, line and column.
#include "substrate/model/dump.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "procfs/procfs.h"

namespace mano::substrate::model {
namespace {

namespace pm = mano::model;

DumpTexts texts_of(const std::string& fixture) {
    auto texts =
        read_dump_folder(std::filesystem::path(MANO_SOURCE_DIR) / "tests" / "fixtures" / fixture);
    EXPECT_TRUE(texts) << (texts ? "" : texts.error().text());
    return texts ? std::move(*texts) : DumpTexts{};
}

TEST(Dump, OfRealKernelsBecomesAMachineWithTheirFreeLists) {
    for (const char* fixture :
         {"6.1.0-57-cloud-amd64", "6.12.118+deb13-cloud-amd64", "6.18.44-fc-v669",
          "7.1.13+deb13-cloud-amd64", "7.3.4+deb13-cloud-amd64", "7.3.4+deb13-rt-amd64"}) {
        SCOPED_TRACE(fixture);
        const DumpTexts texts = texts_of(fixture);
        const auto dump = read_dump(texts);
        ASSERT_TRUE(dump) << dump.error().text();
        EXPECT_EQ(dump->shape.cpus(), 2U);
        pm::Memory memory(dump->shape, *pm::find_variant("7.3"), 1);
        ASSERT_EQ(memory.machine().zone_count(), dump->zones.size());
        Rng rng(7);
        for (std::size_t zone = 0; zone < dump->zones.size(); ++zone) {
            const std::uint64_t lost = pm::arrange(memory, zone, dump->zones[zone], rng);
            EXPECT_LE(lost * 100, dump->managed) << "zone " << zone;
        }
        EXPECT_EQ(memory.validate(), "");
        // buddyinfo itself says how many there are.
        for (const procfs::Value& value : procfs::parse_buddyinfo(texts.buddyinfo).values) {
            for (unsigned order = 4; order < pm::kOrders; ++order) {
                if (value.name != fmt::format("buddy.total.order{}", order)) continue;
                std::uint64_t blocks = 0;
                for (std::size_t zone = 0; zone < memory.machine().zone_count(); ++zone)
                    blocks += memory.machine().zone(zone).nr_free(order);
                EXPECT_NEAR(static_cast<double>(blocks), value.value, 2) << value.name;
            }
        }
        // Watermarks are those that the kernel had.
        const pm::ZoneConstants& constants = memory.machine().zone(1).constants();
        for (const procfs::Value& value : procfs::parse_zoneinfo(texts.zoneinfo).values) {
            if (value.name == "zoneinfo.node0.DMA32.min") {
                EXPECT_NEAR(static_cast<double>(constants.min), value.value, 2);
            }
        }
    }
}

std::string complaint(const DumpTexts& texts) {
    const auto dump = read_dump(texts);
    EXPECT_FALSE(dump);
    return dump ? "" : dump.error().text();
}

TEST(Dump, NamesTheLineAndColumnOfWhatIsBroken) {
    const DumpTexts good = texts_of("7.3.4+deb13-cloud-amd64");
    DumpTexts texts = good;
    const std::size_t line = texts.buddyinfo.find("zone    DMA32") + 16;
    texts.buddyinfo.replace(line, 7, "     x1");
    const std::string text = complaint(texts);
    EXPECT_NE(text.find("buddyinfo, line 2, column "), std::string::npos) << text;
    EXPECT_NE(text.find("x1"), std::string::npos) << text;
    texts = good;
    texts.zoneinfo.resize(texts.zoneinfo.size() / 2);
    if (texts.zoneinfo.back() == '\n') texts.zoneinfo.pop_back();
    EXPECT_NE(complaint(texts).find("zoneinfo, line"), std::string::npos) << complaint(texts);
    texts = good;
    texts.pagetypeinfo.clear();
    EXPECT_NE(complaint(texts).find("pagetypeinfo"), std::string::npos);
}

TEST(Dump, RefusesWhatCantBeOneMachine) {
    DumpTexts texts = texts_of("7.3.4+deb13-cloud-amd64");
    texts.buddyinfo = "Node 0, zone    DMA32 9 9 9 9 9 9 9 9 9 9 999999\n";
    EXPECT_NE(complaint(texts).find("more than the zone has pages"), std::string::npos)
        << complaint(texts);
    texts = texts_of("7.3.4+deb13-cloud-amd64");
    texts.zoneinfo = "Node 0, zone   Normal\n  pages free     1\n        managed  99\n";
    EXPECT_NE(complaint(texts).find("CPU"), std::string::npos) << complaint(texts);
    EXPECT_FALSE(read_dump_folder("/nonexistent"));
}

}  // namespace
}  // namespace mano::substrate::model
