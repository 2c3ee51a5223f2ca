// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/rng.h"
#include "runner/estimate.h"
#include "runner/test_rig.h"
#include "store/test_data.h"

namespace mano::runner {
namespace {

using namespace test;

using store::test::in_child;
using store::test::new_runset;
using store::test::small_plan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(RunnerTest, RunsEveryTrialInThePlansOrder) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(2, 2, 3)));
    FakeSubstrate fake;
    std::vector<Event> events;
    Options options;
    options.listen = [&](const Event& event) { events.push_back(event); };
    const auto outcome = go(store, id, fake, options);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->runset, id);
    EXPECT_FALSE(outcome->interrupted);
    EXPECT_EQ(outcome->done, 12U);
    EXPECT_EQ(outcome->failed, 0U);
    EXPECT_EQ(outcome->spoiled, 0U);
    EXPECT_THAT(fake.order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    expect_whole(id);

    ASSERT_GE(events.size(), 36U);
    EXPECT_EQ(events.front().what, Event::What::trial_started);
    EXPECT_THAT(events.front().text, ::testing::MatchesRegex("7\\.[12] demand=9[05]%"));
    EXPECT_LT(events.front().seconds_left, 0) << "nothing has ended yet";
    EXPECT_EQ(events.front().total, 12U);
    EXPECT_EQ(events.back().what, Event::What::trial_ended);
    EXPECT_EQ(events.back().text, "goodbye");
    EXPECT_EQ(events.back().done, 12U);
    EXPECT_EQ(events.back().seconds_left, 0);

    // Once more: there is nothing left to do.
    fake.order.clear();
    const auto again = go(store, id, fake);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->done, 12U);
    EXPECT_TRUE(fake.order.empty());
}

TEST_F(RunnerTest, TwoHundredTrialsBySeveralWorkers) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(2, 1, 100)));
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                     const std::function<bool()>&) -> Result<TrialRecord> {
        std::this_thread::sleep_for(std::chrono::microseconds(request.trial.seed % 5 * 700));
        return record;
    };
    Options options;
    options.jobs = 4;
    const std::thread::id caller = std::this_thread::get_id();
    std::uint32_t ended = 0;
    options.listen = [&](const Event& event) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        if (event.what == Event::What::trial_ended) {
            EXPECT_EQ(event.done, ++ended);
        }
    };
    const auto outcome = go(store, id, fake, options);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->done, 200U);
    EXPECT_EQ(ended, 200U);
    EXPECT_LE(fake.most_at_once, 4);
    EXPECT_FALSE(died_early);
    expect_whole(id);
}

TEST_F(RunnerTest, NoWorkerEndsBeforeTheLastTrial) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 4)));
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                     const std::function<bool()>&) -> Result<TrialRecord> {
        if (request.trial.position == 3)
            std::this_thread::sleep_for(std::chrono::milliseconds(150));
        return record;
    };
    Options options;
    options.jobs = 4;
    ASSERT_TRUE(go(store, id, fake, options));
    EXPECT_FALSE(died_early);
}

TEST_F(RunnerTest, NeverMoreAtOnceThanTheSubstrateSays) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 12)));
    FakeSubstrate fake;
    fake.most_jobs = 2;
    Options options;
    options.jobs = 8;
    std::string note;
    options.listen = [&](const Event& event) {
        if (event.what == Event::What::note) note += event.text;
    };
    ASSERT_TRUE(go(store, id, fake, options));
    EXPECT_LE(fake.most_at_once, 2);
    EXPECT_EQ(note, "2 trials at once instead of 8: memory");
}

TEST_F(RunnerTest, EveryEndingIsKept) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 16)));
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                     const std::function<bool()>&) -> Result<TrialRecord> {
        record.ending = static_cast<Ending>(request.trial.position);
        record.evidence = "as seen";
        return record;
    };
    Options options;
    options.jobs = 3;
    const auto outcome = go(store, id, fake, options);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->done, 16U);
    EXPECT_EQ(outcome->failed, 7U);
    EXPECT_EQ(outcome->spoiled, 8U);
    const auto runset = store.load(id);
    EXPECT_EQ(runset->state, store::RunState::complete);
    for (std::uint32_t i = 0; i < 16; ++i) {
        EXPECT_EQ(runset->trials[i].record.ending, static_cast<Ending>(i));
        EXPECT_EQ(runset->trials[i].record.evidence, "as seen");
        EXPECT_EQ(runset->trials[i].record.samples.size(), 40U);
    }
}

