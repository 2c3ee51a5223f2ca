// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/rng.h"
#include "experiment/experiment.h"

namespace mano::experiment {
namespace {

namespace fs = std::filesystem;

std::string outcome(const fs::path& path) {
    const auto text = read_file(path);
    EXPECT_TRUE(text) << path;
    if (!text) return "";
    const auto experiment = parse(*text, path.filename().string());
    if (experiment) return "accepted\n";
    EXPECT_EQ(experiment.error().code, Code::invalid) << path;
    return experiment.error().text() + "\n";
}

// Every tests/golden/experiment/NAME.toml gives exactly the text of NAME.expected.
TEST(ParseGolden, Messages) {
    const fs::path folder = fs::path(MANO_SOURCE_DIR) / "tests/golden/experiment";
    std::size_t seen = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".toml") continue;
        ++seen;
        const std::string found = outcome(entry.path());
        fs::path expected = entry.path();
        expected.replace_extension(".expected");
        if (std::getenv("MANO_BLESS") != nullptr) {
            ASSERT_TRUE(write_file_atomic(expected, found));
            continue;
        }
        const auto text = read_file(expected);
        ASSERT_TRUE(text) << expected << ": missing, MANO_BLESS=1 writes it";
        EXPECT_EQ(found, *text) << entry.path();
    }
    EXPECT_GE(seen, 20u);
}

TEST(Parse, ShippedExperimentsParse) {
    const std::vector<std::string> names = built_in_names();
    EXPECT_THAT(names, testing::IsSupersetOf({"idle", "mthp-fault", "shm-churn", "thp-fault"}));
    for (const std::string& name : names) {
        const auto experiment = load(name);
        ASSERT_TRUE(experiment) << experiment.error().text();
        EXPECT_EQ(experiment->name, name);
        EXPECT_EQ(experiment->source, "built-in");
        EXPECT_NE(experiment->base.primary(), nullptr);
        EXPECT_GE(experiment->default_trials, 4u) << "fewer can't reach a verdict";
        EXPECT_FALSE(experiment->about.empty());
        EXPECT_FALSE(experiment->needs.empty());
        const auto text = read_file(fs::path(MANO_SOURCE_DIR) / "experiments" / (name + ".toml"));
        ASSERT_TRUE(text);
        EXPECT_EQ(experiment->text, *text) << "the built-in text is the file's";
        // A reader learns from the comments.
        EXPECT_GE(std::count(text->begin(), text->end(), '#'), 5) << name;
        EXPECT_TRUE(load((fs::path(MANO_SOURCE_DIR) / "experiments" / (name + ".toml")).string()));
    }
}

