// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "measure/sample.h"

namespace mano::measure {
namespace {

using Value = std::optional<double>;
using Values = std::vector<Value>;

void read_twice(std::vector<Sample>& samples, const std::string& metric, std::uint32_t iteration,
                Value before, Value after) {
    samples.push_back({metric, iteration, Moment::before, before});
    samples.push_back({metric, iteration, Moment::after, after});
}

TEST(Fold, CountersAreSummedOverIterations) {
    std::vector<Sample> samples;
    read_twice(samples, "vmstat.pgscan_direct", 0, 100, 140);
    read_twice(samples, "vmstat.pgscan_direct", 1, 500, 502);
    EXPECT_EQ(fold(samples).at("vmstat.pgscan_direct"), 42);
    EXPECT_EQ(per_iteration(samples, "vmstat.pgscan_direct"), (Values{40, 2}));
}

TEST(Fold, GaugesAreAveragedAndTakenAfter) {
    std::vector<Sample> samples;
    read_twice(samples, "vmstat.nr_free_pages", 0, 900, 100);
    read_twice(samples, "vmstat.nr_free_pages", 1, 900, 300);
    EXPECT_EQ(fold(samples).at("vmstat.nr_free_pages"), 200);
    // The reading before may be missing: a state needs but one.
    samples.erase(samples.begin());
    EXPECT_EQ(fold(samples).at("vmstat.nr_free_pages"), 200);
}

TEST(Fold, WorstCasesByMaximum) {
    const std::vector<Sample> samples{{"probe.fault_ns_max", 0, Moment::whole, 70.0},
                                      {"probe.fault_ns_max", 1, Moment::whole, 900.0},
                                      {"probe.fault_ns_max", 2, Moment::whole, 80.0}};
    EXPECT_EQ(fold(samples).at("probe.fault_ns_max"), 900);
}

TEST(Fold, LowestPointsByMinimum) {
    std::vector<Sample> samples{{"probe.free_low_bytes", 0, Moment::whole, 70.0},
                                {"probe.free_low_bytes", 1, Moment::whole, 12.0},
                                {"probe.free_low_bytes", 2, Moment::whole, 80.0}};
    EXPECT_EQ(fold(samples).at("probe.free_low_bytes"), 12);
    samples[2].value = std::nullopt;  // it may have been lower still
    EXPECT_EQ(fold(samples).at("probe.free_low_bytes"), std::nullopt);
}

TEST(Fold, APartialSumIsNotASum) {
    std::vector<Sample> samples;
    read_twice(samples, "vmstat.pgfault", 0, 10, 20);
    samples.push_back({"vmstat.pgfault", 1, Moment::before, 30.0});  // the guest died here
    EXPECT_EQ(fold(samples).at("vmstat.pgfault"), std::nullopt);
    EXPECT_EQ(per_iteration(samples, "vmstat.pgfault"), (Values{10, std::nullopt}));

    samples.back() = {"vmstat.pgfault", 1, Moment::whole, std::nullopt};
    EXPECT_EQ(fold(samples).at("vmstat.pgfault"), std::nullopt);

    // An iteration that others were read in and this one was not.
    samples.pop_back();
    samples.push_back({"probe.ops", 1, Moment::whole, 5.0});
    EXPECT_EQ(fold(samples).at("vmstat.pgfault"), std::nullopt);
    EXPECT_EQ(fold(samples).at("probe.ops"), std::nullopt);
}

TEST(Fold, ACounterThatFellIsNotBelieved) {
    std::vector<Sample> samples;
    read_twice(samples, "vmstat.pgfault", 0, 20, 10);
    EXPECT_EQ(fold(samples).at("vmstat.pgfault"), std::nullopt);
}

TEST(Fold, ReadTwiceAtOneMomentIsNotBelieved) {
    std::vector<Sample> samples;
    read_twice(samples, "vmstat.pgfault", 0, 10, 20);
    samples.push_back({"vmstat.pgfault", 0, Moment::after, 25.0});
    EXPECT_EQ(fold(samples).at("vmstat.pgfault"), std::nullopt);
    const std::vector<Sample> nan{{"probe.ops", 0, Moment::whole, std::nan("")}};
    EXPECT_EQ(fold(nan).at("probe.ops"), std::nullopt);
}

TEST(Fold, UnknownKinds) {
    std::vector<Sample> samples;
    read_twice(samples, "my.counter", 0, 1, 4);
    read_twice(samples, "my.counter", 1, 4, 6);
    samples.push_back({"my.value", 0, Moment::whole, 3.0});
    samples.push_back({"my.value", 1, Moment::whole, 3.0});
    EXPECT_EQ(fold(samples).at("my.counter"), 5);
    EXPECT_EQ(fold(samples).at("my.value"), std::nullopt);
    Metric gauge;
    gauge.name = "my.value";
    gauge.kind = Kind::gauge;
    EXPECT_EQ(fold(samples, std::vector{gauge}).at("my.value"), 3);
    const std::vector<Sample> single{{"my.value", 0, Moment::whole, 3.0}};
    EXPECT_EQ(fold(single).at("my.value"), 3);
}

TEST(Fold, OfTheTrialAsAWhole) {
    std::vector<Sample> samples{{"trial.failed", std::nullopt, Moment::whole, 1.0},
                                {"pressure.level_pct", std::nullopt, Moment::whole, 95.1},
                                {"vmstat.pgfault", std::nullopt, Moment::before, 10.0},
                                {"vmstat.pgfault", std::nullopt, Moment::after, 100.0}};
    EXPECT_EQ(fold(samples).at("trial.failed"), 1);
    EXPECT_EQ(fold(samples).at("pressure.level_pct"), 95.1);
    EXPECT_EQ(fold(samples).at("vmstat.pgfault"), 90);
    EXPECT_TRUE(per_iteration(samples, "vmstat.pgfault").empty());
    read_twice(samples, "vmstat.pgfault", 0, 50, 53);  // an iteration's own readings win
    EXPECT_EQ(fold(samples).at("vmstat.pgfault"), 3);
}

TEST(Fold, DerivedFromTheCatalogue) {
    std::vector<Sample> samples;
    for (const std::uint32_t iteration : {0u, 1u}) {
        read_twice(samples, "vmstat.allocstall_normal", iteration, 1, 3);
        read_twice(samples, "vmstat.allocstall_movable", iteration, 5, 10);
        samples.push_back({"probe.ops", iteration, Moment::whole, 10.0 * (iteration + 1)});
        samples.push_back({"probe.time_ns", iteration, Moment::whole, 5e9});
    }
    EXPECT_EQ(fold(samples).at("vmstat.allocstall"), 14);
    EXPECT_EQ(fold(samples).at("probe.ops_per_s"), 3);
    EXPECT_EQ(per_iteration(samples, "vmstat.allocstall"), (Values{7, 7}));
    EXPECT_EQ(per_iteration(samples, "probe.ops_per_s"), (Values{2, 4}));
    EXPECT_FALSE(fold(samples).contains("probe.cpu_ops_per_s"));
    samples[1].value = std::nullopt;  // one zone unreadable: no sum over zones
    EXPECT_EQ(fold(samples).at("vmstat.allocstall"), std::nullopt);
}

TEST(Fold, OfNothing) {
    EXPECT_TRUE(fold({}).empty());
    EXPECT_TRUE(per_iteration({}, "vmstat.pgfault").empty());
}

// Readings of counters at random: the fold equals the sum of what was put in, in whatever order the
// samples come, and losing any one sample turns it into "unknown".
TEST(FoldProperty, SumOrderAndLoss) {
    constexpr std::uint64_t kSeed = 7301;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (int round = 0; round < 300; ++round) {
        std::vector<Sample> samples;
        const std::uint64_t iterations = 1 + rng.below(8);
        double total = 0;
        double reading = static_cast<double>(rng.below(1000));
        for (std::uint32_t iteration = 0; iteration < iterations; ++iteration) {
            const auto grown = static_cast<double>(rng.below(500));
            read_twice(samples, "vmstat.pgfault", iteration, reading, reading + grown);
            samples.push_back({"probe.ops", iteration, Moment::whole, grown});
            reading += grown + static_cast<double>(rng.below(50));
            total += grown;
        }
        shuffle(samples, rng);
        ASSERT_EQ(fold(samples).at("vmstat.pgfault"), total) << "seed " << kSeed;
        ASSERT_EQ(fold(samples).at("probe.ops"), total) << "seed " << kSeed;
        const Values each = per_iteration(samples, "vmstat.pgfault");
        ASSERT_EQ(each.size(), iterations);

        const std::uint64_t lost = rng.below(samples.size());
        const std::string metric = samples[lost].metric;
        samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(lost));
        const auto folded = fold(samples);
        if (folded.contains(metric)) {
            ASSERT_EQ(folded.at(metric), std::nullopt) << "seed " << kSeed << " round " << round;
        }
    }
}

TEST(Ending, NamesGoBothWaysAndStandingsAreAsStored) {
    for (int number = 0; number <= 15; ++number) {
        const auto ending = static_cast<Ending>(number);
        EXPECT_EQ(ending_from(name_of(ending)), ending) << number;
    }
    EXPECT_EQ(name_of(static_cast<Ending>(200)), "unknown ending");
    EXPECT_EQ(standing(static_cast<Ending>(200)), Standing::spoiled);
    EXPECT_EQ(ending_from("no such ending"), std::nullopt);
    EXPECT_EQ(standing(Ending::goodbye), Standing::counted);
    for (const Ending ending :
         {Ending::probe_refused, Ending::worker_oom_killed, Ending::probe_oom_killed, Ending::panic,
          Ending::hung, Ending::no_boot, Ending::probe_failed}) {
        EXPECT_EQ(standing(ending), Standing::failed) << name_of(ending);
    }
    for (const Ending ending : {Ending::precondition_missing, Ending::pressure_missed,
                                Ending::wall_clock, Ending::qemu_died, Ending::qemu_missing,
                                Ending::log_full, Ending::log_torn, Ending::harness_fault}) {
        EXPECT_EQ(standing(ending), Standing::spoiled) << name_of(ending);
    }
}

}  // namespace
}  // namespace mano::measure
