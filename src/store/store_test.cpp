// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "store/sql.h"
#include "store/test_data.h"

namespace mano::store {
namespace {

using measure::Ending;
using measure::Moment;
using measure::TrialRecord;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class StoreTest : public ::testing::Test {
  protected:
    std::filesystem::path file() const { return folder_.path() / "store.db"; }
    Store open() {
        auto store = Store::open(file());
        if (!store) throw std::runtime_error(store.error().text());
        return std::move(*store);
    }
    // SQL from outside, as a user with sqlite3 would.
    std::unique_ptr<Database> outside() {
        return std::move(*Database::open(file().string(), SQLITE_OPEN_READWRITE, "outside"));
    }

  private:
    TempFolder folder_ = test::temp_folder();
};

TEST_F(StoreTest, KeepsARunSetWhole) {
    Store store = open();
    NewRunSet made = test::new_runset(test::small_plan(2, 3, 2), "first");
    made.remarks = {"KVM opens but its guests hang: TCG is used", ""};
    const auto id = store.create(made);
    ASSERT_TRUE(id) << id.error().text();
    EXPECT_THAT(*id, MatchesRegex("[0-9]{8}-[0-9]{6}-shm-churn-[0-9a-f]{4}"));

    TrialRecord record;
    record.ending = Ending::panic;
    record.evidence = "Kernel panic - not syncing: System is deadlocked on memory";
    record.samples = {{"vmstat.pgscan_direct", 0, Moment::before, 17},
                      {"vmstat.pgscan_direct", 0, Moment::after, std::nullopt},
                      {"trial.level", std::nullopt, Moment::whole, 0.0}};
    record.facts = {{"swap", "zram 512 MiB lz4"}};
    record.losses = {{"psi", 3, "iterations with fewer than 10 jiffies"}};
    record.console = std::string(100'000, 'x') + "\npanic";
    record.host_ns = 5'000'000'000;
    ASSERT_TRUE(store.finish_trial(*id, 4, record));

    const auto back = store.load(*id);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->id, *id);
    EXPECT_EQ(back->name, "first");
    EXPECT_EQ(back->state, RunState::partial);
    EXPECT_EQ(back->finished, "");
    EXPECT_THAT(back->started, MatchesRegex("....-..-..T..:..:..Z"));
    EXPECT_EQ(back->command_line, made.command_line);
    EXPECT_EQ(back->version, "0.1.0");
    EXPECT_EQ(back->plan_hash, plan::hash(made.plan));
    EXPECT_EQ(plan::to_json(back->plan), plan::to_json(made.plan));
    EXPECT_EQ(back->identity, made.identity);
    EXPECT_EQ(back->remarks, made.remarks);
    ASSERT_EQ(back->arms.size(), 2U);
    EXPECT_EQ(back->arms[1].kernel_json, made.arms[1].kernel_json);
    ASSERT_EQ(back->trials.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(back->trials[i].planned, made.plan.trials[i]);
        EXPECT_EQ(back->trials[i].done, i == 4);
    }
    const StoredTrial& trial = back->trials[4];
    EXPECT_EQ(trial.standing, measure::Standing::failed);
    EXPECT_EQ(trial.record.ending, Ending::panic);
    EXPECT_EQ(trial.record.evidence, record.evidence);
    EXPECT_EQ(trial.record.samples, record.samples);
    EXPECT_EQ(trial.record.facts, record.facts);
    EXPECT_EQ(trial.record.losses, record.losses);
    EXPECT_EQ(trial.record.console, record.console);
    EXPECT_EQ(trial.record.host_ns, record.host_ns);

    const auto bare = store.load(*id, false, false);
    ASSERT_TRUE(bare);
    EXPECT_TRUE(bare->trials[4].done);
    EXPECT_TRUE(bare->trials[4].record.samples.empty());
    EXPECT_EQ(bare->trials[4].record.console, "");
    EXPECT_EQ(bare->trials[4].record.evidence, record.evidence);
}

TEST_F(StoreTest, WhatIsNotFiniteIsUnknownWithALoss) {
    Store store = open();
    const std::string id = *store.create(test::new_runset(test::small_plan(1, 1, 1)));
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    TrialRecord record;
    record.ending = Ending::goodbye;
    record.samples = {{"a", 0, Moment::whole, std::nan("")},
                      {"a", 1, Moment::whole, -kInfinity},
                      {"b", 0, Moment::whole, kInfinity},
                      {"b", 1, Moment::whole, -0.0},
                      {"c", 0, Moment::whole, std::numeric_limits<double>::denorm_min()}};
    record.losses = {{"own", 1, "before"}};
    ASSERT_TRUE(store.finish_trial(id, 0, record));
    const auto back = store.load(id);
    ASSERT_TRUE(back);
    const TrialRecord& got = back->trials[0].record;
    EXPECT_EQ(got.samples[0].value, std::nullopt);
    EXPECT_EQ(got.samples[1].value, std::nullopt);
    EXPECT_EQ(got.samples[2].value, std::nullopt);
    EXPECT_EQ(got.samples[3].value, 0.0);
    EXPECT_EQ(got.samples[4].value, std::numeric_limits<double>::denorm_min());
    ASSERT_EQ(got.losses.size(), 3U);
    EXPECT_EQ(got.losses[0].source, "own");
    EXPECT_EQ(got.losses[1].source, "a");
    EXPECT_EQ(got.losses[1].count, 2U);
    EXPECT_EQ(got.losses[2].source, "b");
    EXPECT_EQ(got.losses[2].count, 1U);
    EXPECT_THAT(got.losses[2].meaning, HasSubstr("unknown"));
}

TEST_F(StoreTest, ATrialEndsOnce) {
    Store store = open();
    const std::string id = *store.create(test::new_runset(test::small_plan(1, 1, 2)));
    TrialRecord record;
    record.ending = Ending::goodbye;
    record.samples = {{"a", 0, Moment::whole, 1}};
    ASSERT_TRUE(store.finish_trial(id, 0, record));
    record.samples[0].value = 2;
    const Status again = store.finish_trial(id, 0, record);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Code::invalid);
    EXPECT_EQ(store.load(id)->trials[0].record.samples[0].value, 1);
    EXPECT_EQ(store.finish_trial(id, 2, record).error().code, Code::not_found);
    EXPECT_EQ(store.finish_trial("nothing", 0, record).error().code, Code::not_found);
}

TEST_F(StoreTest, RowsAreNeverChangedNotEvenFromOutside) {
    Store store = open();
    const std::string id = *store.create(test::new_runset(test::small_plan(1, 1, 2)));
    TrialRecord record;
    record.ending = Ending::goodbye;
    record.samples = {{"a", 0, Moment::whole, 1}};
    record.facts = {{"k", "v"}};
    record.losses = {{"s", 1, "m"}};
    record.console = "c";
    ASSERT_TRUE(store.finish_trial(id, 0, record));
    const auto database = outside();
    for (const char* sql :
         {"UPDATE samples SET value = 2", "UPDATE facts SET value = 'w'",
          "UPDATE losses SET count = 0", "UPDATE attachments SET bytes = 0",
          "UPDATE trials SET ending = 1 WHERE position = 0", "UPDATE trials SET seed = 5",
          "UPDATE runsets SET plan_json = '{}'", "INSERT INTO samples VALUES (99, 0, 1, 0, 0, 1)",
          "INSERT INTO samples VALUES (1, 7, 1, 0, 0, 'text')"}) {
        EXPECT_FALSE(database->execute(sql)) << sql;
    }
    EXPECT_EQ(store.load(id)->trials[0].record.samples, record.samples);
}

TEST_F(StoreTest, CompleteNeedsEveryTrial) {
    Store store = open();
    const std::string id = *store.create(test::new_runset(test::small_plan(2, 1, 1)));
    TrialRecord record;
    record.ending = Ending::goodbye;
    ASSERT_TRUE(store.finish_trial(id, 1, record));
    const Status early = store.complete(id);
    ASSERT_FALSE(early);
    EXPECT_THAT(early.error().text(), HasSubstr("1 of its trials"));
    ASSERT_TRUE(store.finish_trial(id, 0, record));
    ASSERT_TRUE(store.complete(id));
    ASSERT_TRUE(store.complete(id));
    const auto back = store.load(id);
    EXPECT_EQ(back->state, RunState::complete);
    EXPECT_THAT(back->finished, MatchesRegex("....-..-..T..:..:..Z"));
}

TEST_F(StoreTest, ListsNewestFirstWithCounts) {
    Store store = open();
    EXPECT_TRUE(store.list()->empty());
    const std::string first = *store.create(test::new_runset(test::small_plan(2, 1, 3), "one"));
    const std::string second = *store.create(test::new_runset(test::small_plan(1, 1, 1), "two"));
    TrialRecord record;
    for (const Ending ending : {Ending::goodbye, Ending::hung, Ending::qemu_died, Ending::panic}) {
        record.ending = ending;
        ASSERT_TRUE(
            store.finish_trial(first, static_cast<std::uint32_t>(record.host_ns++), record));
    }
    const auto all = store.list();
    ASSERT_TRUE(all) << all.error().text();
    ASSERT_EQ(all->size(), 2U);
    EXPECT_EQ((*all)[0].id, second);
    const Summary& one = (*all)[1];
    EXPECT_EQ(one.id, first);
    EXPECT_EQ(one.name, "one");
    EXPECT_EQ(one.experiment, "shm-churn");
    EXPECT_EQ(one.arms, (std::vector<std::string>{"7.1", "7.2"}));
    EXPECT_EQ(one.planned, 6U);
    EXPECT_EQ(one.trials, 4U);
    EXPECT_EQ(one.failed, 2U);
    EXPECT_EQ(one.spoiled, 1U);
    EXPECT_EQ(one.state, RunState::partial);
}

// All of a run set that was made elsewhere, or nothing of it.
TEST_F(StoreTest, AddIsAllOrNothing) {
    Store store = open();
    NewRunSet runset = test::new_runset(test::small_plan(2, 1, 2), "made");
    std::vector<TrialRecord> records(runset.plan.trials.size());
    for (TrialRecord& record : records) {
        record.ending = Ending::goodbye;
        record.samples.push_back({"vmstat.pgfault", std::nullopt, Moment::whole, 7});
    }
    const auto id = store.add(runset, records);
    ASSERT_TRUE(id) << id.error().text();
    const auto whole = store.load(*id);
    ASSERT_TRUE(whole) << whole.error().text();
    EXPECT_EQ(whole->state, RunState::complete);
    EXPECT_EQ(whole->trials.back().record.samples, records.back().samples);
    records.pop_back();
    EXPECT_FALSE(store.add(runset, records)) << "a trial has no record";
    records.resize(records.size() + 2);
    EXPECT_FALSE(store.add(runset, records)) << "a record has no trial";
    EXPECT_EQ(store.list()->size(), 1U) << "nothing is left of what failed";
    // The names that it would have added weren't remembered as added.
    records.resize(runset.plan.trials.size());
    records.back().ending = Ending::goodbye;
    records.back().samples.push_back({"vmstat.brand_new", std::nullopt, Moment::whole, 1});
    ASSERT_TRUE(store.add(runset, records));
}

TEST_F(StoreTest, LastIsNoName) {
    Store store = open();
    const auto id = store.create(test::new_runset(test::small_plan(1, 1, 1), "last"));
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code, Code::invalid);
    EXPECT_TRUE(store.list()->empty());
}

