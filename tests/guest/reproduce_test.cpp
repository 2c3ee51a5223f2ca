// SPDX-License-Identifier: GPL-2.0-or-later
// The stand-alone C file of an experiment, compiled as its reader would and run as root in a guest
// that knows nothing of its pressure and probe, shows the experiment's effect.
#include "reproduce/reproduce.h"

#include <cstdio>

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

plan::Plan shipped(const std::string& case_name) {
    auto experiment = experiment::load("mthp-fault");
    if (!experiment) {
        ADD_FAILURE() << experiment.error().text();
        return {};
    }
    experiment::PlanOptions options;
    options.arms = {{"k", "debian:7.3", {}, {}}};
    options.trials = 1;
    options.cases = {case_name};
    options.set = {{"guest.memory", "640MiB"},
                   {"guest.zram", "320MiB"},
                   {"guest.cpus", "2"},
                   {"probe.size", "32MiB"},
                   {"run.iterations", "3"}};
    auto plan = experiment::make_plan(*experiment, options);
    if (plan) return std::move(*plan);
    ADD_FAILURE() << plan.error().text();
    return {};
}

std::optional<Sums> run_alone(const std::string& case_name) {
    const plan::Plan plan = shipped(case_name);
    const auto text = reproduce::stand_alone_c(plan, "", "manometer run mthp-fault");
    auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-reproduce-");
    if (!text || !folder) {
        ADD_FAILURE() << (text ? folder.error() : text.error()).text();
        return std::nullopt;
    }
    const auto source = folder->path() / "reproduce.c";
    const auto program = folder->path() / "reproduce";
    EXPECT_TRUE(write_file_atomic(source, *text));
    const auto compiled =
        run_program({"gcc", "-O2", "-static", "-o", program.string(), source.string()});
    if (!compiled || !compiled->exit.ok()) {
        ADD_FAILURE() << (compiled ? compiled->err : compiled.error().text());
        return std::nullopt;
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
        return std::nullopt;
    }
    one.plan.added_files = files;
    one.plan.added_files.push_back(std::move(*added));
    const measure::TrialRecord record = record_of(one);
    EXPECT_EQ(record.ending, measure::Ending::goodbye) << record.evidence;
    const auto sums = sums_of(record.console);
    EXPECT_TRUE(sums) << record.console;
    if (sums) {
        std::printf("%s alone: PSI some %llu us, allocstall %llu, pgscan_direct %llu\n",
                    case_name.c_str(), sums->psi_us, sums->allocstall, sums->pgscan_direct);
    }
    return sums;
}

TEST(Reproduce, ShowsTheEffectWithoutUs) {
    const auto quiet = run_alone("demand=90%");
    const auto full = run_alone("demand=100%");
    ASSERT_TRUE(quiet && full);
    EXPECT_EQ(quiet->allocstall, 0U);
    EXPECT_GT(full->allocstall, 0U);
    EXPECT_GT(full->pgscan_direct, 0U);
    EXPECT_GT(full->psi_us, quiet->psi_us);
}

}  // namespace
}  // namespace mano::guest_test
