// SPDX-License-Identifier: GPL-2.0-or-later
// What the benchmarks share: kernels, medians, CPU times, trials, and how goals are printed. A
// benchmark prints and never asserts: the machine that it runs on may be busy with much else, so
// that contenders are interleaved and CPU time stands beside wall time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"
#include "measure/sample.h"
#include "plan/plan.h"

namespace mano::bench {

[[noreturn]] void die(const std::string& text);
// The value, or the program ends with the error's text.
template <typename T>
T need(Result<T> result) {
    if (!result) die(result.error().text());
    return std::move(*result);
}

kernels::Kernel kernel(std::string_view spec);
double now_s();                             // CLOCK_MONOTONIC
double own_cpu_s();                         // user + system time of this process
double children_cpu_s();                    // of its children that were waited for
double median(std::vector<double> values);  // NaN when there are none
std::string spread(const std::vector<double>& values, double unit);  // "median [lowest, highest]"

// Date, host, QEMU, CPUs and load: without them no figure means anything.
void print_machine(std::string_view title);
// "GOAL what: value (goal: at most limit): met"; with `at_least` the goal is a floor.
void print_goal(std::string_view what, double value, double limit, bool at_least = false);

// A plan of one trial of `kernel_spec` under plain TCG, nothing happening in it.
plan::Plan one_trial(std::string_view kernel_spec, std::uint64_t memory_bytes, std::uint32_t cpus);
// Puts a program of this build, or any file of the host, into the guest.
void add_file(plan::Plan& plan, std::string_view path_in_guest, const std::string& host_path);
// Probe: a program that add_file() put into bin/, with its arguments.
void set_command(plan::Plan& plan, std::string line);
// Runs it; ends the program when the guest didn't end well.
measure::TrialRecord run(const plan::Plan& plan, const kernels::Kernel& kernel);

std::optional<double> value(const measure::TrialRecord& record, std::string_view metric);
std::vector<double> values(const measure::TrialRecord& record, std::string_view metric);
// Programs in the guest print "BENCH key=value key=value …" on its console. NaN: not there.
double printed(const std::string& console, std::string_view key);

// A positive number from a command line's argument, or `otherwise`.
unsigned number(int count, char** arguments, int index, unsigned otherwise);

}  // namespace mano::bench
