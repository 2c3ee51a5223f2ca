// SPDX-License-Identifier: GPL-2.0-or-later
// `timer`: on each CPU a process of the highest real-time priority that sleeps to absolute times,
// and counts how late it runs. Its memory is locked and touched before it is asked to go.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "agent/machine.h"
#include "agent/probe/probe.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

enum Param : std::size_t { kInterval, kDuration };
enum Step : std::uint32_t { kPinning, kLocking, kPriority, kSleeping };
constexpr const char* kSteps[] = {"binding a timer process to its CPU", "locking its memory",
                                  "SCHED_FIFO with priority 99", "clock_nanosleep"};

// Log-linear: exact below 64 ns, then 64 buckets an octave (1.6 % wide), up to 2^63 ns: nothing
// overflows.
constexpr unsigned kSubBits = 6;
constexpr std::size_t kSub = std::size_t{1} << kSubBits;
constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSub;

struct Shared {
    std::atomic<std::uint32_t> buckets[kBuckets];
    std::atomic<std::uint64_t> faults;
};
Shared* shared = nullptr;
CpuSet cpus;

std::size_t bucket_of(std::uint64_t ns) {
    if (ns < kSub) return static_cast<std::size_t>(ns);
    const auto top = static_cast<unsigned>(63 - __builtin_clzll(ns));
    const unsigned octave = top - kSubBits + 1;
    return octave * kSub + static_cast<std::size_t>((ns >> (octave - 1)) - kSub);
}

// The smallest value of a bucket.
std::uint64_t floor_of(std::size_t bucket) {
    const std::size_t octave = bucket / kSub;
    const std::uint64_t sub = bucket % kSub;
    return octave == 0 ? sub : (sub + kSub) << (octave - 1);
}

int refused(WorkerCell& cell, Step step, int error) {
    cell.error_at = step;
    cell.error = static_cast<std::uint32_t>(error);
    return 3;
}

void touch_stack() {
    constexpr std::size_t kBytes = 64 * 1024;
    volatile char stack[kBytes];
    for (std::size_t at = 0; at < kBytes; at += 4096)
        stack[at] = 1;
    stack[kBytes - 1] = stack[0];
}

std::uint64_t own_faults() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

// 0, or the errno of what was refused, with the step.
int become_realtime(unsigned index, Step& step) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus.ids[index], &one);
    step = kPinning;
    if (::sched_setaffinity(0, sizeof one, &one) != 0) return errno;
    step = kLocking;
    if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return errno;
    touch_stack();
    step = kPriority;
    const sched_param parameters = {.sched_priority = 99};
    // Not through the library: musl and others refuse what the kernel takes.
    return ::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0 ? 0 : errno;
}

int sleep_to(std::uint64_t ns) {
    const timespec at = {static_cast<time_t>(ns / 1'000'000'000),
                         static_cast<long>(ns % 1'000'000'000)};
    int error = 0;
    do {
        error = ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    } while (error == EINTR);
    return error;
}

void count(WorkerCell& cell, std::uint64_t late) {
    shared->buckets[bucket_of(late)].fetch_add(1, std::memory_order_relaxed);
    cell.count = cell.count + 1;
    cell.sum_ns = cell.sum_ns + late;
    if (late > cell.max_ns) cell.max_ns = late;
}

// Of all workers together, in ns: the smallest value that `share` of the wake-ups don't exceed (to
// a bucket); false: there are too few wake-ups for it to mean anything.
bool quantile(double share, std::uint64_t all, std::uint64_t& value) {
    if (static_cast<double>(all) * (1 - share) < 10) return false;
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(all));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        seen += shared->buckets[i];
        if (seen <= wanted) continue;
        value = floor_of(i);
        return true;
    }
    return false;
}

}  // namespace

bool timer_check(Agent& agent) {
    online_cpus(cpus);
    if (cpus.size > kMaxWorkers) cpus.size = kMaxWorkers;
    shared = static_cast<Shared*>(shared_memory(sizeof(Shared)));
    if (shared != nullptr) return true;
    end_trial(agent, measure::Ending::precondition_missing, "no memory for the timer's histogram");
    return false;
}

unsigned timer_workers(const plan::LoadView& /*load*/) {
    return static_cast<unsigned>(cpus.size);
}

const char* timer_step(std::uint32_t error_at) {
    return error_at < 4 ? kSteps[error_at] : "";
}

int timer_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.probe;
    LoadBlock& block = *agent.probe.block;
    WorkerCell& cell = block.workers[index];
    const auto interval = static_cast<std::uint64_t>(load.value(kInterval));
    const auto duration = static_cast<std::uint64_t>(load.value(kDuration));
    Rng rng = Rng(agent.plan.seed).split(4500 + index);
    const std::uint64_t offset = rng.below(interval);
    if (index == 0) {
        for (auto& bucket : shared->buckets)
            bucket = 0;
        shared->faults = 0;
    }
    Step step{};
    const int error = become_realtime(index, step);
    if (error != 0) return refused(cell, step, error);
    cell.ready = 1;
    wait_for_go(block);
    // The first wake-ups warm caches and code up, and aren't counted.
    constexpr unsigned kWarm = 8;
    const std::uint64_t start = now_ns() + offset;
    std::uint64_t faults = 0;
    std::uint64_t due = start;
    for (std::uint64_t i = 0; due - start < duration && block.stop == 0; ++i) {
        due = start + i * interval;
        const int refusal = sleep_to(due);
        if (refusal != 0) return refused(cell, kSleeping, refusal);
        const std::uint64_t now = now_ns();
        if (i == kWarm) faults = own_faults();
        if (i < kWarm) continue;
        count(cell, now > due ? now - due : 0);
        // Times that went by while it was late are one wake-up, not many.
        if (now > due + interval) i += (now - due) / interval;
    }
    shared->faults.fetch_add(own_faults() - faults, std::memory_order_relaxed);
    cell.cpu_ns = cpu_ns();
    cell.time_ns = now_ns() - start;
    return 0;
}

void timer_report(Agent& agent, std::uint32_t iteration) {
    const Totals sum = totals(agent.probe);
    wire::Writer& log = agent.log;
    log.value("probe.time_ns", static_cast<double>(sum.time_ns), iteration);
    log.value("probe.cpu_ns", static_cast<double>(sum.cpu_ns), iteration);
    log.value("probe.timer.wakeups", static_cast<double>(sum.count), iteration);
    log.value("probe.timer.page_faults", static_cast<double>(shared->faults.load()), iteration);
    if (sum.count == 0) return;
    log.value("probe.timer.max_ns", static_cast<double>(sum.max_ns), iteration);
    log.value("probe.timer.mean_ns",
              static_cast<double>(sum.sum_ns) / static_cast<double>(sum.count), iteration);
    struct Quantile {
        const char* name;
        double share;
    };
    for (const Quantile& one :
         {Quantile{"probe.timer.p50_ns", 0.5}, Quantile{"probe.timer.p99_ns", 0.99},
          Quantile{"probe.timer.p99_9_ns", 0.999}, Quantile{"probe.timer.p99_99_ns", 0.9999}}) {
        std::uint64_t value = 0;
        if (quantile(one.share, sum.count, value))
            log.value(one.name, static_cast<double>(value), iteration);
        else
            log.unknown(one.name, iteration);
    }
    for (std::size_t i = 0; i < kBuckets; ++i) {
        const std::uint32_t in = shared->buckets[i];
        if (in == 0) continue;
        log.value(Text<64>("probe.timer.histogram.", floor_of(i)), static_cast<double>(in),
                  iteration);
    }
}

}  // namespace mano::agent