TEST_F(RunnerTest, FaultsOfTheSubstrateSpoilOneTrial) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 6)));
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                     const std::function<bool()>&) -> Result<TrialRecord> {
        switch (request.trial.position) {
            case 0:
                return fail(Code::internal, "bad luck");
            case 1:
                throw std::runtime_error("thrown");
            case 2:
                throw 7;
            case 3:
                return fail(Code::hostile, "forged");
            default:
                return record;
        }
    };
    const auto outcome = go(store, id, fake);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->spoiled, 4U);
    EXPECT_EQ(outcome->done, 6U);
    const auto runset = store.load(id);
    EXPECT_EQ(runset->trials[0].record.ending, Ending::harness_fault);
    EXPECT_EQ(runset->trials[0].record.evidence, "bad luck");
    EXPECT_THAT(runset->trials[1].record.evidence, HasSubstr("thrown"));
    EXPECT_EQ(runset->trials[2].record.ending, Ending::harness_fault);
    EXPECT_EQ(runset->trials[5].record.ending, Ending::goodbye);
}

TEST_F(RunnerTest, AMachineThatCannotDoItStopsTheRunEarly) {
    store::Store store = open();
    for (const std::uint32_t trials : {200U, 2U, 1U}) {
        const std::string id = *store.create(new_runset(small_plan(1, 1, trials)));
        FakeSubstrate fake;
        fake.behave = [](const substrate::TrialRequest&, TrialRecord,
                         const std::function<bool()>&) -> Result<TrialRecord> {
            return fail(Code::environment, "qemu-system-x86_64 isn't installed");
        };
        const auto outcome = go(store, id, fake);
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().code, Code::environment);
        EXPECT_THAT(outcome.error().text(), HasSubstr("qemu-system-x86_64 isn't installed"));
        EXPECT_THAT(outcome.error().text(), HasSubstr("--resume " + id));
        EXPECT_EQ(fake.order.size(), std::min(trials, 3U));
        EXPECT_EQ(store.list()->front().trials, 0U) << "nothing was tried, so nothing ended";
        // With QEMU installed it goes on.
        fake.behave = nullptr;
        ASSERT_TRUE(go(store, id, fake));
        expect_whole(id);
    }
}

TEST_F(RunnerTest, APassingWantOfTheMachineSpoilsTrials) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 10)));
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                     const std::function<bool()>&) -> Result<TrialRecord> {
        const auto position = request.trial.position;
        if (position == 1 || position == 2 || position == 5 || position >= 8) {
            return fail(Code::environment, "no memory for trial {}", position);
        }
        return record;
    };
    const auto outcome = go(store, id, fake);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->done, 10U);
    EXPECT_EQ(outcome->spoiled, 5U);
    const auto runset = store.load(id);
    EXPECT_EQ(runset->trials[2].record.ending, Ending::harness_fault);
    EXPECT_EQ(runset->trials[9].record.evidence, "no memory for trial 9");
    EXPECT_EQ(runset->state, store::RunState::complete);
}

TEST_F(RunnerTest, StopKeepsWhatIsDoneAndResumeCompletesIt) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(2, 1, 20)));
    FakeSubstrate fake;
    std::atomic<int> begun = 0;
    fake.behave = [&](const substrate::TrialRequest&, TrialRecord record,
                      const std::function<bool()>& stop) -> Result<TrialRecord> {
        if (++begun > 10) return wait_for_stop(stop);
        return record;
    };
    Options options;
    options.jobs = 3;
    options.stop = [&] { return begun > 12; };
    const auto outcome = go(store, id, fake, options);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_TRUE(outcome->interrupted);
    EXPECT_EQ(outcome->done, 10U);
    EXPECT_EQ(store.list()->front().trials, 10U);
    EXPECT_EQ(store.load(id)->state, store::RunState::partial);

    fake.behave = nullptr;
    fake.order.clear();
    const auto rest = go(store, id, fake);
    ASSERT_TRUE(rest);
    EXPECT_FALSE(rest->interrupted);
    EXPECT_EQ(rest->done, 40U);
    EXPECT_EQ(fake.order.size(), 30U) << "what was done isn't repeated";
    expect_whole(id);
}

TEST_F(RunnerTest, WhatAStopSpoilsStaysPlanned) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 4)));
    FakeSubstrate fake;
    std::atomic<bool> pressed = false;
    // The terminal's Ctrl-C ends QEMU before anybody is asked.
    fake.behave = [&](const substrate::TrialRequest& request, TrialRecord record,
                      const std::function<bool()>&) -> Result<TrialRecord> {
        if (request.trial.position == 2) {
            pressed = true;
            record.ending = Ending::qemu_died;
        }
        return record;
    };
    Options options;
    options.stop = [&] { return pressed.load(); };
    const auto outcome = go(store, id, fake, options);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->interrupted);
    EXPECT_EQ(outcome->done, 2U);
    EXPECT_EQ(outcome->spoiled, 0U);
    fake.behave = nullptr;
    ASSERT_TRUE(go(store, id, fake));
    expect_whole(id);
}