TEST_F(StoreTest, FindsByIdNamePrefixAndLast) {
    Store store = open();
    EXPECT_THAT(store.find("last").error().text(), HasSubstr("no run set yet"));
    EXPECT_THAT(store.find("x").error().text(), HasSubstr("holds none yet"));
    const std::string a = *store.create(test::new_runset(test::small_plan(1, 1, 1), "patch-v1"));
    const std::string b = *store.create(test::new_runset(test::small_plan(1, 1, 1), "patch-v2"));
    const std::string c = *store.create(test::new_runset(test::small_plan(1, 1, 1), "patch-v1"));
    EXPECT_EQ(*store.find(a), a);
    EXPECT_EQ(*store.find("last"), c);
    EXPECT_EQ(*store.find("patch-v1"), c);
    EXPECT_EQ(*store.find("patch-v2"), b);
    // A prefix as long as tells it apart from the two others.
    std::size_t length = 1;
    while (length < b.size() && (a.substr(0, length) == b.substr(0, length) ||
                                 c.substr(0, length) == b.substr(0, length))) {
        ++length;
    }
    EXPECT_EQ(*store.find(b.substr(0, length)), b);

    const auto ambiguous = store.find("20");
    ASSERT_FALSE(ambiguous);
    EXPECT_EQ(ambiguous.error().code, Code::not_found);
    EXPECT_THAT(ambiguous.error().text(), HasSubstr(a));
    EXPECT_THAT(ambiguous.error().text(), HasSubstr(b));
    const auto typo = store.find("patch-v3");
    ASSERT_FALSE(typo);
    EXPECT_EQ(typo.error().code, Code::not_found);
    EXPECT_THAT(typo.error().text(), HasSubstr("did you mean patch-v"));
    // Nothing that a user types is a pattern.
    for (const char* odd : {"", "%", "_", "2%", "' OR 1=1 --", "*"}) {
        EXPECT_FALSE(store.find(odd)) << odd;
    }
}

