// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/change_points.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace mano::stats {
namespace {

using Groups = std::vector<std::vector<double>>;

double uniform(Rng& rng) {
    return static_cast<double>(rng.below(1'000'000)) / 1e6;
}

Groups noise(Rng& rng, std::size_t groups, std::size_t each) {
    Groups out(groups);
    for (auto& group : out)
        for (std::size_t i = 0; i < each; ++i)
            group.push_back(uniform(rng));
    return out;
}

TEST(ChangePoints, FindsTheStepsThatWerePlanted) {
    Rng rng(1);
    Groups groups = noise(rng, 10, 5);
    for (std::size_t g = 4; g < 10; ++g)
        for (double& value : groups[g])
            value += g < 8 ? 3 : 1.5;
    const auto found = change_points(groups, 0.05);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].before, 3U);
    EXPECT_EQ(found[1].before, 7U);
    EXPECT_LE(found[0].p, 0.001);
    ASSERT_TRUE(found[0].shift && found[1].shift);
    EXPECT_GT(found[0].shift->estimate, 1);
    EXPECT_LT(found[1].shift->estimate, -1);
}

// The rate of rows that are cut though nothing changes is what was asked for, within three standard
// deviations of 400 tries.
TEST(ChangePoints, CutsAFlatRowNoMoreOftenThanAlpha) {
    Rng rng(2);
    int cut = 0;
    constexpr int kTries = 400;
    for (int i = 0; i < kTries; ++i)
        cut += change_points(noise(rng, 8, 4), 0.05, static_cast<std::uint64_t>(i), 199).empty()
                   ? 0
                   : 1;
    EXPECT_LE(cut, kTries * 0.05 + 3 * std::sqrt(kTries * 0.05 * 0.95)) << cut;
    EXPECT_GE(cut, kTries * 0.05 - 3 * std::sqrt(kTries * 0.05 * 0.95)) << cut;
}

TEST(ChangePoints, OddRows) {
    EXPECT_TRUE(change_points({}, 0.05).empty());
    EXPECT_TRUE(change_points({{1, 2, 3}}, 0.05).empty());
    EXPECT_TRUE(change_points({{1, 1}, {1, 1}, {1, 1}}, 0.05).empty()) << "nothing differs";
    EXPECT_TRUE(change_points({{1}, {2}}, 0.05).empty()) << "two values prove nothing";
    // An empty group lies on neither side.
    const auto found = change_points({{1, 2, 3, 4, 5}, {}, {11, 12, 13, 14, 15}}, 0.05);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_LE(found[0].before, 1U);
    EXPECT_EQ(*found[0].left_median, 3);
    EXPECT_EQ(*found[0].right_median, 13);
}

}  // namespace
}  // namespace mano::stats
