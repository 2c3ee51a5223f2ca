// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/digest.h"
#include "base/rng.h"

namespace mano::plan {
namespace {

std::string random_text(Rng& rng) {
    static constexpr std::string_view kLetters = "ab.Z9 \"\\/\n\tµ€{}[]:,";
    std::string text;
    for (std::uint64_t left = rng.below(12); left > 0; --left) {
        // Whole UTF-8 characters only: others are replaced, not kept.
        const std::uint64_t pick = rng.below(4);
        if (pick == 0) {
            text += "µ";
        } else {
            const char c = kLetters[rng.below(12)];
            text += static_cast<unsigned char>(c) < 128 ? c : 'x';
        }
    }
    return text;
}

std::uint64_t random_number(Rng& rng) {
    switch (rng.below(4)) {
        case 0:
            return rng.below(3);
        case 1:
            return std::numeric_limits<std::uint64_t>::max() - rng.below(2);
        default:
            return rng.next() >> rng.below(64);
    }
}

double random_double(Rng& rng) {
    return (rng.unit() - 0.5) * static_cast<double>(rng.below(1'000'000));
}

TrialPlan random_trial(Rng& rng) {
    TrialPlan trial;
    trial.seed = random_number(rng);
    trial.iterations = static_cast<std::uint32_t>(rng.next());
    trial.iteration_gap_ns = random_number(rng);
    trial.pressure_limit_ns = random_number(rng);
    trial.probe_limit_ns = random_number(rng);
    trial.swap = {random_number(rng), random_text(rng)};
    trial.pressure.id = LoadId::hold;
    trial.probe.id = LoadId::command;
    trial.probe.text = random_text(rng);
    for (std::uint64_t i = rng.below(4); i > 0; --i) {
        trial.pressure.values.push_back(static_cast<std::int64_t>(rng.next()));
        trial.settings.push_back({random_text(rng), random_text(rng), rng.below(2) == 0});
        trial.counters.push_back({random_text(rng), random_text(rng), random_text(rng)});
        for (std::uint64_t left = rng.below(kMaxTriggers + 1); left > 0; --left) {
            trial.triggers.push_back({random_text(rng), rng.below(2) != 0, rng.below(2) != 0,
                                      rng.below(1'000'000), rng.below(10'000'000),
                                      static_cast<std::uint32_t>(rng.below(100)),
                                      rng.below(1ULL << 40)});
        }
        trial.modules.push_back(random_text(rng));
    }
    return trial;
}

measure::Metric random_metric(Rng& rng) {
    measure::Metric metric;
    metric.name = random_text(rng);
    metric.unit = random_text(rng);
    metric.kind = static_cast<measure::Kind>(rng.below(5));
    metric.better = static_cast<measure::Better>(rng.below(3));
    metric.floor = random_double(rng);
    metric.margin_pct = random_double(rng);
    metric.meaning = random_text(rng);
    return metric;
}

Plan random_plan(Rng& rng) {
    Plan plan;
    plan.experiment = random_text(rng);
    plan.experiment_sha256 = random_text(rng);
    plan.question = random_text(rng);
    plan.accel = static_cast<Accel>(rng.below(3));
    plan.exact = rng.below(2) == 0;
    plan.paired = rng.below(2) == 0;
    plan.shared_seeds = rng.below(2) == 0;
    plan.first_seed = rng.next() >> 8;
    plan.order_seed = random_number(rng);
    plan.trials_per_cell = static_cast<std::uint32_t>(1 + rng.below(5));
    plan.alpha = rng.unit();
    plan.wall_limit_ns = random_number(rng);
    plan.shape.memory_bytes = random_number(rng);
    plan.shape.cpus = static_cast<std::uint32_t>(rng.below(200));
    plan.shape.zram_compressor = random_text(rng);
    if (rng.below(2) == 0) plan.shape.lru_gen = rng.below(2) == 0;
    plan.shape.mthp[random_number(rng)] = random_text(rng);
    plan.shape.extra_cmdline.push_back(random_text(rng));
    for (std::uint64_t i = rng.below(4); i > 0; --i) {
        Arm arm{random_text(rng), random_text(rng), {random_text(rng)}, {}};
        arm.settings.push_back({random_text(rng), random_text(rng), false});
        plan.arms.push_back(arm);
        plan.cases.push_back(
            {random_text(rng), {{random_text(rng), random_text(rng)}}, random_trial(rng)});
        plan.key_metrics.push_back({random_metric(rng), rng.below(2) == 0, random_text(rng)});
        plan.derived.push_back({random_metric(rng), random_text(rng)});
        plan.proofs.push_back({random_text(rng), random_double(rng), random_text(rng)});
        plan.not_observable.push_back({random_text(rng), random_text(rng)});
        plan.expected_differences.push_back(random_text(rng));
        plan.added_files.push_back(random_text(rng));
    }
    lay_out_trials(plan);
    return plan;
}

// The agent has so many places for a load's processes, and would start no more without a word.
TEST(TrialPlan, MoreWorkersThanTheAgentHasPlaces) {
    const LoadDef* shm = find_load(LoadId::shm);
    const auto workers = find_param(*shm, "workers");
    ASSERT_TRUE(workers);
    TrialPlan trial;
    trial.probe.id = LoadId::shm;
    for (const ParamDef& param : shm->params)
        trial.probe.values.push_back(param.fallback);
    EXPECT_TRUE(check_workers(trial));
    trial.probe.values[*workers] = static_cast<std::int64_t>(kMaxWorkers);
    EXPECT_TRUE(check_workers(trial));
    ++trial.probe.values[*workers];
    const Status refused = check_workers(trial);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_NE(refused.error().message.find("probe.workers=65"), std::string::npos);
}

TEST(PlanProperty, JsonRoundTrip) {
    constexpr std::uint64_t kSeed = 42;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (int round = 0; round < 300; ++round) {
        const Plan plan = random_plan(rng);
        const std::string text = to_json(plan);
        const auto back = from_json(text);
        ASSERT_TRUE(back) << "seed " << kSeed << " round " << round << ": " << back.error().text();
        EXPECT_EQ(to_json(*back), text) << "seed " << kSeed << " round " << round;
        EXPECT_EQ(hash(*back), hash(plan));
        EXPECT_EQ(back->shape, plan.shape);
        EXPECT_EQ(back->arms, plan.arms);
        EXPECT_EQ(back->trials, plan.trials);
        ASSERT_EQ(back->cases.size(), plan.cases.size());
        for (std::size_t i = 0; i < plan.cases.size(); ++i) {
            EXPECT_EQ(back->cases[i].trial, plan.cases[i].trial);
            EXPECT_EQ(back->cases[i].parameters, plan.cases[i].parameters);
        }
        EXPECT_EQ(back->first_seed, plan.first_seed);
        EXPECT_EQ(back->alpha, plan.alpha);
    }
}

TEST(Plan, WhatCameLaterIsLeftOutWhileEmpty) {
    Rng rng(7);
    Plan plan = random_plan(rng);
    plan.arms = {{"a", "k", {}, {}}, {"b", "k", {}, {}}};
    lay_out_trials(plan);
    const std::string before = to_json(plan);
    EXPECT_EQ(before.find("\"params\""), std::string::npos);
    EXPECT_EQ(before.find("modules\":[],\"mthp"), std::string::npos);  // the shape's
    plan.shape.modules = {"aux_pmu"};
    plan.arms[1].params = {{"probe.capability", "no-sg", 2}};
    EXPECT_NE(hash(plan), sha256(before));
    const auto back = from_json(to_json(plan));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->shape, plan.shape);
    EXPECT_EQ(back->arms, plan.arms);
}

TEST(Plan, AnArmsOwnParametersOfTheProbe) {
    TrialPlan trial;
    trial.probe = {LoadId::aux, {0, 1, 4 << 20, 256, 0, 0, 1, 1}, ""};
    Arm arm{"a", "k", {}, {{"/proc/sys/vm/swappiness", "10", true}}};
    arm.params = {{"probe.capability", "no-sg", 2},
                  {"probe.overwrite", "true", 1},
                  {"probe.pmu", "intel_pt", 0}};
    const TrialPlan own = trial_of(trial, arm);
    EXPECT_EQ(own.probe.values, (std::vector<std::int64_t>{0, 2, 4 << 20, 256, 1, 0, 1, 1}));
    EXPECT_EQ(own.probe.text, "intel_pt");
    EXPECT_EQ(own.settings, arm.settings);
    EXPECT_EQ(trial_of(trial, {"b", "k", {}, {}}), trial);
}

TEST(PlanProperty, EveryKeyIsNeededAndTyped) {
    constexpr std::uint64_t kSeed = 99;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    Plan plan = random_plan(rng);
    while (plan.arms.empty())
        plan = random_plan(rng);
    const std::string text = to_json(plan);
    ASSERT_TRUE(from_json(text));
    // Any byte cut out or changed: an error or another plan, never a crash, and the same text never
    // means two plans.
    for (int round = 0; round < 3000; ++round) {
        std::string broken = text;
        const std::size_t at = rng.below(broken.size());
        if (rng.below(2) == 0) {
            broken.erase(at, 1 + rng.below(8));
        } else {
            broken[at] = static_cast<char>(rng.below(256));
        }
        const auto back = from_json(broken);
        if (!back) {
            EXPECT_EQ(back.error().code, Code::corrupt);
        }
    }
}

TEST(Plan, HostileTextsAreErrorsThatNameTheKey) {
    const auto message = [](std::string_view text) {
        const auto plan = from_json(text);
        EXPECT_FALSE(plan) << text;
        return plan ? "" : plan.error().text();
    };
    EXPECT_NE(message("").find("plan: "), std::string::npos);
    EXPECT_NE(message("[]").find("is not an object"), std::string::npos);
    EXPECT_NE(message("{}").find("experiment is missing"), std::string::npos);
    EXPECT_NE(message(std::string(100000, '[')).find("plan: "), std::string::npos);
    const std::string good = to_json(Plan{});
    ASSERT_TRUE(from_json(good));
    const auto change = [&good](std::string_view from, std::string_view to) {
        std::string text = good;
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return text.replace(at, from.size(), to);
    };
    EXPECT_NE(message(change("\"cpus\":1", "\"cpus\":-1")).find("shape.cpus"), std::string::npos);
    EXPECT_NE(message(change("\"cpus\":1", "\"cpus\":1e99")).find("shape.cpus"), std::string::npos);
    EXPECT_NE(message(change("\"cpus\":1", "\"cpus\":\"1\"")).find("shape.cpus"),
              std::string::npos);
    EXPECT_NE(message(change("\"accel\":0", "\"accel\":9")).find("accel"), std::string::npos);
    EXPECT_NE(message(change("\"mthp\":{}", "\"mthp\":{\"007\":\"x\"}")).find("shape.mthp.007"),
              std::string::npos);
    EXPECT_NE(message(change("\"exact\":false", "\"exact\":false,\"extra\":1")).find("more keys"),
              std::string::npos);
    EXPECT_NE(message(change("\"trials\":[]",
                             "\"trials\":[{\"arm\":7,\"case\":0,\"position\":0,\"row\":0,"
                             "\"seed\":1}]"))
                  .find("trial 0 is of an arm or case that is not there"),
              std::string::npos);
}

TEST(Plan, TextThatIsNotUtf8IsReplacedNotThrown) {
    Plan plan;
    plan.experiment = "\xff\xfe";
    EXPECT_TRUE(from_json(to_json(plan)));
}

Plan plain(std::size_t arms, std::size_t cases, std::uint32_t trials, std::uint64_t order) {
    Plan plan;
    for (std::size_t i = 0; i < arms; ++i)
        plan.arms.push_back({std::to_string(i), "k", {}, {}});
    for (std::size_t i = 0; i < cases; ++i)
        plan.cases.push_back({std::to_string(i), {}, {}});
    plan.trials_per_cell = trials;
    plan.order_seed = order;
    lay_out_trials(plan);
    return plan;
}

// A run that may stop at a look has by then run as many trials of each arm and case.
TEST(PlanProperty, LooksDivideTheOrder) {
    constexpr std::uint64_t kSeed = 8;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (int round = 0; round < 50; ++round) {
        Plan plan = plain(1 + rng.below(3), 1 + rng.below(3), 1, rng.next());
        for (std::size_t looks = 1 + rng.below(4); plan.looks.size() < looks;) {
            const std::uint32_t last = plan.looks.empty() ? 0 : plan.looks.back();
            plan.looks.push_back(last + 1 + static_cast<std::uint32_t>(rng.below(6)));
        }
        plan.until_pct = 5;
        plan.trials_per_cell = plan.looks.back();
        lay_out_trials(plan);
        const std::size_t cells = plan.arms.size() * plan.cases.size();
        ASSERT_EQ(plan.trials.size(), cells * plan.trials_per_cell);
        for (const PlannedTrial& trial : plan.trials) {
            for (const std::uint32_t look : plan.looks) {
                EXPECT_EQ(trial.row < look, trial.position < look * cells);
            }
        }
        const auto back = from_json(to_json(plan));
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(back->looks, plan.looks);
        EXPECT_EQ(back->until_pct, plan.until_pct);
        Plan wrong = plan;
        wrong.looks.back() += 1;
        EXPECT_FALSE(from_json(to_json(wrong)));
    }
}

// What came later isn't written where it isn't used: stored plans keep their hashes.
TEST(Plan, LaterFieldsAreOnlyThereWhenUsed) {
    Plan plan = plain(2, 1, 2, 3);
    const std::string before = to_json(plan);
    for (const char* key : {"looks", "until_pct", "placebo", "paired_because"}) {
        EXPECT_EQ(before.find(key), std::string::npos) << key;
    }
    plan.arms[1].placebo = true;
    plan.paired_because = "Spearman 0.9 over 12 pairs";
    const auto back = from_json(to_json(plan));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(back->arms[1].placebo);
    EXPECT_FALSE(back->arms[0].placebo);
    EXPECT_EQ(back->paired_because, plan.paired_because);
    std::string needless = before;
    needless.insert(1, "\"until_pct\":0.0,");
    EXPECT_FALSE(from_json(needless));
}

TEST(PlanProperty, EachBlockHoldsEachArmOnce) {
    constexpr std::uint64_t kSeed = 7;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (int round = 0; round < 100; ++round) {
        const std::size_t arms = 1 + rng.below(5);
        const std::size_t cases = 1 + rng.below(4);
        const auto rows = static_cast<std::uint32_t>(1 + rng.below(9));
        const std::uint64_t order = rng.next();
        const Plan plan = plain(arms, cases, rows, order);
        ASSERT_EQ(plan.trials.size(), arms * cases * rows);
        EXPECT_EQ(plain(arms, cases, rows, order).trials, plan.trials) << "seed " << kSeed;
        std::set<std::pair<std::uint32_t, std::uint32_t>> blocks;
        for (std::size_t start = 0; start < plan.trials.size(); start += arms) {
            std::set<std::uint32_t> seen;
            for (std::size_t i = start; i < start + arms; ++i) {
                EXPECT_EQ(plan.trials[i].position, i);
                EXPECT_EQ(plan.trials[i].case_, plan.trials[start].case_);
                EXPECT_EQ(plan.trials[i].row, plan.trials[start].row);
                EXPECT_EQ(plan.trials[i].seed, plan.first_seed + plan.trials[i].row);
                seen.insert(plan.trials[i].arm);
            }
            EXPECT_EQ(seen.size(), arms) << "seed " << kSeed << " round " << round;
            blocks.insert({plan.trials[start].case_, plan.trials[start].row});
        }
        EXPECT_EQ(blocks.size(), cases * rows) << "seed " << kSeed << " round " << round;
    }
}

TEST(Plan, OrderDependsOnItsSeedAndFavoursNoArm) {
    EXPECT_NE(plain(2, 2, 10, 1).trials, plain(2, 2, 10, 2).trials);
    std::size_t base_first = 0;
    for (std::uint64_t order = 0; order < 400; ++order) {
        if (plain(2, 1, 1, order).trials.front().arm == 0) ++base_first;
    }
    EXPECT_GT(base_first, 150u);
    EXPECT_LT(base_first, 250u);
}

TEST(Plan, DisjointSeedsHaveNoneInCommon) {
    Plan plan = plain(3, 2, 4, 5);
    plan.shared_seeds = false;
    plan.first_seed = 100;
    lay_out_trials(plan);
    std::set<std::pair<std::uint32_t, std::uint64_t>> by_arm;
    std::set<std::uint64_t> seeds;
    for (const PlannedTrial& trial : plan.trials) {
        by_arm.insert({trial.arm, trial.seed});
        seeds.insert(trial.seed);
    }
    EXPECT_EQ(seeds.size(), 12u);
    EXPECT_EQ(by_arm.size(), 12u);
    EXPECT_EQ(*seeds.begin(), 100u);
    EXPECT_EQ(*seeds.rbegin(), 111u);
}

TEST(Plan, HashFollowsEveryField) {
    Plan plan = plain(2, 1, 3, 1);
    const std::string before = hash(plan);
    EXPECT_EQ(before.size(), 64u);
    plan.cases[0].trial.counters.push_back({"tp.x", "kmem/x", ""});
    EXPECT_NE(hash(plan), before);
}

}  // namespace
}  // namespace mano::plan