TEST_F(StoreTest, RemovesOneRunSetAndItsSpace) {
    Store store = open();
    const std::string keep = *store.create(test::new_runset(test::small_plan(1, 1, 1), "keep"));
    TrialRecord record;
    record.ending = Ending::goodbye;
    record.samples = {{"a", 0, Moment::whole, 7}};
    ASSERT_TRUE(store.finish_trial(keep, 0, record));
    const std::string away = *store.create(test::new_runset(test::small_plan(1, 1, 20), "away"));
    for (std::uint32_t i = 0; i < 2000; ++i)
        record.samples.push_back({"b", i, Moment::whole, 1.5});
    for (std::uint32_t i = 0; i < 20; ++i)
        ASSERT_TRUE(store.finish_trial(away, i, record));
    const auto before = *outside()->number("PRAGMA page_count");
    ASSERT_TRUE(store.remove("away"));
    EXPECT_FALSE(store.find(away));
    EXPECT_EQ(store.load(keep)->trials[0].record.samples.size(), 1U);
    EXPECT_EQ(*outside()->number("SELECT count(*) FROM samples"), 1);
    EXPECT_LT(*outside()->number("PRAGMA page_count"), before / 4);
    EXPECT_EQ(store.remove("away").error().code, Code::not_found);
}

TEST_F(StoreTest, ARunSetIsRunByOneAtATime) {
    Store store = open();
    const std::string a = *store.create(test::new_runset(test::small_plan(1, 1, 1)));
    const std::string b = *store.create(test::new_runset(test::small_plan(1, 1, 1)));
    auto held = store.claim(a);
    ASSERT_TRUE(held) << held.error().text();
    Store other = open();
    const auto refused = other.claim(a);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::environment);
    EXPECT_THAT(refused.error().text(), HasSubstr(a));
    EXPECT_TRUE(other.claim(b));
    held->close();
    EXPECT_TRUE(other.claim(a));
}

