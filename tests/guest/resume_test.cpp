// SPDX-License-Identifier: GPL-2.0-or-later
// The program itself, ended in the midst of a run by Ctrl-C or `kill -9`, and taken up again: what
// was done isn't done again, and in exact mode the result is that of a run that nothing disturbed,
// to the last digit.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/process.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr const char* kExperiment = R"(
[experiment]
name = "short"
title = "A short control"
question = "Is anything lost?"
[guest]
memory = "256MiB"
cpus = 1
lru_gen = true
[pressure]
kind = "none"
[probe]
kind = "idle"
duration = "30ms"
[run]
trials = 3
iterations = 2
gap = "10ms"
[primary]
metric = "vmstat.pgfault"
better = "lower"
margin = "10%"
)";

class Resume : public ::testing::Test {
  protected:
    void SetUp() override {
        auto made = TempFolder::make(std::filesystem::temp_directory_path(), "mano-resume-");
        ASSERT_TRUE(made);
        folder_ = std::move(*made);
        ASSERT_TRUE(write_file_atomic(folder_.path() / "short.toml", kExperiment));
    }
    std::vector<std::string> words(std::string_view store, std::vector<std::string> more) const {
        std::vector<std::string> all = {MANO_PROGRAM};
        all.insert(all.end(), more.begin(), more.end());
        all.insert(all.end(), {"--store", (folder_.path() / store).string()});
        return all;
    }
    std::vector<std::string> run_words(std::string_view store) const {
        return words(store,
                     {"run", (folder_.path() / "short.toml").string(), "-k", "a=debian:7.3", "-k",
                      "b=debian:7.3", "--exact", "--seeds", "disjoint", "--name", "r"});
    }
    std::string output(const std::vector<std::string>& command) const {
        const auto done = run_program(command);
        if (!done) return done.error().text();
        return done->out + done->err;
    }
    // Every raw value; the order of rows is the store's.
    std::vector<std::string> values(std::string_view store) const {
        const std::string text = output(words(store, {"export", "csv", "r"}));
        std::vector<std::string> rows;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            rows.push_back(text.substr(at, end - at));
            at = end + 1;
        }
        std::sort(rows.begin(), rows.end());
        return rows;
    }
    // Starts the run, waits until its third trial has begun, and sends the signal.
    Exit disturb(std::string_view store, int signal, Clock::duration& took) {
        const auto log = folder_.path() / "progress";
        auto file = open_file(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        EXPECT_TRUE(file);
        SpawnOptions options;
        options.stdout_fd = file->get();
        options.stderr_fd = file->get();
        auto child = Child::spawn(run_words(store), options);
        EXPECT_TRUE(child);
        const auto limit = Clock::now() + std::chrono::minutes(10);
        while (Clock::now() < limit && !child->poll()) {
            const auto text = read_file(log);
            if (text && text->find("[3/6]") != std::string::npos) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        // Into the trial, not between two.
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        const auto guests = qemu_children(child->pid());
        EXPECT_GE(guests.size(), 1U) << "a trial was under way";
        const auto asked = Clock::now();
        child->signal(signal);
        const Exit exit = child->wait();
        took = Clock::now() - asked;
        const auto gone = Clock::now() + std::chrono::seconds(10);
        for (const pid_t guest : guests) {
            while (is_alive(guest) && Clock::now() < gone)
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            EXPECT_FALSE(is_alive(guest)) << "a QEMU is left";
        }
        return exit;
    }
    void resume_and_compare(std::string_view store) {
        EXPECT_THAT(output(words(store, {"list"})), HasSubstr("partial"));
        const std::vector<std::string> before = values(store);
        ASSERT_GT(before.size(), 2U) << "two trials were done";
        const std::string said = output(words(store, {"run", "--resume", "r"}));
        EXPECT_THAT(said, HasSubstr("trials are left"));
        EXPECT_THAT(said, ::testing::Not(HasSubstr("[1/6]"))) << said;
        output(run_words("undisturbed"));
        const std::vector<std::string> after = values(store);
        const std::vector<std::string> undisturbed = values("undisturbed");
        EXPECT_GT(undisturbed.size(), 6U * 100);
        EXPECT_EQ(after, undisturbed);
    }

    TempFolder folder_;
};

TEST_F(Resume, AfterKillTheResultIsTheUndisturbedOne) {
    Clock::duration took{};
    const Exit exit = disturb("killed", SIGKILL, took);
    EXPECT_EQ(exit.signal, SIGKILL);
    resume_and_compare("killed");
}

TEST_F(Resume, AfterCtrlCTheResultIsTheUndisturbedOne) {
    Clock::duration took{};
    const Exit exit = disturb("stopped", SIGINT, took);
    EXPECT_EQ(exit.signal, 0) << "it ends by itself";
    std::printf("Ctrl-C: ended after %.2f s\n", std::chrono::duration<double>(took).count());
    resume_and_compare("stopped");
}

}  // namespace
}  // namespace mano::guest_test
