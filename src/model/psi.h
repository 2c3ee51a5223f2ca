// SPDX-License-Identifier: GPL-2.0-or-later
// Memory PSI as the kernel does it (kernel/sched/psi.c), with what its aggregation loses, and
// beside it what it would be without loss. Times in nanoseconds of the model. Knows no task, only
// counts.
#pragma once

#include <cstdint>
#include <vector>

namespace mano::model {

// Changes of one CPU's counts in one group.
struct PsiChange {
    int memstall = 0;          // tasks in a memstall section
    int running = 0;           // tasks running or waiting for the CPU
    int memstall_running = 0;  // of them, those in a memstall section
};

struct PsiTotals {
    double some_ns = 0;  // as memory.pressure's totals, in ns
    double full_ns = 0;
    double true_some_ns =
        0;  // time in which at least one of the group's tasks stalled, by CPU summed
};

class PsiGroup {
  public:
    explicit PsiGroup(unsigned cpus) : cpus_(cpus) {}

    // `now` never goes back on one CPU (an earlier one counts as the latest).
    void change(unsigned cpu, double now, const PsiChange& change);
    // collect_percpu_times(): each CPU's stalled time weighs as much as its non-idle jiffies; a CPU
    // that was non-idle for less than a jiffy is dropped. Happens every two seconds and on a read.
    void collect(double now);
    const PsiTotals& totals() const { return totals_; }
    // Non-idle time of all CPUs.
    double nonidle_ns() const { return nonidle_ns_; }

  private:
    struct PerCpu {
        int memstall = 0, running = 0, memstall_running = 0;
        double since = 0;
        double some = 0, full = 0, nonidle = 0;  // since the last collection
    };
    void accrue(PerCpu& cpu, double now);

    std::vector<PerCpu> cpus_;
    PsiTotals totals_;
    double nonidle_ns_ = 0;
};

constexpr double kPsiPeriodNs = 2e9;  // PSI_FREQ

}  // namespace mano::model
