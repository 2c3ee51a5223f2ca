// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace mano {
namespace {

TEST(Process, CollectsStreamsAndStatus) {
    const auto done = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->out, "out\n");
    EXPECT_EQ(done->err, "err\n");
    EXPECT_EQ(done->exit.code, 3);
}

TEST(Process, ArgumentsNeverReachAShell) {
    const auto done = run_program({"echo", "$(id); `id`"});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->out, "$(id); `id`\n");
}

TEST(Process, MissingProgramIsSaid) {
    const auto missing = run_program({"mano-no-such-program"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::environment);
    EXPECT_FALSE(run_program({"/etc/passwd"}));
}

TEST(Process, TooMuchOutputIsAnError) {
    EXPECT_FALSE(run_program({"head", "-c", "100000", "/dev/zero"}, {}, 1000));
}

TEST(Process, StopKills) {
    const auto stopped = run_program({"sleep", "1000"}, {}, 1000, [] { return true; });
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::interrupted);
}

TEST(Process, DestructorKillsAndReaps) {
    pid_t pid = -1;
    {
        auto child = Child::spawn({"sleep", "1000"});
        ASSERT_TRUE(child);
        pid = child->pid();
        EXPECT_FALSE(child->poll());
    }
    EXPECT_EQ(::kill(pid, 0), -1);
}

// The promise behind "no orphan after kill -9": the grandchild dies with its parent.
TEST(Process, ChildDiesWithItsParent) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        auto child = Child::spawn({"sleep", "1000"});
        const pid_t pid = child ? child->pid() : -1;
        [[maybe_unused]] const ssize_t ignored = ::write(ends[1], &pid, sizeof pid);
        ::pause();
    }
    pid_t grandchild = -1;
    ASSERT_EQ(::read(ends[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
    ASSERT_GT(grandchild, 0);
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
    bool gone = false;
    for (int i = 0; i < 200 && !gone; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        const auto stat = read_file(fmt::format("/proc/{}/stat", grandchild));
        gone = !stat || stat->find(") Z") != std::string::npos;
    }
    EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace mano
