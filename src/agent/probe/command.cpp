// SPDX-License-Identifier: GPL-2.0-or-later
// `command`: any program in the image, or a shell line where the image has a shell. On a live host
// any program on the user's PATH, in the user's folder and environment. Output is
// thrown away; what it says on its standard error is kept for the evidence when it fails.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/probe/probe.h"
#include "base/rng.h"

namespace mano::agent {
namespace {

enum Param : std::size_t { kTimeout };
constexpr std::size_t kMaxArguments = 64;
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kErrorText = 1024;

struct Command {
    char text[kMaxText] = {};
    char* arguments[kMaxArguments + 1] = {};
    bool shell = false;
    bool on_host = false;
};
Command command;
char* error_text = nullptr;  // shared: the worker writes, PID 1 reads

bool needs_shell(std::string_view text) {
    return text.find_first_of("|&;<>()$`\\\"'*?[]#~={}!\n") != std::string_view::npos;
}

// Words between blanks; a line with any character that a shell would mind goes to the shell whole.
void split(std::string_view text) {
    static char shell[] = "/bin/sh";
    static char flag[] = "-c";
    std::memcpy(command.text, text.data(), text.size());
    command.shell = needs_shell(text);
    if (command.shell) {
        command.arguments[0] = shell;
        command.arguments[1] = flag;
        command.arguments[2] = command.text;
        return;
    }
    std::size_t count = 0;
    char* at = command.text;
    while (*at != '\0' && count < kMaxArguments) {
        while (*at == ' ')
            *at++ = '\0';
        if (*at != '\0') command.arguments[count++] = at;
        while (*at != '\0' && *at != ' ')
            ++at;
    }
}

// The first file of that name on PATH that may be executed; else empty.
Path on_path(std::string_view name) {
    const char* folders = ::getenv("PATH");
    std::string_view rest(folders != nullptr ? folders : "/usr/bin:/bin");
    while (true) {
        const std::size_t end = rest.find(':');
        const Path path(rest.substr(0, end), "/", name);
        if (::access(path.c_str(), X_OK) == 0) return path;
        if (end == std::string_view::npos) return Path();
        rest.remove_prefix(end + 1);
    }
}

// The program's path: as given; else in the image's /bin, or where a live host's PATH leads to.
const char* program_path() {
    static Path path;
    // A command of blanks names no program.
    const std::string_view name(command.arguments[0] != nullptr ? command.arguments[0] : "");
    if (name.find('/') != std::string_view::npos)
        path = Path(name);
    else
        path = command.on_host ? on_path(name) : Path("/bin/", name);
    return path.c_str();
}

[[noreturn]] void become_command(int error_fd) {
    const int null_fd = ::open("/dev/null", O_RDWR);
    for (const int fd : {0, 1})
        ::dup2(null_fd, fd);
    ::dup2(error_fd >= 0 ? error_fd : null_fd, 2);
    static char path[] = "PATH=/bin:/usr/bin:/sbin";
    static char locale[] = "LC_ALL=C";
    static char home[] = "HOME=/";
    char* environment[] = {path, locale, home, nullptr};
    ::execve(program_path(), command.arguments, command.on_host ? environ : environment);
    ::_exit(127);
}

}  // namespace

bool command_check(Agent& agent) {
    const std::string_view text = agent.plan.probe.text;
    if (error_text == nullptr) error_text = static_cast<char*>(shared_memory(kErrorText));
    if (text.empty() || text.size() >= kMaxText || error_text == nullptr) {
        end_trial(agent, measure::Ending::precondition_missing,
                  "no command was given, or it is too long: manometer run command … -- PROGRAM");
        return false;
    }
    split(text);
    command.on_host = agent.place.live;
    if (command.arguments[0] != nullptr && ::access(program_path(), X_OK) == 0) return true;
    if (command.on_host) {
        const std::string_view name(command.arguments[0] != nullptr ? command.arguments[0] : "");
        end_trial(agent, measure::Ending::precondition_missing,
                  Text<384>("no program '", name.substr(0, 200), "' that may be run is here"));
        return false;
    }
    end_trial(agent, measure::Ending::precondition_missing,
              Text<384>("the guest has no program ", std::string_view(program_path()),
                        command.shell ? " (the line needs a shell: install busybox-static here)"
                                      : ": put a static program into the image with --add FILE"));
    return false;
}

int command_work(Agent& agent, unsigned index) {
    WorkerCell& cell = agent.probe.block->workers[index];
    const int error_fd = static_cast<int>(::syscall(SYS_memfd_create, "stderr", 0));
    Rng rng = Rng(agent.plan.seed).split(6000);
    cell.ready = 1;
    wait_for_go(*agent.probe.block);
    sleep_ns(rng.below(500'000));
    const std::uint64_t start = now_ns();
    const pid_t worker = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
        cell.error = static_cast<std::uint32_t>(errno);
        return 3;
    }
    if (pid == 0) {
        die_with(worker);
        become_command(error_fd);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    cell.time_ns = now_ns() - start;
    rusage usage = {};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    cell.cpu_ns =
        static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000'000 +
        static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1'000;
    cell.ops = 1;
    if (error_fd >= 0) {
        const ssize_t got = ::pread(error_fd, error_text, kErrorText - 1, 0);
        error_text[got > 0 ? got : 0] = '\0';
    }
    if (WIFSIGNALED(status)) ::kill(::getpid(), WTERMSIG(status));
    return WEXITSTATUS(status);
}

std::string_view command_errors() {
    return error_text != nullptr ? error_text : "";
}

void command_report(Agent& agent, std::uint32_t iteration) {
    const Totals sum = totals(agent.probe);
    agent.log.value("probe.ops", static_cast<double>(sum.ops), iteration);
    agent.log.value("probe.time_ns", static_cast<double>(sum.time_ns), iteration);
    agent.log.value("probe.cpu_ns", static_cast<double>(sum.cpu_ns), iteration);
}

}  // namespace mano::agent
