// SPDX-License-Identifier: GPL-2.0-or-later
// Run sets and trial records drawn from a seed, and child processes, for the tests of store and
// runner. Never part of the program.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/file.h"
#include "base/rng.h"
#include "store/store.h"

namespace mano::store::test {

// UTF-8 text with what texts may hold: quotes, newlines, nothing at all.
inline std::string random_text(Rng& rng, std::size_t longest = 12) {
    std::string text;
    for (std::uint64_t left = rng.below(longest + 1); left > 0; --left) {
        constexpr std::string_view kLetters = "ab.Z9 \"'\\/\n\t%_;-[]{}:,";
        text += rng.below(8) == 0 ? "µ" : std::string(1, kLetters[rng.below(kLetters.size())]);
    }
    return text;
}

// What a guest may put into a text: any byte.
inline std::string random_bytes(Rng& rng, std::size_t longest) {
    std::string bytes(rng.below(longest + 1), '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(rng.below(256));
    return bytes;
}

inline double random_finite(Rng& rng) {
    switch (rng.below(5)) {
        case 0:
            return 0;
        case 1:
            return static_cast<double>(rng.below(1'000'000));
        case 2:
            return -5e-324;
        case 3:
            return 1.7976931348623157e308;
        default:
            return (rng.unit() - 0.5) * 1e9;
    }
}

inline measure::TrialRecord random_record(Rng& rng) {
    measure::TrialRecord record;
    record.ending = static_cast<measure::Ending>(rng.below(16));
    record.evidence = random_bytes(rng, rng.below(4) == 0 ? 20'000 : 40);
    record.console = random_bytes(rng, rng.below(3) == 0 ? 60'000 : 0);
    record.host_ns = rng.next() >> rng.below(64);
    for (std::uint64_t i = rng.below(60); i > 0; --i) {
        measure::Sample sample;
        sample.metric = fmt::format("vmstat.key_{}", rng.below(20));
        if (rng.below(4) != 0) sample.iteration = static_cast<std::uint32_t>(rng.next());
        sample.moment = static_cast<measure::Moment>(rng.below(3));
        if (rng.below(6) != 0) sample.value = random_finite(rng);
        record.samples.push_back(sample);
    }
    for (std::uint64_t i = rng.below(5); i > 0; --i) {
        record.facts.push_back({random_text(rng), random_bytes(rng, 20)});
        record.losses.push_back({random_text(rng), rng.next(), random_text(rng)});
    }
    return record;
}

inline plan::Plan small_plan(std::uint32_t arms, std::uint32_t cases, std::uint32_t trials) {
    plan::Plan plan;
    plan.experiment = "shm-churn";
    plan.trials_per_cell = trials;
    for (std::uint32_t i = 0; i < arms; ++i) {
        plan.arms.push_back(
            {fmt::format("7.{}", i + 1), fmt::format("debian:7.{}", i + 1), {}, {}});
    }
    for (std::uint32_t i = 0; i < cases; ++i) {
        plan.cases.push_back({cases == 1 ? "" : fmt::format("demand={}%", 90 + 5 * i), {}, {}});
    }
    plan::lay_out_trials(plan);
    return plan;
}

inline NewRunSet new_runset(plan::Plan plan, std::string name = "") {
    NewRunSet runset;
    runset.name = std::move(name);
    runset.command_line = "manometer run shm-churn -k debian:7.1 -k debian:7.3";
    runset.version = "0.1.0";
    for (const plan::Arm& arm : plan.arms) {
        runset.arms.push_back({arm.name, "{\"release\":\"" + arm.name + ".4\"}"});
    }
    runset.identity = {{"accel", "tcg"}, {"qemu", "7.2.22"}};
    runset.plan = std::move(plan);
    return runset;
}

inline NewRunSet random_runset(Rng& rng) {
    plan::Plan plan = small_plan(static_cast<std::uint32_t>(1 + rng.below(3)),
                                 static_cast<std::uint32_t>(1 + rng.below(3)),
                                 static_cast<std::uint32_t>(1 + rng.below(4)));
    plan.experiment = random_text(rng);
    plan.question = random_text(rng);
    plan.first_seed = rng.next();
    plan.order_seed = rng.next();
    plan.shared_seeds = rng.below(2) == 0;
    for (plan::Case& one : plan.cases)
        one.name = random_text(rng);
    plan::lay_out_trials(plan);
    NewRunSet runset = new_runset(std::move(plan), fmt::format("name {}", rng.below(1000)));
    runset.command_line = random_bytes(rng, 60);
    for (std::uint64_t i = rng.below(4); i > 0; --i) {
        runset.identity[random_text(rng)] = random_text(rng);
        runset.remarks.push_back(random_text(rng, 40));
    }
    return runset;
}

// Runs `body` in a child process and returns its exit status; 128 + the signal that ended it.
inline int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A fresh folder below the temporary one.
inline TempFolder temp_folder() {
    auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-store-test-");
    if (!folder) std::abort();
    return std::move(*folder);
}

}  // namespace mano::store::test