TEST_F(RunnerTest, StopBeforeAnythingBegan) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 3)));
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest&, TrialRecord,
                     const std::function<bool()>& stop) { return wait_for_stop(stop); };
    Options options;
    options.stop = [] { return true; };
    const auto outcome = go(store, id, fake, options);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->interrupted);
    EXPECT_EQ(outcome->done, 0U);
}

TEST_F(RunnerTest, ProofsTurnATrialIntoAMissingPrecondition) {
    store::Store store = open();
    store::NewRunSet made = new_runset(small_plan(1, 1, 5));
    made.plan.proofs = {{"100 * proof.hits / proof.tries", 50, "the probe took the slow path"}};
    const std::string id = *store.create(made);
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                     const std::function<bool()>&) -> Result<TrialRecord> {
        const auto position = request.trial.position;
        record.samples.push_back(
            {"proof.hits", std::nullopt, Moment::whole, position == 1 ? 4 : 5});
        if (position != 2) {
            record.samples.push_back(
                {"proof.tries", std::nullopt, Moment::whole, position == 3 ? 0 : 10});
        }
        if (position == 4) {
            record.samples.clear();
            record.ending = Ending::panic;
        }
        return record;
    };
    const auto outcome = go(store, id, fake);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->spoiled, 3U);
    EXPECT_EQ(outcome->failed, 1U);
    const auto runset = store.load(id);
    EXPECT_EQ(runset->trials[0].record.ending, Ending::goodbye);
    for (const std::size_t i : {1U, 2U, 3U}) {
        EXPECT_EQ(runset->trials[i].record.ending, Ending::precondition_missing) << i;
        EXPECT_FALSE(runset->trials[i].record.samples.empty()) << "kept for looking at";
    }
    EXPECT_THAT(runset->trials[1].record.evidence,
                HasSubstr("the probe took the slow path (100 * proof.hits / proof.tries is 40, at "
                          "least 50 is needed)"));
    EXPECT_THAT(runset->trials[2].record.evidence, HasSubstr("unknown: proof.tries"));
    EXPECT_THAT(runset->trials[3].record.evidence, HasSubstr("no finite number"));
    EXPECT_EQ(runset->trials[4].record.ending, Ending::panic);
}

TEST_F(RunnerTest, AProofThatIsNoFormulaStopsBeforeTheFirstBoot) {
    store::Store store = open();
    store::NewRunSet made = new_runset(small_plan(1, 1, 1));
    made.plan.proofs = {{"a +", 1, "nothing"}};
    const std::string id = *store.create(made);
    FakeSubstrate fake;
    const auto outcome = go(store, id, fake);
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().text(), HasSubstr("'a +'"));
    EXPECT_TRUE(fake.order.empty());
}

TEST_F(RunnerTest, AnotherMachineMayNotGoOn) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 2)));
    FakeSubstrate fake;
    fake.machine["qemu"] = "10.0.2";
    const auto outcome = go(store, id, fake);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::environment);
    EXPECT_THAT(outcome.error().text(), HasSubstr("qemu was 7.2.22 and is 10.0.2"));
    EXPECT_TRUE(fake.order.empty());
}

TEST_F(RunnerTest, TwoProcessesDoNotRunOneRunSet) {
    store::Store store = open();
    const std::string id = *store.create(new_runset(small_plan(1, 1, 2)));
    const auto held = open().claim(id);
    ASSERT_TRUE(held);
    FakeSubstrate fake;
    const auto outcome = go(store, id, fake);
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().text(), HasSubstr("being run by another process"));
    EXPECT_TRUE(fake.order.empty());
}

TEST_F(RunnerTest, AFaultyListenerOrStopEndsTheRunInOrder) {
    store::Store store = open();
    FakeSubstrate fake;
    fake.behave = [](const substrate::TrialRequest&, TrialRecord,
                     const std::function<bool()>& stop) { return wait_for_stop(stop); };
    for (const bool listener : {true, false}) {
        const std::string id = *store.create(new_runset(small_plan(1, 1, 5)));
        Options options;
        options.jobs = 2;
        if (listener) {
            options.listen = [](const Event&) { throw std::runtime_error("no terminal"); };
        } else {
            options.stop = []() -> bool { throw std::runtime_error("no terminal"); };
        }
        const auto outcome = go(store, id, fake, options);
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().code, Code::internal);
        EXPECT_THAT(outcome.error().text(), HasSubstr("no terminal"));
    }
}

