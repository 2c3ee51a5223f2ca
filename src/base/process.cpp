// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mano {

std::string Exit::text() const {
    if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
    return fmt::format("exit status {}", code);
}

namespace {

// Between fork and exec only async-signal-safe calls are allowed, so everything is prepared here.
struct Prepared {
    std::vector<char*> argv;
    std::vector<std::string> environment_texts;
    std::vector<char*> envp;
};

Prepared prepare(const std::vector<std::string>& arguments, const SpawnOptions& options) {
    Prepared out;
    for (const std::string& argument : arguments) {
        out.argv.push_back(const_cast<char*>(argument.c_str()));
    }
    out.argv.push_back(nullptr);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::string_view name = text.substr(0, text.find('=') + 1);
        bool replaced = false;
        for (const std::string& added : options.environment)
            replaced |= added.starts_with(name);
        for (const std::string& gone : options.unset)
            replaced |= name.size() == gone.size() + 1 && name.starts_with(gone);
        if (!replaced) out.envp.push_back(*entry);
    }
    out.environment_texts = options.environment;
    for (std::string& added : out.environment_texts)
        out.envp.push_back(added.data());
    out.envp.push_back(nullptr);
    return out;
}

[[noreturn]] void child_fail(int report, int number) {
    [[maybe_unused]] const ssize_t ignored = ::write(report, &number, sizeof number);
    ::_exit(127);
}

void become(const Prepared& prepared, const SpawnOptions& options, const char* program, int null_fd,
            int report, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // the parent died between fork and prctl
    ::setpgid(0, 0);                          // a terminal's Ctrl-C is the parent's business
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int wanted[3] = {options.stdin_fd, options.stdout_fd, options.stderr_fd};
    // First above 2, so that no dup2 below overwrites a descriptor still needed.
    int moved[3];
    for (int i = 0; i < 3; ++i) {
        moved[i] = ::fcntl(wanted[i] >= 0 ? wanted[i] : null_fd, F_DUPFD_CLOEXEC, 3);
        if (moved[i] < 0) child_fail(report, errno);
    }
    for (int i = 0; i < 3; ++i) {
        if (::dup2(moved[i], i) < 0) child_fail(report, errno);
    }
    for (const int fd : options.inherit)
        ::fcntl(fd, F_SETFD, 0);
    if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) child_fail(report, errno);
    ::execve(program, prepared.argv.data(), prepared.envp.data());
    child_fail(report, errno);
}

}  // namespace

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
    return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<Child> Child::spawn(const std::vector<std::string>& arguments, const SpawnOptions& options) {
    if (arguments.empty()) return fail(Code::internal, "no program to start");
    std::string program = arguments[0];
    if (program.find('/') == std::string::npos) {
        const auto found = find_program(program);
        if (!found) return fail(Code::environment, "{}: not found on PATH", program);
        program = found->string();
    }
    const Prepared prepared = prepare(arguments, options);
    MANO_ASSIGN(const Fd null_fd, open_file("/dev/null", O_RDWR));
    MANO_ASSIGN(Pipe pipe, make_pipe());
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "fork");
    if (pid == 0)
        become(prepared, options, program.c_str(), null_fd.get(), pipe.write.get(), parent);
    pipe.write.close();
    Child child;
    child.pid_ = pid;
    child.pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    int number = 0;
    ssize_t got = 0;
    do {
        got = ::read(pipe.read.get(), &number, sizeof number);
    } while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(sizeof number)) {
        child.kill_and_reap();
        return fail_errno(number, program);
    }
    return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      exit_(std::exchange(other.exit_, std::nullopt)) {}

Child& Child::operator=(Child&& other) noexcept {
    if (this != &other) {
        kill_and_reap();
        pid_ = std::exchange(other.pid_, -1);
        pidfd_ = std::move(other.pidfd_);
        exit_ = std::exchange(other.exit_, std::nullopt);
    }
    return *this;
}

Child::~Child() {
    kill_and_reap();
}

void Child::signal(int number) const {
    if (pid_ > 0 && !exit_) ::kill(pid_, number);
}

namespace {

Exit decode(int status) {
    Exit exit;
    if (WIFEXITED(status)) exit.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
    return exit;
}

}  // namespace

std::optional<Exit> Child::poll() {
    if (exit_ || pid_ <= 0) return exit_;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) exit_ = decode(status);
    return exit_;
}

Exit Child::wait() {
    if (exit_ || pid_ <= 0) return exit_.value_or(Exit{});
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    exit_ = decode(status);
    return *exit_;
}

Exit Child::end_group(int grace_ms) {
    if (pid_ <= 0 || exit_) return exit_.value_or(Exit{});
    ::kill(-pid_, SIGTERM);
    pollfd ended{pidfd_.get(), POLLIN, 0};
    const int ready = ::poll(&ended, 1, grace_ms);
    if (ready <= 0) ::kill(-pid_, SIGKILL);
    return wait();
}

void Child::kill_and_reap() {
    if (pid_ <= 0 || exit_) return;
    ::kill(pid_, SIGKILL);
    wait();
}

namespace {

// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
    char buffer[65536];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) into.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace

Result<Output> run_program(const std::vector<std::string>& arguments, const SpawnOptions& options,
                           std::size_t limit, const std::function<bool()>& stop) {
    MANO_ASSIGN(Pipe out, make_pipe());
    MANO_ASSIGN(Pipe err, make_pipe());
    SpawnOptions with_pipes = options;
    with_pipes.stdout_fd = out.write.get();
    with_pipes.stderr_fd = err.write.get();
    MANO_ASSIGN(Child child, Child::spawn(arguments, with_pipes));
    out.write.close();
    err.write.close();
    Output output;
    while (out.read.valid() || err.read.valid()) {
        pollfd polled[2] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
        const int ready = ::poll(polled, 2, 100);
        if (stop && stop()) return fail(Code::interrupted, "{}: stopped", arguments[0]);
        if (ready <= 0) continue;
        if (polled[0].revents != 0 && !drain(out.read.get(), output.out)) out.read.close();
        if (polled[1].revents != 0 && !drain(err.read.get(), output.err)) err.read.close();
        if (output.out.size() > limit || output.err.size() > limit) {
            return fail(Code::environment, "{}: more than {} bytes of output", arguments[0], limit);
        }
    }
    output.exit = child.wait();
    return output;
}

}  // namespace mano
