// SPDX-License-Identifier: GPL-2.0-or-later
// Sequential runs: where they look, where they end, and how they go on after a stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/test_rig.h"

namespace mano::runner::test {
namespace {

using store::test::new_runset;
using store::test::small_plan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
class LooksTest : public RunnerTest {};

// A plan with looks ends where the caller has enough, is complete then, and stays so.
TEST_F(LooksTest, EndsAtALook) {
    store::Store store = open();
    plan::Plan plan = small_plan(2, 2, 9);
    plan.looks = {2, 4, 9};
    plan.until_pct = 5;
    plan::lay_out_trials(plan);
    const std::string id = *store.create(new_runset(plan));
    FakeSubstrate fake;
    std::vector<std::uint32_t> asked;
    std::vector<Event> events;
    Options options;
    options.listen = [&](const Event& event) { events.push_back(event); };
    options.enough = [&](std::uint32_t trials) -> Result<bool> {
        asked.push_back(trials);
        EXPECT_EQ(fake.order.size(), trials * 4U) << "all trials of the stage have ended";
        return trials == 4;
    };
    const auto outcome = go(store, id, fake, options);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_FALSE(outcome->interrupted);
    EXPECT_EQ(outcome->done, 16U);
    EXPECT_THAT(asked, ElementsAre(2, 4));
    EXPECT_EQ(events.front().total, 8U) << "up to the first look";
    EXPECT_EQ(events.back().total, 16U);
    const auto runset = store.load(id);
    ASSERT_TRUE(runset);
    EXPECT_EQ(runset->state, store::RunState::complete);
    for (const store::StoredTrial& trial : runset->trials)
        EXPECT_EQ(trial.done, trial.planned.row < 4);
}

TEST_F(LooksTest, LooksThatNeverHaveEnoughRunEverything) {
    store::Store store = open();
    plan::Plan plan = small_plan(2, 1, 5);
    plan.looks = {2, 3, 5};
    plan.until_pct = 5;
    plan::lay_out_trials(plan);
    const std::string id = *store.create(new_runset(plan));
    FakeSubstrate fake;
    int asked = 0;
    Options options;
    options.jobs = 3;
    options.enough = [&](std::uint32_t) -> Result<bool> {
        ++asked;
        return false;
    };
    ASSERT_TRUE(go(store, id, fake, options));
    EXPECT_EQ(asked, 2) << "at the last look there is nothing to decide";
    expect_whole(id);
}

// Broken off between two looks: resumed, it looks again where it was.
TEST_F(LooksTest, AResumedRunLooksAgain) {
    store::Store store = open();
    plan::Plan plan = small_plan(2, 1, 6);
    plan.looks = {2, 4, 6};
    plan.until_pct = 5;
    plan::lay_out_trials(plan);
    const std::string id = *store.create(new_runset(plan));
    FakeSubstrate fake;
    Options options;
    options.enough = [](std::uint32_t) -> Result<bool> { return false; };
    options.stop = [&] { return fake.begun() >= 6; };
    fake.behave = [&](const substrate::TrialRequest&, TrialRecord record,
                      const std::function<bool()>& stop) -> Result<TrialRecord> {
        if (fake.begun() >= 6) return wait_for_stop(stop);
        return record;
    };
    const auto first = go(store, id, fake, options);
    ASSERT_TRUE(first) << first.error().text();
    EXPECT_TRUE(first->interrupted);
    FakeSubstrate again;
    std::vector<std::uint32_t> asked;
    Options rest;
    rest.enough = [&](std::uint32_t trials) -> Result<bool> {
        asked.push_back(trials);
        return trials == 4;
    };
    const auto second = go(store, id, again, rest);
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_THAT(asked, ElementsAre(2, 4));
    EXPECT_EQ(second->done, 8U);
}

// What can't be looked at stops the run; what is done is kept.
TEST_F(LooksTest, AFailedLookIsAnError) {
    store::Store store = open();
    plan::Plan plan = small_plan(2, 1, 4);
    plan.looks = {2, 4};
    plan.until_pct = 5;
    plan::lay_out_trials(plan);
    const std::string id = *store.create(new_runset(plan));
    FakeSubstrate fake;
    Options options;
    options.enough = [](std::uint32_t) -> Result<bool> { return fail(Code::corrupt, "no look"); };
    const auto outcome = go(store, id, fake, options);
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().text(), HasSubstr("no look"));
    EXPECT_EQ(store.load(id, false, false)->state, store::RunState::partial);
}

}  // namespace
}  // namespace mano::runner::test
