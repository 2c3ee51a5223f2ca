// SPDX-License-Identifier: GPL-2.0-or-later
#include "rig.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "base/digest.h"
#include "base/file.h"
#include "base/units.h"
#include "substrate/guest/guest.h"

namespace mano::bench {

void die(const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(2);
}

kernels::Kernel kernel(std::string_view spec) {
    static std::map<std::string, kernels::Kernel, std::less<>> known;
    if (const auto found = known.find(spec); found != known.end()) return found->second;
    kernels::Options options;
    options.cache = cache_folder();
    return known.emplace(spec, need(kernels::resolve(spec, options))).first->second;
}

double now_s() {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

namespace {

double cpu_s(int who) {
    rusage usage = {};
    ::getrusage(who, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

}  // namespace

double own_cpu_s() {
    return cpu_s(RUSAGE_SELF);
}
double children_cpu_s() {
    return cpu_s(RUSAGE_CHILDREN);
}

double median(std::vector<double> values) {
    if (values.empty()) return NAN;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string spread(const std::vector<double>& values, double unit) {
    if (values.empty()) return "-";
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return fmt::format("{:.4g} [{:.4g}, {:.4g}]", median(values) / unit, *low / unit, *high / unit);
}

void print_machine(std::string_view title) {
    const std::time_t now = std::time(nullptr);
    std::tm utc = {};
    ::gmtime_r(&now, &utc);
    char date[32] = {};
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    utsname host = {};
    ::uname(&host);
    double load[3] = {};
    ::getloadavg(load, 3);
    const auto qemu = substrate::guest::find_qemu();
    std::printf("%.*s, %s: %u CPUs, Linux %s, QEMU %s (TCG), load average %.1f %.1f %.1f\n",
                static_cast<int>(title.size()), title.data(), date,
                std::thread::hardware_concurrency(), host.release,
                qemu ? qemu->version.c_str() : "none", load[0], load[1], load[2]);
    std::fflush(stdout);
}

void print_goal(std::string_view what, double value, double limit, bool at_least) {
    const char* verdict = "unknown";
    if (!std::isnan(value)) {
        verdict = (at_least ? value >= limit : value <= limit) ? "met" : "MISSED";
    }
    std::printf("GOAL %.*s: %.4g (goal: %s %.4g): %s\n", static_cast<int>(what.size()), what.data(),
                value, at_least ? "at least" : "at most", limit, verdict);
    std::fflush(stdout);
}

plan::Plan one_trial(std::string_view kernel_spec, std::uint64_t memory_bytes, std::uint32_t cpus) {
    plan::Plan plan;
    plan.experiment = "bench";
    plan.accel = plan::Accel::tcg;
    plan.shape.memory_bytes = memory_bytes;
    plan.shape.cpus = cpus;
    plan.arms.push_back({"a", std::string(kernel_spec), {}, {}});
    plan::Case only;
    only.trial.iterations = 1;
    only.trial.pressure_limit_ns = 300'000'000'000;
    only.trial.probe_limit_ns = 300'000'000'000;
    only.trial.pressure = {plan::LoadId::none, {64}, ""};
    only.trial.probe = {plan::LoadId::idle, {50'000'000}, ""};
    plan.cases.push_back(std::move(only));
    plan.trials.push_back({0, 0, 0, 0, 1});
    return plan;
}

void add_file(plan::Plan& plan, std::string_view path_in_guest, const std::string& host_path) {
    const std::string bytes = need(read_file(host_path));
    plan.added_files.push_back(fmt::format("{} {} {}", sha256(bytes), path_in_guest, host_path));
}

void set_command(plan::Plan& plan, std::string line) {
    plan.cases[0].trial.probe = {plan::LoadId::command, {300'000'000'000}, std::move(line)};
}

measure::TrialRecord run(const plan::Plan& plan, const kernels::Kernel& kernel) {
    substrate::guest::Options options;
    options.cache = cache_folder();
    options.limits.boot_ns = 300'000'000'000;
    substrate::guest::GuestSubstrate substrate(options);
    if (const Status ready = substrate.prepare(plan, {kernel}); !ready) die(ready.error().text());
    auto record = need(substrate.run({plan, plan.trials[0], kernel}, {}, {}));
    if (record.ending != measure::Ending::goodbye) {
        die(fmt::format("the guest's end: {}. {}\n{}", name_of(record.ending), record.evidence,
                        record.console));
    }
    return record;
}

std::vector<double> values(const measure::TrialRecord& record, std::string_view metric) {
    std::vector<double> found;
    for (const measure::Sample& sample : record.samples) {
        if (sample.metric == metric && sample.value) found.push_back(*sample.value);
    }
    return found;
}

std::optional<double> value(const measure::TrialRecord& record, std::string_view metric) {
    const std::vector<double> found = values(record, metric);
    if (found.empty()) return std::nullopt;
    return found.front();
}

double printed(const std::string& console, std::string_view key) {
    const std::size_t line = console.find("BENCH ");
    if (line == std::string::npos) return NAN;
    const std::string wanted = fmt::format(" {}=", key);
    const std::size_t at = console.find(wanted, line);
    if (at == std::string::npos) return NAN;
    return std::strtod(console.c_str() + at + wanted.size(), nullptr);
}

unsigned number(int count, char** arguments, int index, unsigned otherwise) {
    if (index >= count) return otherwise;
    unsigned number = 0;
    const char* end = arguments[index] + std::strlen(arguments[index]);
    const auto [at, error] = std::from_chars(arguments[index], end, number);
    if (error != std::errc() || at != end || number == 0) {
        die(fmt::format("'{}' isn't a count", arguments[index]));
    }
    return number;
}

}  // namespace mano::bench
