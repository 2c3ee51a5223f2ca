// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/qemu.h"

#include <charconv>
#include <utility>

#include "base/process.h"
#include "base/units.h"

namespace mano::substrate::guest {

Result<Qemu> find_qemu() {
    constexpr const char* kProgram = "qemu-system-x86_64";
    constexpr const char* kMend =
        "install it: apt-get install --no-install-recommends qemu-system-x86";
    const auto program = find_program(kProgram);
    if (!program) return fail(Code::environment, "{} isn't on PATH; {}", kProgram, kMend);
    auto said = run_program({program->string(), "--version"}, {}, 1 << 16);
    if (!said) return wrap(said.error(), "{} doesn't start; {}", program->string(), kMend);
    // "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-…)"
    constexpr std::string_view kBefore = "version ";
    const std::size_t at = said->out.find(kBefore);
    if (!said->exit.ok() || at == std::string::npos) {
        return fail(Code::environment, "{} --version: {}; {}", program->string(), said->exit.text(),
                    kMend);
    }
    const std::string rest = said->out.substr(at + kBefore.size());
    return Qemu{*program, rest.substr(0, rest.find_first_of(" \n,"))};
}

namespace {

// A comma in a value would start QEMU's next option: it is doubled.
std::string escaped(const std::filesystem::path& path) {
    std::string out;
    for (const char c : path.string()) {
        out += c;
        if (c == ',') out += ',';
    }
    return out;
}

}  // namespace

unsigned spare_cpus(const plan::Plan& plan) {
    return plan.exact && plan.shape.cpus > 1 ? plan.shape.cpus - 1 : 0;
}

bool may_tear_code(const Qemu& qemu, const plan::Plan& plan) {
    unsigned major = 0;
    unsigned minor = 0;
    const char* const end = qemu.version.data() + qemu.version.size();
    const auto first = std::from_chars(qemu.version.data(), end, major);
    if (first.ec != std::errc() || first.ptr == end) return false;
    if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return false;
    return !plan.exact && plan.shape.cpus > 1 && std::pair(major, minor) < std::pair(8U, 1U);
}

std::string kernel_command_line(const Launch& launch) {
    // panic=-1 with -no-reboot ends QEMU at a panic; oops=panic, since a kernel that has oopsed
    // says nothing about the one that was to be measured. cryptomgr.notests: emulated CPUs have
    // crashed kernels in their crypto self-tests, and boots are shorter. sysrq: for the dump of a
    // hung guest.
    std::string line =
        "console=ttyS0 loglevel=5 panic=-1 oops=panic sysrq_always_enabled psi=1 "
        "cryptomgr.notests audit=0 8250.nr_uarts=1 rdinit=/init";
    // Anything drawn at boot would make each boot another machine.
    if (launch.plan.exact) {
        // The clock counts instructions at 1 GHz, so neither TSC nor delay loop has to be
        // calibrated (on kernels that start their CPUs one by one, a calibration against a CPU that
        // stands still takes minutes), and every TSC is the same one.
        line += fmt::format(" nokaslr norandmaps tsc=reliable tsc_early_khz=1000000 lpj={}",
                            1'000'000'000 / launch.hz);
        // The agent brings the others online, and leaves the spare ones alone.
        if (spare_cpus(launch.plan) > 0) line += " maxcpus=1";
    } else {
        // The kernel counts timer interrupts while it spins for 40 ms, and panics when too few
        // came. On a busy host an emulated CPU may well not run for so long. (Exact mode's clock
        // stands still then; under KVM the kernel doesn't look.)
        line += " no_timer_check";
        // See host_tsc_khz: an emulated CPU's time stamp counter is the host's. The kernel checks
        // the rate later against another clock, and keeps ours when that check goes wrong.
        if (launch.tsc_khz && !launch.kvm) {
            line += fmt::format(" tsc=reliable tsc_early_khz={}", *launch.tsc_khz);
        }
    }
    for (const std::string& word : launch.plan.shape.extra_cmdline)
        line += " " + word;
    for (const std::string& word : launch.arm.cmdline)
        line += " " + word;
    return line;
}

std::vector<std::string> command_line(const Launch& launch) {
    const plan::GuestShape& shape = launch.plan.shape;
    const bool pvh = launch.kernel.elf && launch.kernel.pvh;
    std::vector<std::string> line{
        launch.qemu.program.string(), "-nodefaults", "-no-user-config", "-display", "none", "-nic",
        "none", "-no-reboot", "-sandbox",
        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny", "-M", "pc",
        "-smp", fmt::format("{}", shape.cpus + spare_cpus(launch.plan)), "-m",
        fmt::format("{}k", shape.memory_bytes / kKiB), "-kernel",
        (pvh ? *launch.kernel.elf : launch.kernel.image).string(), "-initrd", launch.image.string(),
        "-append", kernel_command_line(launch),
        // Shared memory that isn't guest RAM: what the agent records takes nothing from the memory
        // whose shortage is measured, and survives the guest's end.
        "-object",
        fmt::format("memory-backend-file,id=log,share=on,mem-path={},size={}", escaped(launch.log),
                    launch.log_bytes),
        "-device", "ivshmem-plain,memdev=log", "-chardev",
        fmt::format("socket,id=console,fd={}", launch.console_fd), "-serial", "chardev:console",
        "-chardev", fmt::format("socket,id=qmp,fd={}", launch.qmp_fd), "-mon",
        "chardev=qmp,mode=control"};
    auto add = [&line](std::initializer_list<const char*> words) {
        line.insert(line.end(), words.begin(), words.end());
    };
    if (launch.kvm) {
        add({"-accel", "kvm", "-cpu", "host"});
    } else if (launch.plan.exact) {
        add({"-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-rtc",
             "clock=vm,base=2026-01-01", "-cpu", "qemu64", "-seed", "1"});
        if (shape.cpus > 1) {
            // A filter on a hub that nothing is plugged into: a timer of our period, nothing else.
            add({"-netdev", "hubport,id=turn,hubid=0", "-object"});
            line.push_back(fmt::format("filter-buffer,id=turns,netdev=turn,interval={}", kTurnUs));
        }
    } else {
        add({"-accel", "tcg,thread=multi", "-cpu", "qemu64"});
    }
    return line;
}

}  // namespace mano::substrate::guest
