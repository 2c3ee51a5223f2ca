// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment/values.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "experiment/settings.h"

namespace mano::experiment {
namespace {

using plan::ParamDef;
using plan::ParamType;

constexpr ParamDef kBytes{"size", ParamType::bytes, "bytes", 0, 0, 1 << 30, ""};
constexpr ParamDef kTime{"gap", ParamType::duration, "ns", 0, 0, 3'600'000'000'000, ""};
constexpr ParamDef kShare{"demand", ParamType::share, "share", 0, 50'000, 1'500'000, ""};
constexpr ParamDef kCount{"workers", ParamType::integer, "", 1, 1, 32, ""};

std::string complaint(const ParamDef& param, std::string_view text) {
    const auto held = parse_value(param, {}, text);
    return held ? "accepted" : held.error().message;
}

TEST(Values, Accepted) {
    EXPECT_EQ(parse_value(kBytes, {}, "64KiB")->number, 65536);
    EXPECT_EQ(parse_value(kBytes, {}, "0")->number, 0);
    EXPECT_EQ(parse_value(kTime, {}, "250ms")->number, 250'000'000);
    EXPECT_EQ(parse_value(kShare, {}, "90%")->number, 900'000);
    EXPECT_EQ(parse_value(kShare, {}, "0.905")->number, 905'000);
    EXPECT_EQ(parse_value(kCount, {}, "32")->number, 32);
}

TEST(Values, ComplaintsSayWhatWasExpected) {
    EXPECT_EQ(complaint(kBytes, "8"), "'8' has no unit, expected bytes with a unit such as 8MiB");
    EXPECT_EQ(complaint(kBytes, "8 parsecs"), "'8 parsecs' is not bytes with a unit such as 8MiB");
    EXPECT_EQ(complaint(kBytes, "2GiB"), "'2GiB' is out of range, expected 0B to 1GiB");
    EXPECT_EQ(complaint(kTime, "250"),
              "'250' has no unit, expected a time with a unit such as 250ms");
    EXPECT_EQ(complaint(kShare, "90"),
              "'90' is out of range, expected 5% to 150%; did you mean 90%?");
    EXPECT_EQ(complaint(kShare, "190%"), "'190%' is out of range, expected 5% to 150%");
    EXPECT_EQ(complaint(kShare, "much"), "'much' is not a share such as 90% or 0.9");
    EXPECT_EQ(complaint(kCount, "4.5"), "'4.5' is not a whole number");
    EXPECT_EQ(complaint(kCount, "0"), "'0' is out of range, expected 1 to 32");
    EXPECT_EQ(complaint(kCount, "99999999999999999999"),
              "'99999999999999999999' is not a whole number");
    EXPECT_EQ(complaint(kCount, ""), "'' is not a whole number");
}

TEST(Values, Shown) {
    EXPECT_EQ(show_value(kShare, {900'000, {}}), "90%");
    EXPECT_EQ(show_value(kShare, {905'001, {}}), "90.5001%");
    EXPECT_EQ(plain_value(kShare, {900'000, {}}), "0.9");
    EXPECT_EQ(plain_value(kShare, {1'000'000, {}}), "1");
    EXPECT_EQ(show_value(kBytes, {65536, {}}), "64KiB");
    EXPECT_EQ(show_value(kBytes, {65537, {}}), "65537B");
    EXPECT_EQ(show_value(kTime, {1'500'000'000, {}}), "1500ms");
}

// Whatever is shown is read back as the same value, over every parameter there is.
TEST(ValuesProperty, ShownIsReadBack) {
    constexpr std::uint64_t kSeed = 11;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    std::vector<ParamDef> params;
    for (const plan::LoadDef& load : plan::pressures()) {
        params.insert(params.end(), load.params.begin(), load.params.end());
    }
    for (const plan::LoadDef& load : plan::probes()) {
        params.insert(params.end(), load.params.begin(), load.params.end());
    }
    for (const SettingDef& def : run_settings())
        params.push_back(def.param);
    for (const ParamDef& param : params) {
        if (param.type == ParamType::text) continue;  // held as it is
        for (int round = 0; round < 200; ++round) {
            const auto span = static_cast<std::uint64_t>(param.maximum - param.minimum) + 1;
            const std::int64_t number =
                round == 0   ? param.fallback
                : round == 1 ? param.maximum
                             : param.minimum + static_cast<std::int64_t>(rng.below(span));
            const Held held{number, {}};
            const auto back = parse_value(param, {}, show_value(param, held));
            ASSERT_TRUE(back) << param.name << " " << show_value(param, held) << " seed " << kSeed;
            EXPECT_EQ(back->number, number) << param.name << " seed " << kSeed;
            const auto plain = parse_value(param, {}, plain_value(param, held));
            ASSERT_TRUE(plain) << param.name << " " << plain_value(param, held);
            EXPECT_EQ(plain->number, number) << param.name << " seed " << kSeed;
        }
    }
}

TEST(Values, OnlyPlainTextTravels) {
    EXPECT_TRUE(is_plain_text("echo hello | wc", 100));
    for (const std::string_view text : {"", "a\nb", "a\x1b[0m", "\xc3\xa4"}) {
        EXPECT_FALSE(is_plain_text(text, 100)) << text;
    }
    EXPECT_FALSE(is_plain_text("abc", 2));
    EXPECT_FALSE(is_made_of("a;b", "-", 10));
}

}  // namespace
}  // namespace mano::experiment
