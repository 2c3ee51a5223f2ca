// SPDX-License-Identifier: GPL-2.0-or-later
// One guest's life from power-on to its end: starts QEMU, follows the log, tells every way of
// ending apart. Knows nothing of metrics: frames and an ending come out.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "measure/sample.h"
#include "substrate/guest/qemu.h"
#include "wire/reader.h"

namespace mano::substrate::guest {

// Host times within which something must happen.
struct Limits {
    std::uint64_t boot_ns = 180'000'000'000;  // power-on to hello
    std::uint64_t hang_ns = 60'000'000'000;   // between two heartbeats
    std::uint64_t wall_ns = 900'000'000'000;  // the whole trial
    std::uint64_t dump_ns = 10'000'000'000;   // for the task dump of a hung guest
};

struct Life {
    measure::Ending ending = measure::Ending::harness_fault;
    std::string evidence;
    std::vector<wire::Frame> frames;
    std::string console;  // cleaned
    std::uint64_t lost_frames = 0;
    std::uint64_t boot_ns = 0;  // host time, power-on to hello; 0: no hello
    std::uint64_t host_ns = 0;  // host time, all of it
    int boots = 1;              // more: see live_untorn()
};

// How long the thread of the process that waited most has been runnable without a CPU, ever
// (/proc/PID/task/TID/schedstat: ns on a CPU, ns waiting, turns). 0 where the kernel doesn't say.
std::uint64_t waited_ns(pid_t pid);

struct Guest {
    const Qemu& qemu;
    const plan::Plan& plan;
    const plan::Arm& arm;
    const kernels::Kernel& kernel;
    bool kvm = false;
    std::string image;  // initramfs
    std::uint64_t log_bytes = std::uint64_t{32} << 20;
    Limits limits;
    bool only_hello = false;  // end well as soon as the agent has said hello
    // What a busy host kept from QEMU; a test plays a busy host.
    std::uint64_t (*waited)(pid_t) = waited_ns;
};

// Removes what guests of processes that were killed left in memory.
void remove_stale_folders();

// Runs it to its end. An error means that no guest could be started (or Code::interrupted).
Result<Life> live(const Guest& guest, const std::function<void(std::string_view)>& progress,
                  const std::function<bool()>& stop);

// The same, booted anew (twice at most) where a fault of QEMU's may have ended it, see
// may_tear_code(). A kernel that dies so three times is believed.
Result<Life> live_untorn(const Guest& guest, const std::function<void(std::string_view)>& progress,
                         const std::function<bool()>& stop);

}  // namespace mano::substrate::guest
