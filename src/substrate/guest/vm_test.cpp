// SPDX-License-Identifier: GPL-2.0-or-later
// Every ending that the host can see, played by a program in QEMU's place: no boot, no kernel.
#include "substrate/guest/vm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "base/units.h"
#include "substrate/guest/console.h"
#include "substrate/guest/still/still.h"

namespace mano::substrate::guest {
namespace {

using measure::Ending;
using ::testing::HasSubstr;

struct Stage {
    Stage() {
        plan.shape.memory_bytes = 64 * kMiB;
        // Long against anything that a busy machine does, short for a test.
        limits.boot_ns = 20'000'000'000;
        limits.hang_ns = 20'000'000'000;
        limits.wall_ns = 60'000'000'000;
        limits.dump_ns = 2'000'000'000;
    }
    Result<Life> play(std::string_view part, const std::function<bool()>& stop = {}) {
        kernels::Kernel kernel;
        kernel.image = part;
        const Guest guest{.qemu = qemu,
                          .plan = plan,
                          .arm = arm,
                          .kernel = kernel,
                          .image = "an image",
                          .log_bytes = log_bytes,
                          .limits = limits,
                          .only_hello = only_hello,
                          .waited = waited};
        auto life = (untorn ? live_untorn : live)(
            guest, [this](std::string_view phase) { phases.emplace_back(phase); }, stop);
        // Nothing of it is left: no process (waitpid has nobody to wait for), no folder.
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << part << ": a child is left";
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
            EXPECT_THAT(entry.path().filename().string(),
                        ::testing::Not(
                            ::testing::StartsWith(fmt::format("manometer-guest-{}-", ::getpid()))));
        }
        return life;
    }
    Life life(std::string_view part) {
        auto life = play(part);
        if (life) return std::move(*life);
        ADD_FAILURE() << part << ": " << life.error().text();
        return {};
    }

