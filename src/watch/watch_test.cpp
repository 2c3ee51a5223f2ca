// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace mano::watch {
namespace {

using testing::HasSubstr;

const Target kHost{std::nullopt, std::nullopt, "host"};

Look look_at(double seconds, std::map<std::string, double> values) {
    Look look;
    look.time_ns = static_cast<std::uint64_t>(seconds * 1e9) + 1;
    look.values = std::move(values);
    return look;
}

TEST(Watch, SharesAndRates) {
    const Look a = look_at(0, {{"psi.watched.memory.some.total_us", 1000},
                               {"vmstat.pgscan_direct", 10},
                               {"vmstat.allocstall_normal", 1},
                               {"vmstat.allocstall_movable", 2},
                               {"vmstat.pgmajfault", 50}});
    const Look b = look_at(2, {{"psi.watched.memory.some.total_us", 501000},
                               {"psi.watched.memory.full.total_us", 7},
                               {"vmstat.pgscan_direct", 210},
                               {"vmstat.allocstall_normal", 4},
                               {"vmstat.allocstall_movable", 7},
                               {"vmstat.pgmajfault", 40},
                               {"buddy.total.order0", 3},
                               {"buddy.total.order1", 0}});
    const Change change = between(kHost, a, b);
    EXPECT_DOUBLE_EQ(change.seconds, 2);
    EXPECT_DOUBLE_EQ(change.some_pct.at("memory").value(), 25);
    EXPECT_EQ(change.full_pct.at("memory"), std::nullopt) << "one of two readings";
    EXPECT_EQ(change.some_pct.at("io"), std::nullopt);
    const std::map<std::string, std::optional<double>> rates(change.rates.begin(),
                                                             change.rates.end());
    EXPECT_DOUBLE_EQ(rates.at("pgscan_direct").value(), 100);
    EXPECT_DOUBLE_EQ(rates.at("allocstall").value(), 4);
    EXPECT_EQ(rates.at("pgmajfault"), std::nullopt) << "a counter that went back";
    EXPECT_EQ(rates.at("pswpin"), std::nullopt) << "absent is not zero";
    ASSERT_EQ(change.free_blocks.size(), 2U);
    EXPECT_EQ(change.free_blocks[1], 0);
}

TEST(Watch, NoTimeBetweenLooksIsNoRate) {
    const Look a = look_at(1, {{"vmstat.pgscan_direct", 10}});
    const Change change = between(kHost, a, a);
    EXPECT_EQ(change.seconds, 0);
    EXPECT_TRUE(change.rates.empty());
}

TEST(Watch, JsonHasNullForTheUnknown) {
    Target odd{std::nullopt, std::nullopt, "a\"b\n\xff"};
    Change change = between(odd, look_at(0, {}), look_at(1, {}));
    change.lost = {"/proc/pressure/memory: gone"};
    const std::string text = json_line(odd, change, "2026-12-01T00:00:00Z");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["schema"], "manometer.watch/1");
    EXPECT_TRUE(json["psi"]["memory"]["some_pct"].is_null());
    EXPECT_TRUE(json["available_bytes"].is_null());
    EXPECT_EQ(json["lost"].size(), 1U);
}

TEST(Watch, LinesFitUnderTheirHeading) {
    const Change change = between(kHost, look_at(0, {{"psi.watched.memory.some.total_us", 0}}),
                                  look_at(1, {{"psi.watched.memory.some.total_us", 123456}}));
    const std::string text = line(change, "12:00:00");
    EXPECT_EQ(text.size(), heading().size()) << heading() << text;
    EXPECT_THAT(text, HasSubstr("12.3/-%"));
    const std::string shown = screen(kHost, {change}, "12:00:00", report::Charset::ascii);
    EXPECT_THAT(shown, HasSubstr("memory"));
    EXPECT_THAT(shown, HasSubstr("12.3"));
}

TEST(Watch, ThisHost) {
    const Look a = look(kHost);
    const Look b = look(kHost);
    EXPECT_TRUE(a.values.contains("vmstat.pgfault"));
    EXPECT_TRUE(a.values.contains("meminfo.MemAvailable"));
    EXPECT_LT(a.time_ns, b.time_ns);
    EXPECT_FALSE(between(kHost, a, b).free_blocks.empty());
}

// Files as a cgroup has them.
TEST(Watch, AGroup) {
    auto made = TempFolder::make(std::filesystem::temp_directory_path(), "mano-watch-");
    ASSERT_TRUE(made);
    const auto& folder = made->path();
    const auto write = [&](const char* name, std::string_view text) {
        ASSERT_TRUE(write_file_atomic(folder / name, text));
    };
    write("memory.pressure",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n"
          "full avg10=0.00 avg60=0.00 avg300=0.00 total=50\n");
    write("memory.stat", "anon 4096\npgscan_direct 5\npgsteal 3\n");
    write("memory.current", "123456\n");
    const Target group{folder, folder, "/g"};
    const Look a = look(group);
    write("memory.stat", "anon 4096\npgscan_direct 15\npgsteal 3\n");
    Look b = look(group);
    b.time_ns = a.time_ns + 1'000'000'000;
    const Change change = between(group, a, b);
    EXPECT_EQ(change.group_bytes, 123456);
    EXPECT_EQ(change.some_pct.at("memory"), 0);
    EXPECT_EQ(change.some_pct.at("io"), std::nullopt);
    EXPECT_THAT(change.lost, testing::Contains(HasSubstr("io.pressure")));
    EXPECT_EQ(change.rates.front(),
              (std::pair<std::string, std::optional<double>>("pgscan_direct", 10)));
}

}  // namespace
}  // namespace mano::watch