TEST_F(StoreTest, WrongPlansAreRefused) {
    Store store = open();
    NewRunSet runset = test::new_runset(test::small_plan(1, 1, 2));
    runset.plan.trials[1].arm = 1;
    EXPECT_EQ(store.create(runset).error().code, Code::invalid);
    runset = test::new_runset(test::small_plan(1, 1, 2));
    runset.plan.trials[1].position = 0;
    EXPECT_EQ(store.create(runset).error().code, Code::invalid);
    runset = test::new_runset(plan::Plan());
    EXPECT_EQ(store.create(runset).error().code, Code::invalid);
    EXPECT_TRUE(store.list()->empty());
}

TEST_F(StoreTest, ViewsSayWhatTheProgramSays) {
    Store store = open();
    const std::string id = *store.create(test::new_runset(test::small_plan(1, 2, 8)));
    for (std::uint32_t i = 0; i < 16; ++i) {
        TrialRecord record;
        record.ending = static_cast<Ending>(i);
        record.samples = {{"m", i, static_cast<Moment>(i % 3), i}};
        ASSERT_TRUE(store.finish_trial(id, i, record));
    }
    const auto database = outside();
    auto look = database->prepare(
        "SELECT t.trial, t.ending, t.standing, s.moment, s.value, s.metric FROM v_trials t "
        "JOIN v_samples s ON s.runset = t.runset AND s.trial = t.trial ORDER BY t.trial");
    ASSERT_TRUE(look) << look.error().text();
    unsigned rows = 0;
    for (; *look->step(); ++rows) {
        const auto ending = static_cast<Ending>(rows);
        EXPECT_EQ(look->integer(0), rows);
        EXPECT_EQ(look->text(1), measure::name_of(ending));
        EXPECT_EQ(look->text(2), measure::name_of(measure::standing(ending)));
        EXPECT_EQ(look->text(3), (std::array{"before", "after", "whole"}[rows % 3]));
        EXPECT_EQ(look->real(4), rows);
        EXPECT_EQ(look->text(5), "m");
    }
    EXPECT_EQ(rows, 16U);
}

