// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/units.h"

#include <gtest/gtest.h>

namespace mano {
namespace {

TEST(Units, BytesWithAndWithoutUnit) {
    EXPECT_EQ(parse_bytes("4096")->value, 4096U);
    EXPECT_EQ(parse_bytes("64KiB")->value, 65536U);
    EXPECT_EQ(parse_bytes("1.5 MiB")->value, 1572864U);
    EXPECT_EQ(parse_bytes("1G")->value, kGiB);
    EXPECT_FALSE(parse_bytes("12parsecs"));
    EXPECT_FALSE(parse_bytes("-1MiB"));
    EXPECT_FALSE(parse_bytes(""));
    EXPECT_FALSE(parse_bytes("99999999999999GiB"));
}

TEST(Units, DurationNeedsAUnit) {
    EXPECT_EQ(*parse_duration_ns("250ms"), 250'000'000U);
    EXPECT_EQ(*parse_duration_ns("2min"), 120'000'000'000U);
    const auto bare = parse_duration_ns("3");
    ASSERT_FALSE(bare);
    EXPECT_NE(bare.error().message.find("unit missing"), std::string::npos);
}

TEST(Units, ShareInBothForms) {
    EXPECT_EQ(*parse_share_ppm("90%"), 900'000);
    EXPECT_EQ(*parse_share_ppm("0.95"), 950'000);
    EXPECT_EQ(*parse_share_ppm("112%"), 1'120'000);
    EXPECT_FALSE(parse_share_ppm("nan"));
    EXPECT_FALSE(parse_share_ppm("5s"));
}

TEST(Units, Shown) {
    EXPECT_EQ(show_bytes(kGiB), "1 GiB");
    EXPECT_EQ(show_bytes(1572864), "1.5 MiB");
    EXPECT_EQ(show_duration_ns(1'500'000'000), "1.5 s");
    EXPECT_EQ(show_duration_ns(250'000'000'000), "4 min 10 s");
}

}  // namespace
}  // namespace mano
