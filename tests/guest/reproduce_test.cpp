// SPDX-License-Identifier: GPL-2.0-or-later
// The stand-alone C file of an experiment, compiled as its reader would and run as root in a guest
// that knows nothing of its pressure and probe, shows the experiment's effect.
#include "reproduce/reproduce.h"

#include <cstdio>
#include <map>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "experiment/experiment.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

struct Sums {
    unsigned long long psi_us = 0, allocstall = 0, compact_stall = 0, pgscan_direct = 0;
};

// The line "sum …" of the program's table; nullopt: it printed none.
std::optional<Sums> sums_of(const std::string& console) {
    const std::size_t at = console.rfind("\nsum ");
    Sums sums;
    if (at == std::string::npos ||
        std::sscanf(console.c_str() + at, " sum %llu %llu %llu %llu", &sums.psi_us,
                    &sums.allocstall, &sums.compact_stall, &sums.pgscan_direct) != 4) {
        return std::nullopt;
    }
    return sums;
}

struct Wanted {
    std::string experiment;
    std::vector<std::string> cases;
    std::map<std::string, std::string> set;
};

plan::Plan shipped(const Wanted& wanted) {
    auto experiment = experiment::load(wanted.experiment);
    if (!experiment) {
        ADD_FAILURE() << experiment.error().text();
        return {};
    }
    experiment::PlanOptions options;
    options.arms = {{"k", "debian:7.3", {}, {}}};
    options.trials = 1;
    options.cases = wanted.cases;
    options.set = wanted.set;
    auto plan = experiment::make_plan(*experiment, options);
    if (plan) return std::move(*plan);
    ADD_FAILURE() << plan.error().text();
    return {};
}

// What the program printed on the guest's console; "": it didn't come to that.
std::string run_alone(const Wanted& wanted) {
    const plan::Plan plan = shipped(wanted);
    const auto text = reproduce::stand_alone_c(plan, "", "manometer run " + wanted.experiment);
    auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-reproduce-");
    if (!text || !folder) {
        ADD_FAILURE() << (text ? folder.error() : text.error()).text();
        return "";
    }
    const auto source = folder->path() / "reproduce.c";
    const auto program = folder->path() / "reproduce";
    EXPECT_TRUE(write_file_atomic(source, *text));
    const auto compiled =
        run_program({"gcc", "-O2", "-static", "-o", program.string(), source.string()});
    if (!compiled || !compiled->exit.ok()) {
        ADD_FAILURE() << (compiled ? compiled->err : compiled.error().text());
        return "";
    }
    OneTrial one("debian:7.3");
    one.program("show /bin/reproduce --yes-this-machine");
    const plan::LoadPlan probe = one.trial().probe;
    const std::vector<std::string> files = one.plan.added_files;
    one.plan.shape = plan.shape;
    one.trial() = plan.cases[0].trial;
    one.trial().iterations = 1;
    one.trial().pressure = {};
    one.trial().counters.clear();
    one.trial().probe = probe;
    auto added = substrate::guest::describe_added_file(program.string());
    if (!added) {
        ADD_FAILURE() << added.error().text();
        return "";
    }
    one.plan.added_files = files;
    one.plan.added_files.push_back(std::move(*added));
    const measure::TrialRecord record = record_of(one);
    EXPECT_EQ(record.ending, measure::Ending::goodbye) << record.evidence;
    return record.console;
}

std::optional<Sums> sums_at(const std::string& demand) {
    const std::string console = run_alone({"mthp-fault",
                                           {"demand=" + demand},
                                           {{"guest.memory", "640MiB"},
                                            {"guest.zram", "320MiB"},
                                            {"guest.cpus", "2"},
                                            {"probe.size", "32MiB"},
                                            {"run.iterations", "3"}}});
    const auto sums = sums_of(console);
    EXPECT_TRUE(sums) << console;
    if (sums) {
        std::printf("%s alone: PSI some %llu us, allocstall %llu, pgscan_direct %llu\n",
                    demand.c_str(), sums->psi_us, sums->allocstall, sums->pgscan_direct);
    }
    return sums;
}

TEST(Reproduce, ShowsTheEffectWithoutUs) {
    const auto quiet = sums_at("90%");
    const auto full = sums_at("100%");
    ASSERT_TRUE(quiet && full);
    EXPECT_EQ(quiet->allocstall, 0U);
    EXPECT_GT(full->allocstall, 0U);
    EXPECT_GT(full->pgscan_direct, 0U);
    EXPECT_GT(full->psi_us, quiet->psi_us);
}

// The same of a probe of real-time processes, beside a pressure that pages out.
TEST(Reproduce, TimersBesidePagingOut) {
    const std::string console =
        run_alone({"pageout-latency", {}, {{"probe.duration", "500ms"}, {"run.iterations", "1"}}});
    const std::size_t head = console.find("total, us");
    ASSERT_NE(head, std::string::npos) << console;
    const std::size_t row = console.find('\n', head);
    ASSERT_NE(row, std::string::npos) << console;
    // nr, PSI (a number, or "unknown"), three counts, ops, total, max.
    unsigned long long ops = 0;
    double longest = 0;
    ASSERT_EQ(
        std::sscanf(console.c_str() + row, " %*u %*s %*u %*u %*u %llu %*f %lf", &ops, &longest), 2)
        << console;
    EXPECT_GT(ops, 50U) << console;
    EXPECT_GT(longest, 0) << console;
    EXPECT_EQ(console.find("the probe ended with status"), std::string::npos) << console;
    std::printf("%llu wake-ups, the latest by %.1f us\n", ops, longest);
}

}  // namespace
}  // namespace mano::guest_test
