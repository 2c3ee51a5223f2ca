// SPDX-License-Identifier: GPL-2.0-or-later
// QEMU: which one, which version, and the command line of one guest. Starts nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"
#include "plan/plan.h"

namespace mano::substrate::guest {

struct Qemu {
    std::filesystem::path program;
    std::string version;  // "7.2.22"
};
// Code::environment with the mend when there is none, or it doesn't say its version.
Result<Qemu> find_qemu();

// In exact mode QEMU runs the guest's CPUs in turn on one host thread. Before 8.1 a turn lasts
// until the next virtual timer is due, and the CPU after the one that used up that time gets a turn
// of no length at all: with two busy CPUs the second one never runs (and kernels that start their
// CPUs one by one never get beyond the first). So there is a timer of our own that bounds the
// turns, and a spare CPU behind each real one, which stays offline and takes the empty turn.
//
// How long a turn is, in µs of guest time: what a wake-up on another CPU may wait for. Part of a
// result's identity.
constexpr unsigned kTurnUs = 50;
// Spare CPUs of a guest: between each two real ones.
unsigned spare_cpus(const plan::Plan& plan);

// Whether a guest may die of a fault of QEMU's: before 8.1 one emulated CPU may translate code
// while another changes it, so that a guest meets the breakpoint that its kernel has already taken
// away again ("Oops: int3"), about once in hundreds of boots. Exact mode has one thread.
bool may_tear_code(const Qemu& qemu, const plan::Plan& plan);

// Everything that one guest's command line is made of.
struct Launch {
    const Qemu& qemu;
    const plan::Plan& plan;
    const plan::Arm& arm;
    const kernels::Kernel& kernel;
    bool kvm = false;
    std::optional<std::uint64_t> tsc_khz;  // the host's time stamp counter, where it has one
    unsigned hz = 250;            // the kernel's CONFIG_HZ (Debian's, where it isn't known)
    std::filesystem::path image;  // initramfs
    std::filesystem::path log;    // the record log's file
    std::uint64_t log_bytes = 0;  // a power of two
    int qmp_fd = -1;              // a connected socket that QEMU inherits
    int console_fd = -1;          // another, with the serial line on it
};
std::vector<std::string> command_line(const Launch& launch);
// The kernel's own command line in that guest.
std::string kernel_command_line(const Launch& launch);

}  // namespace mano::substrate::guest