TEST_F(RunnerTest, KilledInMidRunItResumesToTheSameResult) {
    constexpr std::uint64_t kSeed = 77;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    std::uint64_t kills_in_mid_run = 0;
    for (int round = 0; round < 8; ++round) {
        const std::string id = *open().create(new_runset(small_plan(2, 2, 5)));
        const pid_t child = ::fork();
        if (child == 0) {
            store::Store store = open();
            FakeSubstrate fake;
            fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                             const std::function<bool()>&) -> Result<TrialRecord> {
                std::this_thread::sleep_for(std::chrono::milliseconds(request.trial.seed % 3));
                return record;
            };
            Options options;
            options.jobs = 2;
            ::_exit(go(store, id, fake, options) ? 0 : 1);
        }
        // Killed at some moment after the first few trials, however slow this machine is.
        store::Store store = open();
        const std::uint64_t wanted = 1 + rng.below(15);
        while (store.list()->front().trials < wanted)
            ::usleep(500);
        ::usleep(static_cast<useconds_t>(rng.below(5000)));
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        const std::uint64_t done = store.list()->front().trials;
        if (WIFSIGNALED(status) && done > 0 && done < 20) ++kills_in_mid_run;
        FakeSubstrate fake;
        const auto outcome = go(store, id, fake);
        ASSERT_TRUE(outcome) << outcome.error().text();
        EXPECT_EQ(fake.order.size(), 20 - done);
        expect_whole(id);
    }
    EXPECT_GT(kills_in_mid_run, 0U) << "every kill came too early or too late";
}

TEST_F(RunnerTest, AFullDiskStopsTheRunAndItGoesOnLater) {
    const std::string id = *open().create(new_runset(small_plan(2, 1, 100)));
    const int status = in_child([this, &id] {
        store::Store store = open();
        std::signal(SIGXFSZ, SIG_IGN);
        const struct rlimit limit = {1U << 20U, RLIM_INFINITY};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
        FakeSubstrate fake;
        fake.behave = [](const substrate::TrialRequest& request, TrialRecord record,
                         const std::function<bool()>&) -> Result<TrialRecord> {
            // A console that hardly shrinks.
            Rng rng(request.trial.seed);
            for (int i = 0; i < 60'000; ++i) {
                record.console += static_cast<char>(rng.below(256));
            }
            return record;
        };
        Options options;
        options.jobs = 2;
        const auto outcome = go(store, id, fake, options);
        if (outcome || outcome.error().code != Code::environment) return 2;
        const std::string text = outcome.error().text();
        if (text.find("no space is left") == std::string::npos) return 3;
        if (text.find("--resume " + id) == std::string::npos) return 4;
        if (text.find(file().string()) == std::string::npos) return 5;
        const std::uint64_t done = store.list()->front().trials;
        if (text.find(fmt::format("{} of 200 trials", done)) == std::string::npos) return 6;
        return done > 3 && done < 100 ? 0 : 7;
    });
    ASSERT_EQ(status, 0);
    store::Store store = open();
    FakeSubstrate fake;
    const auto outcome = go(store, id, fake);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->done, 200U);
    EXPECT_EQ(store.load(id)->state, store::RunState::complete);
}

TEST(Estimate, UnknownUntilATrialEndedThenByCell) {
    const plan::PlannedTrial fast{0, 0, 0, 0, 1};
    const plan::PlannedTrial slow{1, 0, 1, 0, 1};
    const plan::PlannedTrial other_arm{2, 1, 1, 0, 1};
    Estimate estimate;
    EXPECT_LT(estimate.seconds_left(std::vector{fast, slow}, {}, 1), 0);
    estimate.ended(fast, 2);
    EXPECT_EQ(estimate.seconds_of(slow), 2) << "nothing better is known";
    estimate.ended(slow, 10);
    estimate.ended(slow, 20);
    EXPECT_EQ(estimate.seconds_of(fast), 2);
    EXPECT_EQ(estimate.seconds_of(other_arm), 15) << "the case decides, not the arm";
    EXPECT_EQ(estimate.seconds_left(std::vector{fast, slow, other_arm}, {}, 1), 32);
    EXPECT_EQ(estimate.seconds_left(std::vector{fast, slow, other_arm}, {}, 2), 16);
    const std::vector<Estimate::Running> running = {{slow, 5}, {fast, 100}};
    EXPECT_EQ(estimate.seconds_left({}, running, 4), 10) << "the longest one decides";
    EXPECT_EQ(estimate.seconds_left({}, {}, 4), 0);
}

}  // namespace
}  // namespace mano::runner
