// SPDX-License-Identifier: GPL-2.0-or-later
// When a CPU is given to a real-time task that woke up on it: the five preemption models as rules
// over what runs there. Pure; the engine asks. On x86 Linux 7.3 offers lazy, full and rt; none and
// voluntary are those of older kernels (kernel/sched/core.c, kernel/Kconfig.preempt).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mano::model {

enum class Preemption : std::uint8_t { none, voluntary, full, lazy, rt };
std::string_view name_of(Preemption model);
std::optional<Preemption> preemption_of(std::string_view name);

// What a step is while it lasts.
enum class Inside : std::uint8_t {
    open,    // user code, or kernel code full of points at which the scheduler is asked
    kernel,  // kernel code without such a point, but no lock held
    locked,  // a spinlock is held
};
// What comes after it.
enum class After : std::uint8_t {
    point,        // return to user space, cond_resched(), sleep: anybody may have the CPU
    might_sleep,  // a point in all models but none
    if_wanted,    // the lock is let go when somebody with a right to the CPU waits, and only then
    holds,        // the lock is kept: nobody
};

// A wake-up of a real-time task sets the hard bit at once, so lazy is as full here.
bool may_switch_inside(Preemption model, Inside inside);
bool may_switch_after(Preemption model, After after);

}  // namespace mano::model
