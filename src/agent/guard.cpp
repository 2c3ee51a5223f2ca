// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/machine.h"

namespace mano::agent {
namespace {

constexpr std::size_t kJournalBytes = std::size_t{64} << 10;
constexpr std::uint64_t kPatienceNs = 10'000'000'000;  // for killed processes to be gone
constexpr std::uint64_t kStepNs = 5'000'000;
constexpr int kMostFds = 1024;  // that manometer may have left open
constexpr const char* kGroups[] = {"control", "load", "probe"};

struct Words {
    int journal = -1;
    int plan = -1;
    int log = -1;
    Place place;
};

std::uint64_t number_of(std::string_view text) {
    bool found = false;
    return number_after(Text<40>("n ", text).view(), "n", found);
}

bool parse(int argc, char** argv, Words& words) {
    words.place = Place{.live = true, .v2 = Path(), .memory = Path()};
    for (int i = 2; i < argc; ++i) {
        const std::string_view word(argv[i]);
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) return false;
        const std::string_view key = word.substr(0, equals);
        const std::string_view value = word.substr(equals + 1);
        if (key == "journal") words.journal = static_cast<int>(number_of(value));
        if (key == "plan") words.plan = static_cast<int>(number_of(value));
        if (key == "log") words.log = static_cast<int>(number_of(value));
        if (key == "v2") words.place.v2 = Path(value);
        if (key == "memory") words.place.memory = Path(value);
        if (key == "events") words.place.events = value;
        if (key == "limit") words.place.limit = number_of(value);
    }
    return words.journal > 2 && !words.place.v2.full() && !words.place.memory.full();
}

// Standard output may be gone with manometer.
void say(std::string_view text) {
    [[maybe_unused]] const ssize_t done = ::write(1, text.data(), text.size());
}

// Zombies among our children are taken away as they come. false: there are no children.
bool reap_all() {
    while (true) {
        const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
        if (pid == 0) return true;
        if (pid < 0 && errno != EINTR) return false;
    }
}

// SIGKILL to each direct child. What they leave behind becomes our child in turn (subreaper).
void kill_children() {
    DIR* processes = ::opendir("/proc");
    if (processes == nullptr) return;
    const auto self = static_cast<std::uint64_t>(::getpid());
    while (const dirent* process = ::readdir(processes)) {
        if (process->d_name[0] < '0' || process->d_name[0] > '9') continue;
        const std::string_view name(process->d_name);
        char buffer[1024];
        const SmallFile status = read_small(Path("/proc/", name, "/status").c_str(), buffer);
        bool found = false;
        if (number_after(status.text, "PPid", found) != self || !found) continue;
        ::kill(static_cast<pid_t>(number_of(name)), SIGKILL);
    }
    ::closedir(processes);
}

void kill_descendants() {
    const std::uint64_t end = now_ns() + kPatienceNs;
    while (reap_all() && now_ns() < end) {
        kill_children();
        sleep_ns(kStepNs);
    }
}

// Every process that a group's cgroup.procs lists, but ourselves. false: none was there.
bool kill_listed(const Path& group) {
    static char buffer[65536];
    std::string_view rest = read_small(Path(group.view(), "/cgroup.procs").c_str(), buffer).text;
    bool any = false;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const auto pid = static_cast<pid_t>(number_of(rest.substr(0, end)));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        // 0: a process of another PID namespace, which can't be one of ours.
        if (pid <= 1 || pid == ::getpid()) continue;
        ::kill(pid, SIGKILL);
        any = true;
    }
    return any;
}

bool remove_folder(const Path& path, std::uint64_t end) {
    while (::rmdir(path.c_str()) != 0 && errno != ENOENT) {
        if (errno != EBUSY || now_ns() > end) return false;
        reap_all();
        sleep_ns(kStepNs);
    }
    return true;
}

// Processes that got out of our line (a daemon of a guard that was killed) are still in the group.
bool remove_group(const Path& group) {
    const std::uint64_t end = now_ns() + kPatienceNs;
    if (::access(group.c_str(), F_OK) != 0) return true;
    write_small(Path(group.view(), "/cgroup.kill").c_str(), "1");
    bool removed = true;
    for (const char* name : kGroups) {
        const Path child(group.view(), "/", std::string_view(name));
        while (kill_listed(child) && now_ns() < end) {
            reap_all();
            sleep_ns(kStepNs);
        }
        removed = remove_folder(child, end) && removed;
    }
    return remove_folder(group, end) && removed;
}

bool is_setting(std::string_view path) {
    const bool tree = path.starts_with("/proc/sys/") || path.starts_with("/sys/kernel/mm/");
    return tree && path.find("/..") == std::string_view::npos;
}

bool is_group(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash != std::string_view::npos && path.front() == '/' &&
           path.substr(slash + 1).starts_with("manometer-") &&
           path.find("/..") == std::string_view::npos;
}

// What is right already isn't written: for some settings (vm.min_free_kbytes) it makes a difference
// whether anybody ever has.
int set_back(std::string_view path, std::string_view value) {
    char buffer[4097];
    const Path name(path);
    const SmallFile now = read_small(name.c_str(), buffer);
    if (now.ok && chosen(now.text) == value) return 0;
    return write_small(name.c_str(), value);
}

