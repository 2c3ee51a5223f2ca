// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/qemu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/file.h"
#include "base/units.h"
#include "substrate/guest/host_clock.h"

namespace mano::substrate::guest {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct Setting {
    Setting() {
        plan.shape.memory_bytes = 512 * kMiB;
        plan.shape.cpus = 2;
        kernel.image = "/k/bzImage";
    }
    Launch launch() const {
        return {.qemu = qemu,
                .plan = plan,
                .arm = arm,
                .kernel = kernel,
                .kvm = kvm,
                .tsc_khz = tsc_khz,
                .image = "/run/image",
                .log = log,
                .log_bytes = 1 << 20,
                .qmp_fd = 11,
                .console_fd = 12};
    }
    // The word after an option; "" when the option isn't there.
    std::string after(std::string_view option) const {
        const auto line = command_line(launch());
        for (std::size_t i = 0; i + 1 < line.size(); ++i) {
            if (line[i] == option) return line[i + 1];
        }
        return "";
    }
    std::vector<std::string> words() const { return command_line(launch()); }

    Qemu qemu{"/usr/bin/qemu-system-x86_64", "7.2.22"};
    plan::Plan plan;
    plan::Arm arm;
    kernels::Kernel kernel;
    std::filesystem::path log = "/run/log";
    bool kvm = false;
    std::optional<std::uint64_t> tsc_khz;
};

TEST(CommandLine, NoNetworkNoDiskNoHostFolderAndASandbox) {
    const Setting setting;
    const auto words = setting.words();
    EXPECT_EQ(words[0], "/usr/bin/qemu-system-x86_64");
    for (const char* word : {"-nodefaults", "-no-user-config", "-no-reboot"}) {
        EXPECT_THAT(words, Contains(word));
    }
    EXPECT_EQ(setting.after("-nic"), "none");
    EXPECT_EQ(setting.after("-display"), "none");
    EXPECT_EQ(setting.after("-sandbox"),
              "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
    for (const std::string& word : words) {
        for (const char* way_in : {"-drive", "-hda", "-virtfs", "-fsdev", "-chroot", "-incoming"}) {
            EXPECT_NE(word, way_in);
        }
        for (const char* network : {"user,", "tap,", "-net", "virtio-rng"}) {
            if (word == "-netdev") continue;  // a hub of nothing, see below
            EXPECT_THAT(word, Not(HasSubstr(network)));
        }
    }
    EXPECT_EQ(setting.after("-m"), "524288k");
    EXPECT_EQ(setting.after("-smp"), "2");
    EXPECT_EQ(setting.after("-M"), "pc");
    EXPECT_EQ(setting.after("-initrd"), "/run/image");
    EXPECT_THAT(words, Contains("socket,id=console,fd=12"));
    EXPECT_THAT(words, Contains("socket,id=qmp,fd=11"));
}

TEST(CommandLine, TheOnlyNetdevIsAHubOfNothing) {
    Setting setting;
    setting.plan.exact = true;
    const std::string netdev = setting.after("-netdev");
    EXPECT_TRUE(netdev.empty() || netdev.starts_with("hubport,")) << netdev;
}

TEST(CommandLine, PvhWhereTheKernelHasIt) {
    Setting setting;
    EXPECT_EQ(setting.after("-kernel"), "/k/bzImage");
    setting.kernel.elf = "/k/vmlinux";
    EXPECT_EQ(setting.after("-kernel"), "/k/bzImage") << "an ELF without the note doesn't boot";
    setting.kernel.pvh = true;
    EXPECT_EQ(setting.after("-kernel"), "/k/vmlinux");
}

TEST(CommandLine, TheLogIsSharedMemoryAndNotGuestRam) {
    Setting setting;
    EXPECT_EQ(setting.after("-object"),
              "memory-backend-file,id=log,share=on,mem-path=/run/log,size=1048576");
    EXPECT_THAT(setting.words(), Contains("ivshmem-plain,memdev=log"));
}

TEST(CommandLine, ACommaInAPathStartsNoOption) {
    Setting setting;
    setting.log = "/run/a,share=off,b/log";
    EXPECT_EQ(setting.after("-object"),
              "memory-backend-file,id=log,share=on,mem-path=/run/a,,share=off,,b/log,size=1048576");
}

TEST(Qemu, WhichVersionsMayTearCode) {
    plan::Plan plan;
    plan.shape.cpus = 2;
    for (const char* old : {"7.2.22", "8.0.0", "6.2"})
        EXPECT_TRUE(may_tear_code({"qemu", old}, plan)) << old;
    for (const char* other : {"8.1.0", "10.0.2", "unknown", "", "8"})
        EXPECT_FALSE(may_tear_code({"qemu", other}, plan)) << other;
    plan.shape.cpus = 1;
    EXPECT_FALSE(may_tear_code({"qemu", "7.2.22"}, plan));
    plan.shape.cpus = 2;
    plan.exact = true;
    EXPECT_FALSE(may_tear_code({"qemu", "7.2.22"}, plan));
}

TEST(CommandLine, Accelerators) {
    Setting setting;
    EXPECT_EQ(setting.after("-accel"), "tcg,thread=multi");
    EXPECT_EQ(setting.after("-cpu"), "qemu64");
    EXPECT_EQ(setting.after("-icount"), "");
    setting.kvm = true;
    EXPECT_EQ(setting.after("-accel"), "kvm");
    EXPECT_EQ(setting.after("-cpu"), "host");
}

// An emulated CPU's time stamp counter is the host's; exact mode has a clock of its own, and KVM
// tells its guests itself.
TEST(CommandLine, AnEmulatedGuestIsToldTheRateOfItsCounter) {
    Setting setting;
    EXPECT_THAT(setting.after("-append"), Not(HasSubstr("tsc"))) << "nobody knows it";
    setting.tsc_khz = 2300000;
    EXPECT_THAT(setting.after("-append"), HasSubstr(" tsc=reliable tsc_early_khz=2300000"));
    setting.kvm = true;
    EXPECT_THAT(setting.after("-append"), Not(HasSubstr("tsc")));
    setting.kvm = false;
    setting.plan.exact = true;
    EXPECT_THAT(setting.after("-append"), Not(HasSubstr("2300000")));
}

TEST(HostClock, TheCountersRateIsStable) {
    const auto khz = host_tsc_khz();
    if (!khz) GTEST_SKIP() << "this host has no time stamp counter with one rate";
    EXPECT_EQ(*khz % 1000, 0U);
    EXPECT_GE(*khz, 100'000U);
    EXPECT_EQ(khz, host_tsc_khz());
}

TEST(CommandLine, ExactModeHasNothingOfTheHost) {
    Setting setting;
    setting.plan.exact = true;
    EXPECT_EQ(setting.after("-accel"), "tcg,thread=single");
    EXPECT_EQ(setting.after("-icount"), "shift=0,sleep=off");
    EXPECT_EQ(setting.after("-rtc"), "clock=vm,base=2026-01-01");
    EXPECT_EQ(setting.after("-cpu"), "qemu64");
    EXPECT_EQ(setting.after("-seed"), "1") << "else QEMU hands the guest a random seed";
    const std::string kernel = setting.after("-append");
    EXPECT_THAT(kernel, HasSubstr(" nokaslr"));
    EXPECT_THAT(kernel, HasSubstr(" norandmaps"));
}

TEST(CommandLine, TheKernelsOwn) {
    Setting setting;
    setting.plan.shape.extra_cmdline = {"shape=1"};
    setting.arm.cmdline = {"arm=1", "arm=2"};
    const std::string line = setting.after("-append");
    for (const char* word : {"console=ttyS0", "panic=-1", "oops=panic", "psi=1", "rdinit=/init",
                             "sysrq_always_enabled", "cryptomgr.notests"}) {
        EXPECT_THAT(line, HasSubstr(word));
    }
    EXPECT_THAT(line, Not(HasSubstr("nokaslr"))) << "only in exact mode";
    EXPECT_THAT(line, HasSubstr(" no_timer_check")) << "a busy host would look like a panic";
    EXPECT_THAT(line, ::testing::EndsWith(" shape=1 arm=1 arm=2")) << "the arm has the last word";
}

// Why: qemu.h, above kTurnUs.
TEST(CommandLine, ExactModeGivesEveryCpuItsTurn) {
    Setting setting;
    setting.plan.exact = true;
    setting.plan.shape.cpus = 4;
    EXPECT_EQ(spare_cpus(setting.plan), 3U);
    EXPECT_EQ(setting.after("-smp"), "7");
    EXPECT_THAT(setting.after("-append"), HasSubstr(" maxcpus=1"))
        << "the agent brings up the rest";
    EXPECT_THAT(setting.words(),
                Contains(fmt::format("filter-buffer,id=turns,netdev=turn,interval={}", kTurnUs)));
    setting.plan.shape.cpus = 1;
    EXPECT_EQ(setting.after("-smp"), "1");
    EXPECT_EQ(setting.after("-netdev"), "");
    EXPECT_THAT(setting.after("-append"), Not(HasSubstr("maxcpus")));
    setting.plan.shape.cpus = 4;
    setting.plan.exact = false;
    EXPECT_EQ(setting.after("-smp"), "4");
}

// A program of our own on PATH, under QEMU's name.
class FindQemu : public ::testing::Test {
  protected:
    void SetUp() override {
        auto made = TempFolder::make(std::filesystem::temp_directory_path(), "mano-qemu-");
        ASSERT_TRUE(made);
        folder_ = std::move(*made);
        path_ = ::getenv("PATH");
        ::setenv("PATH", folder_.path().c_str(), 1);
    }
    void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }
    void put(std::string_view script) {
        const auto file = folder_.path() / "qemu-system-x86_64";
        ASSERT_TRUE(write_file_atomic(file, script));
        ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
    }

  private:
    TempFolder folder_;
    std::string path_;
};

TEST_F(FindQemu, TakesTheVersion) {
    put("#!/bin/sh\necho 'QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)'\n");
    const auto qemu = find_qemu();
    ASSERT_TRUE(qemu) << qemu.error().text();
    EXPECT_EQ(qemu->version, "7.2.22");
}

TEST_F(FindQemu, MissingIsSaidWithTheMend) {
    const auto qemu = find_qemu();
    ASSERT_FALSE(qemu);
    EXPECT_EQ(qemu.error().code, Code::environment);
    EXPECT_THAT(qemu.error().message, HasSubstr("qemu-system-x86"));
    EXPECT_THAT(qemu.error().message, HasSubstr("install"));
}

TEST_F(FindQemu, OneThatFailsOrSaysNothing) {
    for (const char* script : {"#!/bin/sh\nexit 3\n", "#!/bin/sh\necho hello\n", "not a program"}) {
        put(script);
        const auto qemu = find_qemu();
        ASSERT_FALSE(qemu) << script;
        EXPECT_EQ(qemu.error().code, Code::environment);
        EXPECT_THAT(qemu.error().message, HasSubstr("install"));
    }
}

}  // namespace
}  // namespace mano::substrate::guest