TEST_F(StoreTest, ThreadsMayFinishTrialsTogether) {
    Store store = open();
    const std::string id = *store.create(test::new_runset(test::small_plan(2, 1, 20)));
    std::vector<std::thread> threads;
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
        threads.emplace_back([&store, &id, worker] {
            for (std::uint32_t i = worker; i < 40; i += 4) {
                TrialRecord record;
                record.ending = Ending::goodbye;
                record.samples = {{fmt::format("m{}", i % 7), i, Moment::whole, i}};
                EXPECT_TRUE(store.finish_trial(id, i, record));
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    const auto back = store.load(id);
    for (std::uint32_t i = 0; i < 40; ++i) {
        ASSERT_EQ(back->trials[i].record.samples.size(), 1U);
        EXPECT_EQ(back->trials[i].record.samples[0].metric, fmt::format("m{}", i % 7));
        EXPECT_EQ(back->trials[i].record.samples[0].value, i);
    }
}

// A name stands in tables and on command lines, and is never taken for an id.
TEST_F(StoreTest, NamesThatCantBe) {
    Store store = open();
    const auto named = [&](const std::string& name) {
        return store.create(test::new_runset(test::small_plan(1, 1, 1), name)).has_value();
    };
    for (const std::string& bad : {std::string("last"), std::string("a\nb"), std::string("\x1b[2J"),
                                   std::string("-x"), std::string("2026"), std::string("20261201"),
                                   std::string("20261201-0329"), std::string(65, 'x')}) {
        EXPECT_FALSE(named(bad)) << bad;
    }
    for (const char* good : {"", "x y", "v2", "2026 autumn", "7.3", "größer", "20261201x"})
        EXPECT_TRUE(named(good)) << good;
}

TEST_F(StoreTest, EveryRunSetComesBackAsItWas) {
    constexpr std::uint64_t kSeed = 20'261'130;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    Store store = open();
    for (int round = 0; round < 60; ++round) {
        const NewRunSet made = test::random_runset(rng);
        const auto id = store.create(made);
        ASSERT_TRUE(id) << "seed " << kSeed << " round " << round << ": " << id.error().text();
        std::map<std::uint32_t, TrialRecord> records;
        for (const plan::PlannedTrial& trial : made.plan.trials) {
            if (rng.below(4) == 0) continue;
            records[trial.position] = test::random_record(rng);
            const Status done = store.finish_trial(*id, trial.position, records[trial.position]);
            ASSERT_TRUE(done) << done.error().text();
        }
        if (rng.below(2) == 0) store = open();
        const auto back = store.load(*id);
        ASSERT_TRUE(back) << "seed " << kSeed << " round " << round << ": " << back.error().text();
        EXPECT_EQ(plan::to_json(back->plan), plan::to_json(made.plan));
        EXPECT_EQ(back->name, made.name);
        EXPECT_EQ(back->command_line, made.command_line);
        EXPECT_EQ(back->identity, made.identity);
        EXPECT_EQ(back->remarks, made.remarks);
        for (const StoredTrial& trial : back->trials) {
            const auto record = records.find(trial.planned.position);
            ASSERT_EQ(trial.done, record != records.end());
            if (!trial.done) continue;
            const TrialRecord& want = record->second;
            EXPECT_EQ(trial.record.ending, want.ending);
            EXPECT_EQ(trial.standing, measure::standing(want.ending));
            EXPECT_EQ(trial.record.evidence, want.evidence);
            EXPECT_EQ(trial.record.console, want.console);
            EXPECT_EQ(trial.record.samples, want.samples);
            EXPECT_EQ(trial.record.facts, want.facts);
            EXPECT_EQ(trial.record.losses, want.losses);
            EXPECT_EQ(trial.record.host_ns, want.host_ns);
        }
    }
}

}  // namespace
}  // namespace mano::store
