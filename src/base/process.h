// SPDX-License-Identifier: GPL-2.0-or-later
// Child processes from an argument list (never a shell), that die with their parent.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

namespace mano {

struct SpawnOptions {
    std::filesystem::path folder;          // working folder; empty: the parent's
    std::vector<std::string> environment;  // "NAME=value" added to the parent's environment
    std::vector<std::string> unset;        // names that are taken out of it
    int stdin_fd = -1;                     // -1: /dev/null
    int stdout_fd = -1;                    // -1: /dev/null
    int stderr_fd = -1;                    // -1: /dev/null
    std::vector<int> inherit;              // descriptors that stay open under the same numbers
};

// Both ends are closed in a child, unless SpawnOptions hand one on.
struct Pipe {
    Fd read;
    Fd write;
};
Result<Pipe> make_pipe();

// How a child ended.
struct Exit {
    int code = 0;    // exit status, when it exited
    int signal = 0;  // the signal that ended it, else 0
    bool ok() const { return code == 0 && signal == 0; }
    std::string text() const;  // "exit status 2", "signal 9 (Killed)"
};

// A running child. It gets SIGKILL when the thread that made it dies (PR_SET_PDEATHSIG), so spawn
// from a thread that lives as long as the child may. The destructor kills and reaps.
class Child {
  public:
    static Result<Child> spawn(const std::vector<std::string>& arguments,
                               const SpawnOptions& options = {});
    Child() = default;
    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    pid_t pid() const { return pid_; }
    // A descriptor that becomes readable when the child ends (pidfd).
    int exit_fd() const { return pidfd_.get(); }
    void signal(int number) const;
    // nullopt while it runs.
    std::optional<Exit> poll();
    Exit wait();
    void kill_and_reap();
    // Asks the child and what it started (its process group) to end, and takes the right away after
    // `grace_ms`: SIGTERM, then SIGKILL. Returns how the child ended.
    Exit end_group(int grace_ms);

  private:
    pid_t pid_ = -1;
    Fd pidfd_;
    std::optional<Exit> exit_;
};

struct Output {
    Exit exit;
    std::string out;
    std::string err;
};

// Runs to the end and collects both streams (each at most `limit` bytes; more is an error).
// `stop` is asked about ten times a second; when it says true the child is killed and the result is
// an error of code `interrupted`.
Result<Output> run_program(const std::vector<std::string>& arguments,
                           const SpawnOptions& options = {}, std::size_t limit = kReadLimit,
                           const std::function<bool()>& stop = {});

}  // namespace mano
