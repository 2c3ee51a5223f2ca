// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>

namespace mano {
namespace {

// Published first outputs of splitmix64 for seed 1234567.
TEST(Rng, ReferenceRow) {
    Rng rng(1234567);
    EXPECT_EQ(rng.next(), 6457827717110365317ULL);
    EXPECT_EQ(rng.next(), 3203168211198807973ULL);
    EXPECT_EQ(rng.next(), 9817491932198370423ULL);
}

TEST(Rng, BelowStaysBelowAndReachesAll) {
    Rng rng(1);
    std::array<int, 7> seen{};
    for (int i = 0; i < 1000; ++i)
        ++seen.at(rng.below(7));
    for (const int count : seen)
        EXPECT_GT(count, 90);
    EXPECT_EQ(rng.below(0), 0U);
    EXPECT_EQ(rng.below(1), 0U);
}

TEST(Rng, ShuffleIsAPermutationAndDependsOnTheSeed) {
    std::array<int, 16> a{};
    for (int i = 0; i < 16; ++i)
        a.at(static_cast<std::size_t>(i)) = i;
    auto b = a;
    Rng one(1);
    Rng two(2);
    shuffle(a, one);
    shuffle(b, two);
    EXPECT_NE(a, b);
    int sum = 0;
    for (const int v : a)
        sum += v;
    EXPECT_EQ(sum, 120);
}

TEST(Rng, SplitsDiffer) {
    const Rng rng(9);
    EXPECT_NE(rng.split(0).next(), rng.split(1).next());
    EXPECT_EQ(rng.split(3).next(), rng.split(3).next());
}

}  // namespace
}  // namespace mano
