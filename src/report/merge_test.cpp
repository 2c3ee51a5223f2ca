// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "report/report.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

store::RunSet of(const std::string& arm, double shift) {
    testing::Builder builder({arm});
    builder.runset.plan.key_metrics = {
        testing::key(testing::metric("probe.ops", "count", measure::Better::higher), true)};
    builder.fill("probe.ops", {{100 + shift, 101 + shift, 102 + shift, 103 + shift, 104 + shift}});
    return builder.runset;
}

TEST(Merge, RunSetsOfOneExperimentCompareLikeOne) {
    const std::vector<store::RunSet> both = {of("7.1", 0), of("7.1", -50)};
    const auto merged = merge(both, false);
    ASSERT_TRUE(merged) << merged.error().text();
    const auto data = build(*merged, {});
    ASSERT_TRUE(data);
    EXPECT_EQ(data->arms[1].name, "7.1#2");
    EXPECT_EQ(data->arms[1].release, "7.1.4+deb13-cloud-amd64");
    EXPECT_EQ(data->verdict, stats::Verdict::worse);
    EXPECT_EQ(data->arms[1].trials, 5U);
}

TEST(Merge, DifferentMachinesNeedForce) {
    std::vector<store::RunSet> both = {of("7.1", 0), of("7.3", -50)};
    both[1].identity["qemu"] = "10.0.0";
    const auto refused = merge(both, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_NE(refused.error().message.find("qemu: 7.2.22 / 10.0.0"), std::string::npos);
    const auto forced = merge(both, true);
    ASSERT_TRUE(forced);
    EXPECT_FALSE(forced->remarks.empty());
}

TEST(Merge, OtherExperimentsAndCasesAreRefusedEvenThen) {
    std::vector<store::RunSet> both = {of("7.1", 0), of("7.3", -50)};
    both[1].plan.experiment = "idle";
    EXPECT_FALSE(merge(both, true));
    both[1].plan.experiment = both[0].plan.experiment;
    both[1].plan.cases[0].parameters["pressure.demand"] = "1";
    EXPECT_FALSE(merge(both, true));
    EXPECT_FALSE(merge({}, true));
}

}  // namespace
}  // namespace mano::report
