// SPDX-License-Identifier: GPL-2.0-or-later
// Endings that the host brings about, and what is left behind: limits, a killed or missing QEMU, a
// killed Manometer, an ordinary user.
#include <dirent.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;
using measure::Standing;
using measure::standing;

constexpr std::string_view kKernel = "debian:7.3";
constexpr std::int64_t kLong = 3'600'000'000'000;

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::vector<std::string> folders_of(pid_t pid) {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
        const std::string name = entry.path().filename();
        if (name.starts_with(fmt::format("manometer-guest-{}-", pid))) found.push_back(name);
    }
    return found;
}

TEST(Host, WallClock) {
    OneTrial one(kKernel);
    one.trial().probe.values = {kLong};
    one.trial().probe_limit_ns = kLong;
    one.plan.wall_limit_ns = 10'000'000'000;
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::wall_clock) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_PRED2(has, record.evidence, "10 s of host time");
    EXPECT_PRED2(has, record.evidence, "--timeout");
    EXPECT_GE(record.host_ns, 10'000'000'000U);
    EXPECT_TRUE(folders_of(::getpid()).empty());
}

// A kernel that has mistaken the rate of its time stamp counter (on a busy host, a calibration is
// all it takes) lives too fast: nothing that it measured can be used.
TEST(Host, AClockThatRunsAway) {
    OneTrial one(kKernel);
    one.trial().probe.values = {60'000'000'000};
    one.plan.shape.extra_cmdline = {"tsc_early_khz=100000"};
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::harness_fault) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_PRED2(has, record.evidence, "clock ran too fast");
}

// What a guest is told about its counter keeps its clock to the host's.
TEST(Host, GuestAndHostAgreeOnASecond) {
    OneTrial one(kKernel);
    one.trial().probe.values = {5'000'000'000};
    const auto record = record_of(one);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    EXPECT_GE(record.host_ns, 5'000'000'000U) << "five seconds of the guest's are no less here";
}

TEST(Host, QemuKilledInMidRun) {
    OneTrial one(kKernel);
    one.trial().probe.values = {kLong};
    one.trial().probe_limit_ns = kLong;
    one.on_phase = [](std::string_view phase) {
        if (!phase.starts_with("probe")) return;
        const auto guests = qemu_children(::getpid());
        ASSERT_EQ(guests.size(), 1U);
        ::kill(guests[0], SIGKILL);
    };
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::qemu_died) << record.evidence;
    EXPECT_EQ(standing(record.ending), Standing::spoiled);
    EXPECT_PRED2(has, record.evidence, "signal 9");
    EXPECT_PRED2(has, record.evidence, "phase probe 1");
    EXPECT_PRED2(has, fact(record, "kernel.release"), "7.3") << "what was read is kept";
}

TEST(Host, QemuMissingBeforeTheRun) {
    OneTrial one(kKernel);
    const auto empty = TempFolder::make(std::filesystem::temp_directory_path(), "mano-no-qemu-");
    ASSERT_TRUE(empty);
    const std::string path = ::getenv("PATH");
    ::setenv("PATH", empty->path().c_str(), 1);
    const Ran ran = run(one);
    ::setenv("PATH", path.c_str(), 1);
    EXPECT_FALSE(ran.record);
    EXPECT_EQ(ran.code, Code::environment);
    EXPECT_PRED2(has, ran.error, "qemu-system-x86_64");
    EXPECT_PRED2(has, ran.error, "apt-get install") << "the mend";
}

TEST(Host, QemuMissingWhenTheTrialStarts) {
    OneTrial one(kKernel);
    auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-gone-qemu-");
    ASSERT_TRUE(folder);
    const auto real = find_program("qemu-system-x86_64");
    ASSERT_TRUE(real);
    std::filesystem::create_symlink(*real, folder->path() / "qemu-system-x86_64");
    const std::string path = ::getenv("PATH");
    ::setenv("PATH", (folder->path().string() + ":" + path).c_str(), 1);
    substrate::guest::GuestSubstrate substrate(one.options);
    ASSERT_TRUE(substrate.prepare(one.plan, {one.kernel}));
    ::setenv("PATH", path.c_str(), 1);
    std::filesystem::remove(folder->path() / "qemu-system-x86_64");
    const auto record = substrate.run({one.plan, one.plan.trials[0], one.kernel}, {}, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, Ending::qemu_missing);
    EXPECT_EQ(standing(record->ending), Standing::spoiled);
    EXPECT_PRED2(has, record->evidence, "qemu-system-x86_64");
}

TEST(Host, StopIsHeardAtOnce) {
    OneTrial one(kKernel);
    one.trial().probe.values = {kLong};
    one.trial().probe_limit_ns = kLong;
    substrate::guest::GuestSubstrate substrate(one.options);
    ASSERT_TRUE(substrate.prepare(one.plan, {one.kernel}));
    const auto start = std::chrono::steady_clock::now();
    const auto stop = [&] {
        return std::chrono::steady_clock::now() - start > std::chrono::seconds(1);
    };
    const auto record = substrate.run({one.plan, one.plan.trials[0], one.kernel}, {}, stop);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Code::interrupted);
    EXPECT_TRUE(qemu_children(::getpid()).empty());
    EXPECT_TRUE(folders_of(::getpid()).empty());
}