TEST(Parse, ShmChurnIsWhatItsTextSays) {
    const auto experiment = load("shm-churn");
    ASSERT_TRUE(experiment);
    const plan::Plan& base = experiment->base;
    EXPECT_EQ(base.shape.memory_bytes, std::uint64_t{1} << 30);
    EXPECT_EQ(base.shape.cpus, 4u);
    EXPECT_EQ(base.shape.zram_bytes, 0u);
    EXPECT_EQ(base.primary()->metric.name, "derived.zone_locked_ratio");
    EXPECT_EQ(base.primary()->metric.better, measure::Better::lower);
    EXPECT_EQ(base.primary()->metric.margin_pct, 2);
    EXPECT_EQ(base.primary()->formula, "100 * (tp.extfrag + tp.zone_locked) / tp.page_alloc");
    ASSERT_EQ(base.cases.size(), 1u);
    const plan::TrialPlan& trial = base.cases[0].trial;
    EXPECT_EQ(trial.probe.id, plan::LoadId::shm);
    EXPECT_EQ(trial.probe.values, (std::vector<std::int64_t>{4, 8 << 20, 2'000'000'000, 32}));
    EXPECT_EQ(trial.pressure.values, (std::vector<std::int64_t>{64}));
    ASSERT_EQ(trial.counters.size(), 4u);
    EXPECT_EQ(trial.counters[2],
              (plan::CounterPlan{"tp.extfrag", "kmem/mm_page_alloc_extfrag", "alloc_order == 0"}));
    EXPECT_EQ(base.proofs.size(), 3u);
    EXPECT_TRUE(base.derived.empty()) << "a judged metric is not listed twice";
    const std::vector<plan::Setting> settings{
        {"/sys/kernel/mm/lru_gen/enabled", "y", true},
        {"/sys/kernel/mm/transparent_hugepage/enabled", "never", false}};
    EXPECT_EQ(trial.settings, settings);
}

TEST(Parse, MthpFaultSweepsItsDemand) {
    const auto experiment = load("mthp-fault");
    ASSERT_TRUE(experiment);
    EXPECT_EQ(experiment->sweep, "pressure.demand");
    ASSERT_EQ(experiment->base.cases.size(), 3u);
    const std::vector<std::string> names{"demand=90%", "demand=95%", "demand=100%"};
    const std::vector<std::string> values{"0.9", "0.95", "1"};
    const std::vector<std::int64_t> ppm{900'000, 950'000, 1'000'000};
    for (std::size_t i = 0; i < 3; ++i) {
        const plan::Case& one = experiment->base.cases[i];
        EXPECT_EQ(one.name, names[i]);
        EXPECT_EQ(one.parameters.at("pressure.demand"), values[i]);
        EXPECT_EQ(one.trial.pressure.values.at(0), ppm[i]);
        EXPECT_EQ(one.trial.swap, (plan::SwapPlan{512 << 20, "lz4"}));
        const plan::Setting wanted{"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
                                   "madvise", true};
        EXPECT_THAT(one.trial.settings, testing::Contains(wanted));
    }
    EXPECT_EQ(experiment->base.derived.size(), 1u) << "folio_success is shown, not judged";
    EXPECT_THAT(experiment->needs, testing::Contains(testing::HasSubstr("mTHP of 64 KiB")));
}

TEST(Parse, EveryParameterIsListedForDescribe) {
    const auto experiment = load("mthp-fault");
    ASSERT_TRUE(experiment);
    std::map<std::string, Parameter> by_name;
    for (const Parameter& parameter : experiment->parameters)
        by_name[parameter.name] = parameter;
    EXPECT_EQ(by_name.at("pressure.demand").value, "90%");
    EXPECT_EQ(by_name.at("pressure.demand").range, "5% to 150%");
    EXPECT_EQ(by_name.at("guest.memory").value, "1GiB");
    EXPECT_EQ(by_name.at("guest.mthp.64KiB").value, "madvise");
    EXPECT_EQ(by_name.at("probe.duration").value, "300ms");
    EXPECT_EQ(by_name.at("run.trials").value, "6");
    for (const Parameter& parameter : experiment->parameters) {
        EXPECT_FALSE(parameter.meaning.empty()) << parameter.name;
    }
}

TEST(Parse, WhatIsNoExperimentAtAll) {
    EXPECT_FALSE(parse(std::string("\0\1\2\3", 4), "x.toml"));
    EXPECT_FALSE(parse(std::string(300 << 10, ' '), "x.toml"));
    EXPECT_FALSE(parse("\xff\xfe\x00", "x.toml"));
    EXPECT_FALSE(parse(std::string(200, '[') + "a", "x.toml"));
    EXPECT_FALSE(parse("a = " + std::string(100, '[') + std::string(100, ']'), "x.toml"));
    EXPECT_FALSE(load("/nonexistent/x.toml"));
    EXPECT_FALSE(load("/proc/self/"));
    const auto unknown = load("shm-chrun");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, Code::not_found);
    EXPECT_THAT(unknown.error().text(), testing::HasSubstr("did you mean 'shm-churn'?"));
}

// In these places the library has no answer of its own for letters like these.
TEST(Parse, LettersWhereAKeyMayStand) {
    for (const char* text : {"\u00e9 = 1\n", "[\u00e9]\n", "[[ \u0101]]\n", "a = \u0499\n",
                             "\u00a0[experiment]\n", "[experiment]\nname = \"x\"\u00e9\n"}) {
        const auto experiment = parse(text, "f.toml");
        ASSERT_FALSE(experiment) << text;
        EXPECT_EQ(experiment.error().code, Code::invalid) << text;
    }
}

// Bytes changed at random in real files: a fault with a place, or another valid experiment.
TEST(ParseProperty, BrokenFilesNeverCrash) {
    constexpr std::uint64_t kSeed = 5150;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (const std::string& name : built_in_names()) {
        const auto whole = load(name);
        ASSERT_TRUE(whole);
        for (int round = 0; round < 300; ++round) {
            std::string text = whole->text;
            for (std::uint64_t left = 1 + rng.below(4); left > 0; --left) {
                const std::size_t at = rng.below(text.size());
                if (rng.below(2) == 0) {
                    text[at] = static_cast<char>(rng.below(256));
                } else {
                    text.erase(at, 1 + rng.below(20));
                }
            }
            const auto experiment = parse(text, "x.toml");
            if (experiment) continue;
            EXPECT_EQ(experiment.error().code, Code::invalid) << "seed " << kSeed;
            EXPECT_EQ(experiment.error().message.substr(0, 6), "x.toml") << "seed " << kSeed;
        }
    }
}

}  // namespace
}  // namespace mano::experiment