    Qemu qemu{MANO_FAKE_QEMU, "0"};
    plan::Plan plan;
    plan::Arm arm;
    Limits limits;
    std::uint64_t log_bytes = 1 << 20;
    bool only_hello = false;
    bool untorn = false;  // boot anew as a run does
    std::uint64_t (*waited)(pid_t) = waited_ns;
    std::vector<std::string> phases;
};

TEST(Vm, CleanGoodbye) {
    for (const char* part : {"good", "good-and-exit"}) {
        Stage stage;
        const Life life = stage.life(part);
        EXPECT_EQ(life.ending, Ending::goodbye) << part << life.evidence;
        EXPECT_EQ(life.evidence, "");
        ASSERT_EQ(life.frames.size(), 3U);
        EXPECT_GT(life.boot_ns, 0U);
        EXPECT_GE(life.host_ns, life.boot_ns);
    }
}

// QEMU gets the clock that stands still, and one that doesn't take it is no exact guest.
TEST(Vm, ExactGuestsHaveAStillClock) {
    // A sanitizer in the program that plays QEMU wants to be loaded first.
    const char* before = std::getenv("ASAN_OPTIONS");
    const std::string kept = before != nullptr ? before : "";
    ::setenv("ASAN_OPTIONS", (kept + ":verify_asan_link_order=0").c_str(), 1);
    Stage stage;
    stage.plan.exact = true;
    const Life good = stage.life("good");
    EXPECT_EQ(good.ending, Ending::goodbye) << good.evidence;
    const Life told = stage.life("clock");
    EXPECT_EQ(told.ending, Ending::probe_refused);
    EXPECT_EQ(told.evidence, "1767225600.000000");
    ::setenv("ASAN_OPTIONS", kept.c_str(), 1);
    EXPECT_TRUE(lacks_still_clock(::getpid()));
}

TEST(Vm, HelloIsEnoughForAProof) {
    Stage stage;
    stage.only_hello = true;
    EXPECT_EQ(stage.life("deaf").ending, Ending::goodbye);
}

TEST(Vm, WhatTheAgentTellsIsCleaned) {
    Stage stage;
    const Life life = stage.life("told");
    EXPECT_EQ(life.ending, Ending::probe_refused);
    EXPECT_EQ(life.evidence, "refused: ENOMEM");
}

TEST(Vm, QemuThatDiesAtOnce) {
    Stage stage;
    EXPECT_EQ(stage.life("dead").ending, Ending::qemu_died);
    const Life life = stage.life("complaint");
    EXPECT_EQ(life.ending, Ending::qemu_died);
    EXPECT_THAT(life.evidence, HasSubstr("exit status 1"));
    EXPECT_THAT(life.evidence, HasSubstr("phase boot"));
    EXPECT_THAT(life.evidence, HasSubstr("could not load kernel")) << "what QEMU said is kept";
}

TEST(Vm, QemuThatDiesOfASignal) {
    Stage stage;
    EXPECT_EQ(stage.life("signal").ending, Ending::qemu_died);
    const Life life = stage.life("killed");
    EXPECT_EQ(life.ending, Ending::qemu_died);
    EXPECT_THAT(life.evidence, HasSubstr("signal 9"));
    EXPECT_THAT(life.evidence, HasSubstr("phase probe 1"));
    EXPECT_EQ(life.frames.size(), 2U) << "what was read is kept";
}

TEST(Vm, NoQemu) {
    Stage stage;
    stage.qemu.program = "/nowhere/qemu-system-x86_64";
    const Life life = stage.life("good");
    EXPECT_EQ(life.ending, Ending::qemu_missing);
    EXPECT_THAT(life.evidence, HasSubstr("/nowhere/qemu-system-x86_64"));
}

TEST(Vm, Panic) {
    Stage stage;
    for (const char* part : {"panic", "panic-later"}) {
        const Life life = stage.life(part);
        EXPECT_EQ(life.ending, Ending::panic) << part;
        EXPECT_THAT(life.evidence, HasSubstr("no root"));
        EXPECT_THAT(life.evidence, HasSubstr("Call Trace"));
        EXPECT_THAT(life.console, HasSubstr("booting"));
    }
}

// QEMU's own fault isn't the kernel's, but a kernel that always dies so is believed.
TEST(Vm, TornCodeIsBootedAnew) {
    Stage stage;
    stage.untorn = true;
    stage.qemu.version = "7.2.22";
    stage.plan.shape.cpus = 2;
    const Life always = stage.life("torn");
    EXPECT_EQ(always.ending, Ending::panic);
    EXPECT_EQ(always.boots, 3);
    EXPECT_THAT(always.evidence, HasSubstr("QEMU 7.2.22 can cause this itself"));
    EXPECT_THAT(always.evidence, HasSubstr("int3"));
    const Life other = stage.life("panic");
    EXPECT_EQ(other.ending, Ending::panic);
    EXPECT_EQ(other.boots, 1) << "a panic of another kind is the kernel's";

    const auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-test-");
    ASSERT_TRUE(folder);
    ::setenv("MANO_TORN_ONCE", (folder->path() / "once").c_str(), 1);
    const Life once = stage.life("torn");
    EXPECT_EQ(once.ending, Ending::goodbye) << once.evidence;
    EXPECT_EQ(once.boots, 2);
    std::filesystem::remove(folder->path() / "once");
    stage.qemu.version = "8.1.0";
    EXPECT_EQ(stage.life("torn").ending, Ending::panic) << "that QEMU has no such fault";
    ::unsetenv("MANO_TORN_ONCE");
}

TEST(Vm, OffWithoutAWord) {
    Stage stage;
    const Life before = stage.life("reset");
    EXPECT_EQ(before.ending, Ending::no_boot);
    EXPECT_THAT(before.evidence, HasSubstr("booting")) << "the console's end";
    const Life after = stage.life("gone");
    EXPECT_EQ(after.ending, Ending::panic);
    EXPECT_THAT(after.evidence, HasSubstr("phase pressure"));
    EXPECT_THAT(after.evidence, HasSubstr("without a goodbye"));
}

TEST(Vm, NeverSaysHello) {
    Stage stage;
    stage.limits.boot_ns = 500'000'000;
    const Life life = stage.life("mute");
    EXPECT_EQ(life.ending, Ending::no_boot);
    EXPECT_THAT(life.evidence, HasSubstr("no hello"));
    EXPECT_THAT(life.evidence, HasSubstr("booting"));
}

TEST(Vm, HangAfterHelloGivesADumpOfItsTasks) {
    Stage stage;
    stage.limits.hang_ns = 1'000'000'000;
    const Life life = stage.life("hang");
    EXPECT_EQ(life.ending, Ending::hung);
    EXPECT_THAT(life.evidence, HasSubstr("no heartbeat for 1 s"));
    EXPECT_THAT(life.evidence, HasSubstr("phase probe 2"));
    EXPECT_THAT(life.evidence, HasSubstr("task:spin"));
}

TEST(Vm, HangWithADeafMonitor) {
    Stage stage;
    stage.limits.hang_ns = 500'000'000;
    const Life life = stage.life("deaf");
    EXPECT_EQ(life.ending, Ending::hung);
    EXPECT_THAT(life.evidence, HasSubstr("didn't answer the break"));
}

TEST(Vm, HeartbeatsAreNoHangButTheClockRuns) {
    Stage stage;
    stage.limits.hang_ns = 15'000'000'000;
    stage.limits.wall_ns = 1'500'000'000;
    const Life life = stage.life("slow");
    EXPECT_EQ(life.ending, Ending::wall_clock);
    EXPECT_THAT(life.evidence, HasSubstr("--timeout"));
    EXPECT_GE(life.host_ns, 1'500'000'000U);
}

// QEMU is silent because a busy host doesn't let it run: that is no hang of the guest.
TEST(Vm, TimeWithoutACpuIsNoSilence) {
    Stage stage;
    stage.limits.hang_ns = 300'000'000;
    stage.limits.wall_ns = 1'500'000'000;
    stage.waited = [](pid_t) -> std::uint64_t {
        timespec now = {};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(now.tv_nsec);
    };
    EXPECT_EQ(stage.life("deaf").ending, Ending::wall_clock);
    stage.waited = [](pid_t) -> std::uint64_t { return 0; };
    EXPECT_EQ(stage.life("deaf").ending, Ending::hung);
}

// What the kernel counts for a process that runs, sleeps and competes is time of its own.
TEST(Vm, WaitedTimeOfThisProcessIsLessThanItsAge) {
    timespec now = {};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    EXPECT_LT(waited_ns(::getpid()), static_cast<std::uint64_t>(now.tv_sec + 1) * 1'000'000'000);
    EXPECT_EQ(waited_ns(0), 0U) << "no such process";
}

TEST(Vm, FloodedConsoleIsBoundedAndKeepsBothEnds) {
    Stage stage;
    const Life life = stage.life("flood");
    EXPECT_EQ(life.ending, Ending::goodbye);
    EXPECT_LE(life.console.size(), kMaxConsole + 200);
    EXPECT_THAT(life.console, HasSubstr("the first line"));
    EXPECT_THAT(life.console, HasSubstr("the last line"));
}

TEST(Vm, AFloodWithoutEndDoesNotHoldUpTheLimits) {
    Stage stage;
    stage.limits.hang_ns = 1'000'000'000;
    EXPECT_EQ(stage.life("flood-for-ever").ending, Ending::hung);
}

TEST(Vm, LogsThatNoAgentWrites) {
    struct Forgery {
        const char* part;
        const char* evidence;
    };
    constexpr Forgery kForgeries[] = {
        {"version", "version 99"},
        {"beyond", "committed bytes"},
        {"garbage", "claims"},
        {"checksum", "damaged"},
        {"no-hello", "begin with a hello"},
        {"forged-ending", "no agent tells"},
        {"unknown-ending", "no agent tells"},
        {"bad-chain", "goodbye doesn't agree"},
    };
    for (const auto& [part, evidence] : kForgeries) {
        Stage stage;
        const Life life = stage.life(part);
        EXPECT_EQ(life.ending, Ending::log_torn) << part << ": " << life.evidence;
        EXPECT_THAT(life.evidence, HasSubstr(evidence)) << part;
    }
}

// The goodbye ends the trial: what comes behind it is never looked at.
TEST(Vm, NothingIsReadBehindTheGoodbye) {
    Stage stage;
    const Life life = stage.life("after-goodbye");
    EXPECT_EQ(life.ending, Ending::goodbye);
    EXPECT_EQ(life.frames.size(), 3U);
}

TEST(Vm, FullLogIsSaidWithItsNumber) {
    Stage stage;
    const Life life = stage.life("full");
    EXPECT_EQ(life.ending, Ending::log_full);
    EXPECT_GT(life.lost_frames, 50U);
    EXPECT_THAT(life.evidence, HasSubstr(fmt::format("{} records are lost", life.lost_frames)));
}

TEST(Vm, Stopped) {
    Stage stage;
    const auto life = stage.play("slow", [] { return true; });
    ASSERT_FALSE(life);
    EXPECT_EQ(life.error().code, Code::interrupted);
}

TEST(Vm, PhasesAreToldInOrder) {
    Stage stage;
    static_cast<void>(stage.life("killed"));
    ASSERT_FALSE(stage.phases.empty());
    for (const std::string& phase : stage.phases) {
        EXPECT_TRUE(phase == "boot" || phase == "probe 1") << phase;
    }
}

TEST(Vm, StaleFoldersGoAndLiveOnesStay) {
    // Of a process that is gone, of this one, and of nobody.
    const pid_t gone = ::fork();
    if (gone == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
    const std::filesystem::path parent = "/dev/shm";
    const auto stale = parent / fmt::format("manometer-guest-{}-abc", gone);
    const auto live_one = parent / fmt::format("manometer-guest-{}-abc", ::getpid());
    const auto other = parent / "manometer-guest-x-abc";
    for (const auto& folder : {stale, live_one, other})
        std::filesystem::create_directory(folder);
    ASSERT_TRUE(write_file_atomic(stale / "log", "x"));
    remove_stale_folders();
    EXPECT_FALSE(std::filesystem::exists(stale));
    EXPECT_TRUE(std::filesystem::exists(live_one));
    EXPECT_TRUE(std::filesystem::exists(other));
    for (const auto& folder : {live_one, other})
        std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mano::substrate::guest
