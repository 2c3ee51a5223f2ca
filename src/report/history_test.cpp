// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/layout.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using ::testing::HasSubstr;

// A run set with a kernel an arm; `values[arm]` of one judged counter.
store::RunSet kernels(const std::string& id, const std::vector<std::string>& names,
                      const std::vector<std::vector<double>>& values) {
    testing::Builder builder(names);
    builder.fill("vmstat.pgscan_direct", values);
    builder.runset.id = id;
    builder.runset.plan.key_metrics = {testing::key(
        testing::metric("vmstat.pgscan_direct", "pages", measure::Better::lower), true)};
    for (std::size_t i = 0; i < names.size(); ++i) {
        builder.runset.arms.resize(names.size());
        builder.runset.arms[i] = {names[i],
                                  nlohmann::json{{"release", names[i] + ".9-cloud-amd64"}}.dump()};
    }
    return std::move(builder.runset);
}

const std::vector<std::vector<double>> kStep = {
    {10, 11, 12, 13, 14}, {11, 12, 10, 13, 15}, {30, 33, 31, 32, 35}, {31, 32, 33, 36, 30}};

TEST(History, OrdersKernelsAndMarksTheChange) {
    const std::vector<store::RunSet> runsets{kernels("one", {"7.1", "6.12", "7.2", "7.3"}, kStep)};
    const auto history = build_history(runsets, {}, {});
    ASSERT_TRUE(history) << history.error().text();
    ASSERT_EQ(history->series.size(), 1U);
    const HistorySeries& series = history->series.front();
    ASSERT_EQ(series.kernels.size(), 4U);
    EXPECT_EQ(series.kernels.front().name, "6.12");
    ASSERT_EQ(series.changes.size(), 1U);
    EXPECT_EQ(series.kernels[series.changes[0].point.before].name, "7.1");
    EXPECT_FALSE(series.changes[0].small);
    const std::string text = render_history(*history);
    EXPECT_THAT(text, HasSubstr("CHANGE"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), kColumns) << line;
    const auto json = nlohmann::json::parse(render_history_json(*history));
    EXPECT_EQ(json["series"][0]["changes"][0]["first"], "7.2.9-cloud-amd64");
    EXPECT_EQ(json["series"][0]["kernels"][3]["values"], nlohmann::json({31, 32, 33, 36, 30}));
}

TEST(History, TheNewestRunSetOfAKernelCounts) {
    const std::vector<store::RunSet> runsets{kernels("new", {"7.1", "7.3"}, {{1, 2}, {3, 4}}),
                                             kernels("old", {"7.1", "6.1"}, {{100, 200}, {5, 6}})};
    const auto history = build_history(runsets, {}, {});
    ASSERT_TRUE(history) << history.error().text();
    const auto& series = history->series.front().kernels;
    ASSERT_EQ(series.size(), 3U);
    EXPECT_EQ(series[1].runset, "new");
    EXPECT_EQ(series[1].values, (std::vector<double>{1, 2}));
    EXPECT_EQ(history->runsets.size(), 2U);
}

TEST(History, UnlikeRunSetsAreLeftOutAndSaid) {
    std::vector<store::RunSet> runsets{kernels("new", {"7.1", "7.3"}, {{1, 2}, {3, 4}}),
                                       kernels("old", {"6.1", "6.12"}, {{1, 2}, {3, 4}})};
    runsets[1].plan.exact = !runsets[0].plan.exact;
    const auto history = build_history(runsets, {}, {});
    ASSERT_TRUE(history) << history.error().text();
    ASSERT_EQ(history->left_out.size(), 1U);
    EXPECT_THAT(render_history(*history), HasSubstr("left out: old"));
    // An arm with a setting isn't a kernel's history.
    runsets[0].plan.arms[1].settings.push_back({"vm/swappiness", "10"});
    EXPECT_FALSE(build_history(std::span(runsets).first(1), {}, {}));
    EXPECT_FALSE(build_history(runsets, {"nothing.*"}, {}));
}

TEST(History, ReleasesInOrder) {
    const std::vector<std::string> order{"6.1.0-57-cloud-amd64",
                                         "6.12.43+deb12",
                                         "6.12.118+deb13",
                                         "6.16.12",
                                         "7.0.4",
                                         "7.1.3",
                                         "7.1.13",
                                         "7.3.4"};
    for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t k = 0; k < order.size(); ++k)
            EXPECT_EQ(older_release(order[i], order[k]), i < k) << order[i] << " " << order[k];
}

}  // namespace
}  // namespace mano::report
