// SPDX-License-Identifier: GPL-2.0-or-later
// Which accelerator is usable here. KVM is proved by a boot that says hello within seconds: there
// are machines where /dev/kvm opens, makes a VM, and the guest then hangs. The answer is remembered
// by host kernel and QEMU version.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "kernels/kernel.h"
#include "substrate/guest/qemu.h"

namespace mano::substrate::guest {

struct KvmAnswer {
    bool usable = false;
    std::string reason;  // a sentence, for people
    bool remembered = false;
};

// Where the answer for this host kernel and QEMU is kept.
std::filesystem::path kvm_answer_file(const Qemu& qemu, const std::filesystem::path& cache);
// Without booting: nullopt when /dev/kvm opens but no boot has proved it yet.
std::optional<KvmAnswer> known_kvm(const Qemu& qemu, const std::filesystem::path& cache);
// Boots `kernel` under KVM unless the answer is known. It has `boot_ns` of host time, less what a
// busy host kept from QEMU, to say hello; after `wall_ns` nothing is known, and nothing is
// remembered.
Result<KvmAnswer> prove_kvm(const Qemu& qemu, const kernels::Kernel& kernel,
                            const std::filesystem::path& cache, const std::function<bool()>& stop,
                            std::uint64_t boot_ns = 12'000'000'000,
                            std::uint64_t wall_ns = 60'000'000'000);

}  // namespace mano::substrate::guest
