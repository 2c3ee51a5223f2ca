// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "report/report.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

TEST(Csv, OneRowARawValueAndEmptyForUnknown) {
    testing::Builder builder({"base, \"old\"", "new"});
    builder.trial(0)
        .counter("vmstat.pgfault", 0.5, 0)
        .counter("vmstat.pgfault", std::nullopt, 1)
        .value("probe.time_ns", 1e18);
    builder.trial(1).ends(measure::Ending::harness_fault, "spoiled trials are not exported");
    const auto csv = render_csv(builder.runset);
    ASSERT_TRUE(csv);
    EXPECT_EQ(*csv,
              "arm,case,trial,seed,iteration,metric,unit,value,kind\r\n"
              "\"base, \"\"old\"\"\",,0,1,,probe.time_ns,ns,1e+18,counter\r\n"
              "\"base, \"\"old\"\"\",,0,1,0,vmstat.pgfault,count,0.5,counter\r\n"
              "\"base, \"\"old\"\"\",,0,1,1,vmstat.pgfault,count,,counter\r\n"
              "\"base, \"\"old\"\"\",,0,1,,trial.failed,count,0,counter\r\n");
}

// Trials run in a random order; whoever reads the rows again takes the first arm for the base.
TEST(Csv, TheBaseComesFirst) {
    testing::Builder builder({"old", "new"});
    builder.trial(1).value("probe.ops", 2);
    builder.trial(0).value("probe.ops", 1);
    const auto csv = render_csv(builder.runset);
    ASSERT_TRUE(csv);
    EXPECT_LT(csv->find("\r\nold,"), csv->find("\r\nnew,"));
}

}  // namespace
}  // namespace mano::report
