// SPDX-License-Identifier: GPL-2.0-or-later
// What is put into the page. The page itself is tested in a browser (tests/page).
#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

ReportData built(const store::RunSet& runset) {
    auto data = build(runset, {});
    EXPECT_TRUE(data) << data.error().text();
    return data ? std::move(*data) : ReportData();
}

TEST(HtmlJson, IsTheSameValueAndNeverMarkup) {
    Rng rng(20261201);
    for (int round = 0; round < 300; ++round) {
        std::string text;
        for (std::uint64_t i = rng.below(40); i > 0; --i)
            text += "<>&\"\\ \n/a{}[]:,"[rng.below(15)];
        const json value = {{text, json::array({text, 1.5, nullptr, "  " + text})}, {"k", true}};
        const std::string out = html_json(value.dump(2));
        EXPECT_EQ(out.find_first_of("<>&\n"), std::string::npos) << out;
        EXPECT_EQ(json::parse(out), value) << out;
    }
}

TEST(HtmlText, IsOnlyText) {
    EXPECT_EQ(html_text("<b a='1'>\"&\"</b>" + std::string(1, '\0')),
              "&lt;b a=&#39;1&#39;&gt;&quot;&amp;&quot;&lt;/b&gt;");
}

TEST(Page, EachPlaceIsFilledOnceAndWhatIsFilledInIsNotLookedAt) {
    testing::Builder builder({"@@TEXT@@", "head"});
    builder.fill("vmstat.pgfault", {{1, 2}, {3, 4}});
    builder.runset.plan.experiment = "x@@PAGE@@<i>";
    const ReportData data = built(builder.runset);
    const std::string page =
        fill_page("<t>@@TITLE@@</t>a@@b@@NOPLACE@@@@COMPARE@@|@@PAGE@@|@@", data, builder.runset);
    EXPECT_THAT(page, HasSubstr("<t>x@@PAGE@@&lt;i&gt;: @@TEXT@@ → head</t>a@@b@@NOPLACE@@{"));
    EXPECT_EQ(page.substr(page.size() - 3), "|@@");
    const std::size_t from = page.find("@@NOPLACE@@") + 11;
    const std::size_t bar = page.find('|', from);
    EXPECT_EQ(json::parse(page.substr(from, bar - from)), json::parse(render_json(data)));
    EXPECT_EQ(json::parse(page.substr(bar + 1, page.size() - bar - 4))["schema"],
              "manometer.page/1");
}

TEST(PageJson, CellsNameTheTrialsBehindTheValues) {
    for (const auto& [name, runset] : testing::golden_runsets()) {
        const ReportData data = built(runset);
        const json page = json::parse(page_json(data, runset));
        for (std::size_t c = 0; c < data.cases.size(); ++c) {
            for (std::size_t a = 0; a < data.arms.size(); ++a) {
                const json& cell = page["cells"][c][a];
                for (const MetricRow& row : data.cases[c].rows)
                    EXPECT_EQ(cell.size(), row.arms[a].values.size()) << name << row.metric.name;
                for (const json& each : cell) {
                    const auto& planned =
                        runset.trials.at(each["trial"].get<std::size_t>()).planned;
                    EXPECT_EQ(runset.plan.arms[planned.arm].name, data.arms[a].name);
                    EXPECT_EQ(planned.seed, each["seed"].get<std::uint64_t>());
                }
            }
        }
    }
}

TEST(PageJson, CoursesAreDifferencesAndGaugesReadings) {
    testing::Builder builder({"a", "b"});
    builder.trial(0)
        .counter("psi.probe.memory.some.total_us", 30, 0)
        .counter("psi.probe.memory.some.total_us", std::nullopt, 1)
        .counter("probe.time_ns", 5e8, 0)
        .counter("buddy.total.order3", 4, 1)
        .counter("vmstat.nothing_of_interest", 4, 0);
    const json page = json::parse(page_json(built(builder.runset), builder.runset));
    ASSERT_EQ(page["courses"].size(), 1U);
    const json& course = page["courses"][0];
    EXPECT_EQ(course["counters"],
              json({{"psi.probe.memory.some.total_us", json::array({30.0, nullptr})}}));
    EXPECT_EQ(course["seconds"], json::array({0.5, nullptr}));
    EXPECT_EQ(course["gauges"]["buddy.total.order3"][0], json::array({nullptr, nullptr}));
    EXPECT_EQ(course["gauges"]["buddy.total.order3"][1][1].get<double>() -
                  course["gauges"]["buddy.total.order3"][1][0].get<double>(),
              4.0);
}

// The first trial of each arm before the second of any; what has no place is counted.
TEST(PageJson, CoursesAreBounded) {
    testing::Builder builder({"a", "b"});
    for (int trial = 0; trial < 20; ++trial)
        builder.trial(trial < 10 ? 0 : 1).counter("psi.probe.memory.some.total_us", 1, 99);
    const ReportData data = built(builder.runset);
    const json page = json::parse(page_json(data, builder.runset, 400));
    EXPECT_EQ(page["courses"].size(), 4U);
    EXPECT_EQ(page["courses_left_out"], 16);
    EXPECT_EQ(page["courses"][0]["trial"], 0);
    EXPECT_EQ(page["courses"][2]["trial"], 10);
}

TEST(Page, OfThisBuild) {
    if (page_template().empty()) {
        GTEST_SKIP() << "this build has no page: " << page_missing();
    }
    for (const char* place : {"@@TITLE@@", "@@TEXT@@", "@@COMPARE@@", "@@PAGE@@"})
        EXPECT_THAT(std::string(page_template()), HasSubstr(place));
    EXPECT_THAT(std::string(page_template()), HasSubstr("script-src 'sha256-"));
    EXPECT_LT(page_template().size(), 1'000'000U) << "the page without data is under 1 MB";
    // Nothing is loaded from anywhere.
    EXPECT_THAT(std::string(page_template()), Not(::testing::ContainsRegex("(src|href)=\"http")));
}

}  // namespace
}  // namespace mano::report
