// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/psi.h"

#include <algorithm>
#include <cmath>

#include "model/slow_path.h"

namespace mano::model {

void PsiGroup::accrue(PerCpu& cpu, double now) {
    const double time = now - cpu.since;
    if (time <= 0) return;
    cpu.since = now;
    // PSI_NONIDLE: something runs, or stalls.
    if (cpu.running > 0 || cpu.memstall > 0) {
        cpu.nonidle += time;
        nonidle_ns_ += time;
    }
    if (cpu.memstall == 0) return;
    cpu.some += time;
    totals_.true_some_ns += time;
    if (cpu.running == cpu.memstall_running) cpu.full += time;
}

void PsiGroup::change(unsigned cpu, double now, const PsiChange& change) {
    PerCpu& one = cpus_[cpu];
    accrue(one, now);
    one.memstall += change.memstall;
    one.running += change.running;
    one.memstall_running += change.memstall_running;
}

void PsiGroup::collect(double now) {
    double weight = 0;
    double some = 0;
    double full = 0;
    for (PerCpu& cpu : cpus_) {
        accrue(cpu, now);
        const double jiffies = std::floor(cpu.nonidle / kJiffyNs);
        weight += jiffies;
        some += cpu.some * jiffies;
        full += cpu.full * jiffies;
        cpu.some = cpu.full = cpu.nonidle = 0;
    }
    totals_.some_ns += some / std::max(weight, 1.0);
    totals_.full_ns += full / std::max(weight, 1.0);
}

}  // namespace mano::model
