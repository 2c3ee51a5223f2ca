// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/stated.h"

#include <gtest/gtest.h>

namespace mano::measure {
namespace {

TEST(Stated, ReadsBackWhatItWrote) {
    Stated stated;
    stated.n = 5;
    stated.mean = -6.962e10;
    stated.stddev_pct = 0.1;
    stated.minimum = 1.0 / 3;
    stated.change = "+3.2";
    const Fact fact = fact_of("sched_debug.cfs_rq:/.load.avg", stated);
    EXPECT_EQ(fact.key, "stated.sched_debug.cfs_rq:/.load.avg");
    EXPECT_EQ(stated_from(fact), stated);
    EXPECT_EQ(stated_from(fact_of("m", {})), Stated{});
}

TEST(Stated, RefusesWhatItDidNotWrite) {
    for (const std::string_view text : {"mean", "mean=", "mean=1x", "n=-1", "mean=nan", "mean=inf",
                                        "other=1", "n=1;;", "n=99999999999999999999999"}) {
        EXPECT_FALSE(stated_from({"stated.m", std::string(text)})) << text;
    }
    EXPECT_FALSE(stated_from({"state.thp", "never"}));
}

TEST(Stated, OnlyARecordWithoutSamplesStandsForOthers) {
    TrialRecord record;
    EXPECT_FALSE(stands_for_others(record));
    record.facts.push_back({"state.thp", "never"});
    EXPECT_FALSE(stands_for_others(record));
    record.facts.push_back(fact_of("m", {}));
    EXPECT_TRUE(stands_for_others(record));
    record.samples.push_back({"m", std::nullopt, Moment::whole, 1});
    EXPECT_FALSE(stands_for_others(record));
}

}  // namespace
}  // namespace mano::measure
