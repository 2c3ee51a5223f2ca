// SPDX-License-Identifier: GPL-2.0-or-later
// What tests with real guests share: kernels, plans of one trial, the programs that break guests,
// and the watch over QEMU processes. Tests only.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "measure/sample.h"
#include "plan/plan.h"
#include "substrate/guest/guest.h"

namespace mano::guest_test {

// A cached kernel, or one that is fetched now. Aborts the test program with the reason and what to
// do when it can't be had: a machine without kernels has tested nothing, and must say so.
kernels::Kernel kernel(std::string_view spec);

// The plan of one trial: one CPU, 256 MiB, plain TCG, no pressure, the probe idle for 50 ms.
struct OneTrial {
    explicit OneTrial(std::string_view kernel_spec);

    plan::TrialPlan& trial() { return plan.cases[0].trial; }
    // Probe: one of tests/guest/programs with its arguments ("eat 64").
    OneTrial& program(std::string_view line);
    OneTrial& seed(std::uint64_t seed);

    plan::Plan plan;
    kernels::Kernel kernel;
    substrate::guest::Options options;
    std::function<void(std::string_view)> on_phase;
};

struct Ran {
    std::optional<measure::TrialRecord> record;
    std::string error;  // of prepare() or run(), with its code's number
    Code code = Code::internal;
    substrate::Identity identity;
};
// Runs it, says loudly under which accelerator, and fails the test when a QEMU of ours is left.
// With MANO_SHOW in the environment it also prints evidence and console.
Ran run(OneTrial& one);
// The same for trials that must give a record; prints its end and evidence when the test fails.
measure::TrialRecord record_of(OneTrial& one);

// Processes named qemu-system… whose parent is `parent`.
std::vector<pid_t> qemu_children(pid_t parent);
bool is_alive(pid_t pid);

std::string fact(const measure::TrialRecord& record, std::string_view key);
// Of the trial as a whole or of an iteration; nullopt: there is no such sample, or it is unknown.
std::optional<double> value(const measure::TrialRecord& record, std::string_view metric,
                            std::optional<std::uint32_t> iteration = std::nullopt,
                            measure::Moment moment = measure::Moment::whole);

// What differs between two records but for host times; empty: nothing. At most ten lines.
std::string difference(const measure::TrialRecord& a, const measure::TrialRecord& b);

}  // namespace mano::guest_test
