// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <vector>

#include "stats/stats.h"

namespace mano::stats {
namespace {

TEST(Adjust, HolmAndBenjaminiHochberg) {
    const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
    const std::vector<double> by_holm = holm(p);
    const std::vector<double> expected_holm = {0.03, 0.06, 0.06, 0.02};
    const std::vector<double> by_bh = benjamini_hochberg(p);
    const std::vector<double> expected_bh = {0.02, 0.04, 0.04, 0.02};
    for (std::size_t i = 0; i < p.size(); ++i) {
        EXPECT_NEAR(by_holm[i], expected_holm[i], 1e-15);
        EXPECT_NEAR(by_bh[i], expected_bh[i], 1e-15);
    }
    EXPECT_TRUE(holm({}).empty());
    EXPECT_TRUE(benjamini_hochberg({}).empty());
    const std::vector<double> ones = {1, 1, 0.9};
    for (const double each : holm(ones))
        EXPECT_EQ(each, 1);
    for (const double each : benjamini_hochberg(ones))
        EXPECT_LE(each, 1);
}

TEST(Fisher, KnownFigures) {
    // Fisher's tea: 3 of 4 against 1 of 4.
    EXPECT_NEAR(fisher_exact(3, 4, 1, 4).p, 34.0 / 70, 1e-12);
    EXPECT_NEAR(fisher_exact(0, 6, 6, 6).p, 2.0 / 924, 1e-12);
    EXPECT_NEAR(fisher_exact(0, 6, 6, 6).best_attainable_p, 2.0 / 924, 1e-12);
    EXPECT_EQ(fisher_exact(0, 6, 0, 6).p, 1);
    EXPECT_EQ(fisher_exact(6, 6, 6, 6).p, 1);
    EXPECT_EQ(fisher_exact(0, 0, 3, 6).p, 1);
    EXPECT_EQ(fisher_exact(9, 6, 9, 6).p, 1);  // clamped
    // One failure of twelve can never be a finding.
    EXPECT_EQ(fisher_exact(0, 6, 1, 6).best_attainable_p, 1);
}

}  // namespace
}  // namespace mano::stats
