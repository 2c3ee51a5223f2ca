// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/accel.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/units.h"
#include "substrate/guest/image.h"
#include "substrate/guest/vm.h"

namespace mano::substrate::guest {
std::filesystem::path kvm_answer_file(const Qemu& qemu, const std::filesystem::path& cache) {
    utsname host = {};
    ::uname(&host);
    const std::string key =
        fmt::format("{} {} {} {}", host.nodename, host.release, host.version, qemu.version);
    return cache / "kvm" / sha256(key).substr(0, 16);
}

std::optional<KvmAnswer> known_kvm(const Qemu& qemu, const std::filesystem::path& cache) {
    auto device = open_file("/dev/kvm", O_RDWR);
    if (!device)
        return KvmAnswer{false, "KVM isn't usable (" + device.error().message + ")", false};
    const auto text = read_file(kvm_answer_file(qemu, cache), 4096);
    if (!text) return std::nullopt;
    const bool usable = text->starts_with("usable");
    return KvmAnswer{usable,
                     usable ? "KVM works (proved by a boot)"
                            : "/dev/kvm opens, but a guest under it never said hello: TCG is used",
                     true};
}

Result<KvmAnswer> prove_kvm(const Qemu& qemu, const kernels::Kernel& kernel,
                            const std::filesystem::path& cache, const std::function<bool()>& stop,
                            std::uint64_t boot_ns, std::uint64_t wall_ns) {
    if (auto known = known_kvm(qemu, cache)) return *known;
    plan::Plan plan;
    plan.shape.memory_bytes = 256 * kMiB;
    MANO_ASSIGN(std::string image, make_image({{"init", std::string(agent_binary()), 0755, {}}}));
    const plan::Arm arm;
    Guest guest{.qemu = qemu,
                .plan = plan,
                .arm = arm,
                .kernel = kernel,
                .kvm = true,
                .image = std::move(image),
                .log_bytes = std::uint64_t{1} << 20,
                .limits = {.boot_ns = boot_ns, .wall_ns = wall_ns},
                .only_hello = true};
    MANO_ASSIGN(const Life life, live(guest, {}, stop));
    const bool usable = life.ending == measure::Ending::goodbye;
    // Time that a busy host kept from QEMU isn't counted in the proof, but in the limit above it:
    // then nothing is known, TCG is used this once, and the next run asks again.
    if (life.ending == measure::Ending::wall_clock) {
        return KvmAnswer{
            false, "this host is too busy to prove that KVM works: TCG is used this time", false};
    }
    // A cache that can't be written costs the proof again next time, nothing else.
    const Status kept =
        write_file_atomic(kvm_answer_file(qemu, cache), usable ? "usable\n" : "hangs\n");
    static_cast<void>(kept);
    KvmAnswer answer{usable, "KVM works (proved by a boot)", false};
    if (!usable) {
        answer.reason = fmt::format(
            "/dev/kvm opens, but a guest under it didn't say hello within {} s: TCG is used",
            boot_ns / 1'000'000'000);
    }
    return answer;
}

}  // namespace mano::substrate::guest