// One line of the journal. false: it couldn't be put back.
bool put_back(std::string_view line) {
    constexpr std::string_view kSetting = "setting ";
    constexpr std::string_view kGroup = "group ";
    if (line.starts_with(kGroup) && is_group(line.substr(kGroup.size()))) {
        const Path group(line.substr(kGroup.size()));
        if (remove_group(group)) return true;
        say(Text<400>("the group ", group.view(), " can't be removed\n"));
        return false;
    }
    const std::size_t tab = line.find('\t');
    if (line.starts_with(kSetting) && tab != std::string_view::npos) {
        const std::string_view path = line.substr(kSetting.size(), tab - kSetting.size());
        const std::string_view value = line.substr(tab + 1);
        const int error = is_setting(path) ? set_back(path, value) : EINVAL;
        if (error == 0) return true;
        say(Text<800>("the setting ", path, " can't be set back to '", value,
                      "': ", errno_name(error).view(), "\n"));
        return false;
    }
    return line.starts_with("manometer ");
}

// The newest first, since a setting may rest on an older one. A last line without its end was never
// finished, and what it records never done.
bool put_all_back(int journal) {
    static char text[kJournalBytes];
    const ssize_t got = ::pread(journal, text, sizeof text, 0);
    std::string_view rest(text, got > 0 ? static_cast<std::size_t>(got) : 0);
    rest = rest.substr(0, rest.rfind('\n') == std::string_view::npos ? 0 : rest.rfind('\n'));
    bool whole = true;
    while (!rest.empty()) {
        const std::size_t start = rest.rfind('\n');
        const std::string_view line =
            start == std::string_view::npos ? rest : rest.substr(start + 1);
        whole = put_back(line) && whole;
        rest = start == std::string_view::npos ? std::string_view() : rest.substr(0, start);
    }
    // Whoever finds the journal later has nothing to do.
    if (whole) [[maybe_unused]]
        const int emptied = ::ftruncate(journal, 0);
    return whole;
}

void outlive_everything() {
    // Not with the thread that started us, not by a terminal's signals, and last of all by the OOM
    // killer (where this user may say so).
    ::prctl(PR_SET_PDEATHSIG, 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_NAME, "manometer-guard");
    ::setsid();
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2})
        ::signal(signal, SIG_IGN);
    write_small("/proc/self/oom_score_adj", "-1000");
    ::mlockall(MCL_CURRENT | MCL_ONFAULT);
}

int agent_main(const Words& words, pid_t guard) {
    die_with(guard);
    ::prctl(PR_SET_NAME, "manometer-agent");
    // The lock and the journal are the guard's alone: should it be killed, whoever comes next must
    // find the lock free, though a worker of ours may still be about. Nothing of it is for the
    // probe's programs.
    for (int fd = 3; fd < kMostFds; ++fd) {
        if (fd == words.plan || fd == words.log) {
            ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        } else {
            ::close(fd);
        }
    }
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2})
        ::signal(signal, SIG_DFL);
    write_small("/proc/self/oom_score_adj", "0");
    const int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null_fd, 0);
    ::dup2(null_fd, 1);
    for (const Path* folder : {&words.place.v2, &words.place.memory}) {
        const Path procs = group_file(*folder, "control", "cgroup.procs");
        if (!procs.empty()) write_small(procs.c_str(), "0");
    }
    struct stat status = {};
    if (::fstat(words.log, &status) != 0) return 1;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, words.log, 0);
    if (mapped == MAP_FAILED) return 1;
    return run_on_host(words.place, {static_cast<std::byte*>(mapped), size}, words.plan) ? 0 : 1;
}

// A byte on the leash, within `limit_ms` (-1: however long it takes).
enum class Leash : std::uint8_t { quiet, byte, let_go };
Leash feel_leash(int limit_ms) {
    pollfd leash{0, POLLIN, 0};
    if (::poll(&leash, 1, limit_ms) <= 0) return Leash::quiet;
    char byte = 0;
    const ssize_t got = ::read(0, &byte, 1);
    if (got < 0 && errno == EINTR) return Leash::quiet;
    return got == 1 ? Leash::byte : Leash::let_go;
}

// Until the agent has ended or nobody holds the leash.
void watch(pid_t agent) {
    while (feel_leash(20) != Leash::let_go) {
        // The agent's orphans are ours, and may end before it does.
        while (true) {
            const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
            if (pid == agent || (pid < 0 && errno == ECHILD)) return;
            if (pid <= 0) break;
        }
    }
}

}  // namespace

int guard_main(int argc, char** argv) {
    Words words;
    const std::string_view verb(argc > 1 ? argv[1] : "");
    if ((verb != "guard" && verb != "restore") || !parse(argc, argv, words)) {
        static constexpr std::string_view kText =
            "manometer-agent runs as PID 1 of a guest, or is started by manometer on a live host; "
            "use: manometer run EXPERIMENT\n";
        [[maybe_unused]] const ssize_t done = ::write(2, kText.data(), kText.size());
        return 1;
    }
    outlive_everything();
    if (verb == "guard") {
        say("ready\n");
        Leash leash = Leash::quiet;
        while (leash == Leash::quiet)
            leash = feel_leash(-1);
        const pid_t guard = ::getpid();
        const pid_t agent = leash == Leash::byte ? ::fork() : -1;
        if (agent == 0) ::_exit(agent_main(words, guard));
        if (agent > 0) watch(agent);
    }
    kill_descendants();
    return put_all_back(words.journal) ? 0 : 1;
}

}  // namespace mano::agent
