// SPDX-License-Identifier: GPL-2.0-or-later
// The numbers that kernels derive at boot, against zoneinfo of real ones (tests/fixtures).
#include "model/constants.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "procfs/procfs.h"

namespace mano::model {
namespace {

using Values = std::map<std::string, std::uint64_t>;

Values zoneinfo_of(const std::string& fixture) {
    const auto text =
        read_file(std::string(MANO_SOURCE_DIR) + "/tests/fixtures/" + fixture + "/zoneinfo");
    Values values;
    if (!text) {
        ADD_FAILURE() << text.error().text();
        return values;
    }
    for (const procfs::Value& value : procfs::parse_zoneinfo(*text).values)
        values[value.name] = static_cast<std::uint64_t>(value.value);
    return values;
}

constexpr const char* kNames[] = {"DMA", "DMA32", "Normal", "Movable"};

std::uint64_t at(const Values& values, unsigned zone, const std::string& key) {
    const auto found = values.find(fmt::format("zoneinfo.node0.{}.{}", kNames[zone], key));
    return found == values.end() ? 0 : found->second;
}

// A machine whose zones kept their size since boot: everything is exact.
TEST(Constants, AreThoseOfARunningMachine) {
    const Values values = zoneinfo_of("6.18.44-fc-v669");
    std::vector<ZoneSize> zones;
    for (unsigned zone = 0; zone < kZoneKinds; ++zone)
        zones.push_back({static_cast<ZoneIndex>(zone), 0, at(values, zone, "managed"), 2});
    std::vector<ZoneConstants> constants(zones.size());
    BootSettings settings;
    settings.thp = true;
    settings.cpus = 2;
    derive_constants(zones, settings, constants);
    for (unsigned zone = 0; zone < kZoneKinds; ++zone) {
        SCOPED_TRACE(kNames[zone]);
        const ZoneConstants& c = constants[zone];
        EXPECT_EQ(c.min, at(values, zone, "min"));
        EXPECT_EQ(c.low, at(values, zone, "low"));
        EXPECT_EQ(c.high, at(values, zone, "high"));
        EXPECT_EQ(c.promo, at(values, zone, "promo"));
        for (unsigned above = 0; above < kZoneKinds; ++above)
            EXPECT_EQ(c.lowmem_reserve[above],
                      at(values, zone, fmt::format("protection.{}", above)));
        if (zones[zone].managed == 0) continue;
        EXPECT_EQ(static_cast<std::uint64_t>(c.batch), at(values, zone, "cpu0.batch"));
        EXPECT_EQ(static_cast<std::uint64_t>(c.high_min), at(values, zone, "cpu0.high_min"));
        EXPECT_EQ(static_cast<std::uint64_t>(c.high_max), at(values, zone, "cpu0.high_max"));
    }
}

// Guests give memory of the boot back later, after the watermarks were set. Its size at that time
// shows in what was derived from it: up to 6.x in the reserve (managed / 256), from 7.1 on, where
// that is kept up to date, in high_max (managed / 8 / CPUs).
void find_boot(const char* fixture, unsigned divisor, const std::string& key, unsigned key_zone) {
    SCOPED_TRACE(fixture);
    constexpr unsigned kCpus = 2;
    const Values values = zoneinfo_of(fixture);
    const std::uint64_t least = at(values, key_zone, key) * divisor;
    ASSERT_GT(least, 0U);
    bool found = false;
    for (std::uint64_t managed = least; managed < least + divisor && !found; ++managed) {
        const std::vector<ZoneSize> zones{{kDma, 0, at(values, kDma, "managed"), kCpus},
                                          {kDma32, 0, managed, kCpus}};
        std::vector<ZoneConstants> constants(2);
        BootSettings settings;
        settings.cpus = kCpus;
        derive_constants(zones, settings, constants);
        found = true;
        for (unsigned zone = 0; zone < 2; ++zone) {
            const ZoneConstants& c = constants[zone];
            found = found && c.min == at(values, zone, "min") && c.low == at(values, zone, "low") &&
                    c.high == at(values, zone, "high") &&
                    static_cast<std::uint64_t>(c.batch) == at(values, zone, "cpu0.batch");
            if (divisor == 256) continue;
            found = found &&
                    static_cast<std::uint64_t>(c.high_min) == at(values, zone, "cpu0.high_min") &&
                    static_cast<std::uint64_t>(c.high_max) == at(values, zone, "cpu0.high_max");
        }
    }
    EXPECT_TRUE(found) << "no size of DMA32 from " << least << " on gives its numbers";
}

TEST(Constants, AreThoseOfGuestsAtTheirBoot) {
    find_boot("6.1.0-57-cloud-amd64", 256, "protection.1", kDma);
    find_boot("6.12.118+deb13-cloud-amd64", 256, "protection.1", kDma);
    find_boot("7.1.13+deb13-cloud-amd64", 16, "cpu0.high_max", kDma32);
    find_boot("7.3.4+deb13-cloud-amd64", 16, "cpu0.high_max", kDma32);
}

// The lab kernel's guest of the memory experiments: one zone, khugepaged on, four CPUs.
TEST(Constants, AreThoseOfTheLabGuest) {
    const std::vector<ZoneSize> zones{{kDma32, 0, 253801, 4}};
    std::vector<ZoneConstants> constants(1);
    BootSettings settings;
    settings.thp = true;
    settings.cpus = 4;
    derive_constants(zones, settings, constants);
    EXPECT_EQ(constants[0].min, 5632U);
    EXPECT_EQ(constants[0].low, 7040U);
    EXPECT_EQ(constants[0].high, 8448U);
    EXPECT_EQ(constants[0].batch, 63);
    EXPECT_EQ(constants[0].high_min, 1760);
    EXPECT_EQ(constants[0].high_max, 7931);
}

}  // namespace
}  // namespace mano::model
