// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interchange/interchange.h"
#include "report/test_runsets.h"

namespace mano::interchange {
namespace {

using ::testing::HasSubstr;

std::string complaint(std::string_view text) {
    const auto values = read_published(text, "p.csv");
    if (values) return "accepted";
    EXPECT_EQ(values.error().code, Code::hostile);
    return values.error().text();
}

TEST(Published, ColumnsInAnyOrder) {
    const auto values =
        read_published("value,arm,case,metric\r\n-1.5,a,x=1,vmstat.pgfault\r\n", "p");
    ASSERT_TRUE(values) << values.error().text();
    ASSERT_EQ(values->size(), 1U);
    EXPECT_EQ(values->front().value, -1.5);
    EXPECT_EQ(values->front().case_, "x=1");
    EXPECT_EQ(values->front().source, "");
}

TEST(Published, FaultsHaveAPlace) {
    EXPECT_THAT(complaint(""), HasSubstr("p.csv:1:1: the file is empty"));
    EXPECT_THAT(complaint("case,metric,arm\n"), HasSubstr("no column \"value\""));
    EXPECT_THAT(complaint("case,metric,arm,wert\n"), HasSubstr("p.csv:1:4: \"wert\""));
    EXPECT_THAT(complaint("case,case,metric,arm,value\n"), HasSubstr("a second column"));
    EXPECT_THAT(complaint("case,metric,arm,value\n,m,a,1\n,m,a,nan\n"),
                HasSubstr("p.csv:3:4: \"nan\""));
    EXPECT_THAT(complaint("case,metric,arm,value\n,m,a\n"), HasSubstr("3 fields, expected 4"));
    EXPECT_THAT(complaint("case,metric,arm,value\n,,a,1\n"), HasSubstr("p.csv:2:2: no metric"));
}

// What was published stands beside our medians; what isn't there is "-", never 0.
TEST(Published, BesideTheMedians) {
    report::testing::Builder builder({"before", "after"});
    for (int i = 0; i < 3; ++i) {
        builder.trial(0).value("probe.ops", 100 + i);
        builder.trial(1).value("probe.ops", 50 + i);
    }
    report::Options options;
    options.published = *read_published(
        "case,metric,arm,value,source\n,probe.ops,before,10,a mail\n,probe.ops,after,4,a mail\n"
        ",probe.gone,before,0,a mail\n",
        "p.csv");
    const auto data = report::build(builder.runset, options);
    ASSERT_TRUE(data) << data.error().text();
    const std::string text = report::render_text(*data);
    EXPECT_THAT(text, HasSubstr("published (a mail), beside the medians over trials here:\n"));
    EXPECT_THAT(text, HasSubstr(" 10 -> 4 (-60.0%)        101 -> 51 (-49.5%)\n"));
    EXPECT_THAT(text, HasSubstr("probe.gone                                           0"
                                "                         -\n"));
    EXPECT_THAT(report::render_json(*data), HasSubstr("\"here\": null"));
}

}  // namespace
}  // namespace mano::interchange