// Runs a trial in a process of its own, which says 'x' when the guest is in its probe.
pid_t trial_in_a_child(OneTrial& one, int say) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    one.on_phase = [say](std::string_view phase) {
        if (phase.starts_with("probe")) [[maybe_unused]]
            const ssize_t done = ::write(say, "x", 1);
    };
    run(one);
    ::_exit(0);
}

TEST(Host, KilledManometerLeavesNoGuest) {
    OneTrial one(kKernel);
    one.trial().probe.values = {kLong};
    one.trial().probe_limit_ns = kLong;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = trial_in_a_child(one, ends[1]);
    ASSERT_GT(child, 0);
    ::close(ends[1]);
    char word = 0;
    ASSERT_EQ(::read(ends[0], &word, 1), 1) << "the child's guest never came to its probe";
    ::close(ends[0]);
    const auto guests = qemu_children(child);
    ASSERT_EQ(guests.size(), 1U);
    ASSERT_FALSE(folders_of(child).empty());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    bool alive = true;
    for (int i = 0; i < 100 && alive; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        alive = is_alive(guests[0]);
    }
    EXPECT_FALSE(alive) << "QEMU " << guests[0] << " outlives its Manometer by more than a second";

    // What it left in memory goes when the next one prepares.
    EXPECT_FALSE(folders_of(child).empty());
    substrate::guest::GuestSubstrate next(one.options);
    ASSERT_TRUE(next.prepare(one.plan, {one.kernel}));
    EXPECT_TRUE(folders_of(child).empty());
}

// There are machines where /dev/kvm opens, makes a machine, and the guest then hangs: only a boot
// proves KVM. Whatever this machine is, `auto` gives a guest that works, says why, and remembers.
TEST(Host, AutomaticAcceleratorIsProved) {
    OneTrial one(kKernel);
    one.plan.accel = plan::Accel::automatic;
    const auto cache = TempFolder::make(std::filesystem::temp_directory_path(), "mano-kvm-proof-");
    ASSERT_TRUE(cache);
    one.options.cache = cache->path();
    substrate::guest::GuestSubstrate first(one.options);
    ASSERT_TRUE(first.prepare(one.plan, {one.kernel}));
    const std::string accel = first.identity()["accel"];
    const auto remarks = first.remarks();
    std::printf("[ GUEST    ] accelerator auto is %s here: %s\n", accel.c_str(),
                remarks.empty() ? "proved by a boot" : remarks[0].c_str());
    EXPECT_EQ(remarks.empty(), accel == "kvm");
    if (accel == "tcg") {
        EXPECT_TRUE(has(remarks[0], "KVM isn't usable") || has(remarks[0], "TCG is used"));
    }

    substrate::guest::GuestSubstrate second(one.options);
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(second.prepare(one.plan, {one.kernel}));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6)) << "remembered";
    EXPECT_EQ(second.identity()["accel"], accel);
    const auto record = second.run({one.plan, one.plan.trials[0], one.kernel}, {}, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->ending, Ending::goodbye) << record->evidence;
    EXPECT_EQ(fact(*record, "state.accel"), accel);
    EXPECT_TRUE(qemu_children(::getpid()).empty());
}

// What was asked for by name is not quietly replaced.
TEST(Host, KvmByNameIsKvmOrAnError) {
    OneTrial one(kKernel);
    one.plan.accel = plan::Accel::kvm;
    substrate::guest::GuestSubstrate substrate(one.options);
    const Status ready = substrate.prepare(one.plan, {one.kernel});
    if (ready) {
        EXPECT_EQ(substrate.identity()["accel"], "kvm");
        return;
    }
    EXPECT_EQ(ready.error().code, Code::environment);
    EXPECT_PRED2(has, ready.error().message, "--accel tcg");
}

TEST(Host, ExactUnderKvmIsRefused) {
    OneTrial one(kKernel);
    one.plan.accel = plan::Accel::kvm;
    one.plan.exact = true;
    substrate::guest::GuestSubstrate substrate(one.options);
    const Status ready = substrate.prepare(one.plan, {one.kernel});
    ASSERT_FALSE(ready);
    EXPECT_EQ(ready.error().code, Code::invalid);
}

// A copy of the kernel's files where anybody can read them.
void make_public(OneTrial& one, const std::filesystem::path& folder) {
    std::filesystem::copy_file(one.kernel.image, folder / "image");
    one.kernel.image = folder / "image";
    if (one.kernel.elf) {
        std::filesystem::copy_file(*one.kernel.elf, folder / "elf");
        one.kernel.elf = folder / "elf";
    }
    for (const char* name : {"image", "elf"})
        ::chmod((folder / name).c_str(), 0644);
    ::chmod(folder.c_str(), 0755);
}

TEST(Host, WorksForAnOrdinaryUser) {
    OneTrial one(kKernel);
    constexpr unsigned kNobody = 65534;
    const bool is_root = ::geteuid() == 0;
    const auto folder = TempFolder::make("/tmp", "mano-nobody-");
    ASSERT_TRUE(folder);
    if (is_root) make_public(one, folder->path());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool dropped = !is_root || (::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 &&
                                          ::setuid(kNobody) == 0);
        if (!dropped || ::geteuid() == 0) ::_exit(2);
        one.options.cache = folder->path() / "cache";  // which can't be made: said or not needed
        const auto record = record_of(one);
        if (record.ending != Ending::goodbye) std::fprintf(stderr, "%s\n", record.evidence.c_str());
        ::_exit(record.ending == Ending::goodbye ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace mano::guest_test
