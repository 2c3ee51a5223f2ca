// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/vm.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/process.h"
#include "substrate/guest/console.h"
#include "substrate/guest/host_clock.h"
#include "substrate/guest/qmp.h"
#include "substrate/guest/still/still.h"
#include "substrate/trial_log.h"

namespace mano::substrate::guest {
namespace {

using measure::Ending;

struct Socket {
    Fd ours;
    Fd theirs;
};

Result<Socket> make_socket() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return fail_errno(errno, "socketpair");
    }
    Socket socket{Fd(ends[0]), Fd(ends[1])};
    // Never let a guest that floods its console block us, or a dead QEMU end us by SIGPIPE.
    ::fcntl(socket.ours.get(), F_SETFL, O_NONBLOCK);
    return socket;
}

// Follows one running guest.
class Follower {
  public:
    Follower(const Guest& guest, Child child, Socket console, Socket qmp, const LogMemory& log,
             Fd errors)
        : guest_(guest),
          child_(std::move(child)),
          console_(std::move(console)),
          qmp_(std::move(qmp)),
          log_(log.span()),
          errors_(std::move(errors)),
          start_ns_(host_now_ns()),
          beat_ns_(start_ns_) {}

    // true when the guest's end is known.
    bool step(const std::function<void(std::string_view)>& progress);
    Life take();
    void wait_a_moment() const {
        // Long enough to leave the host's CPUs to the guest, short against a boot.
        pollfd polled[2] = {{child_.exit_fd(), POLLIN, 0}, {console_.ours.get(), POLLIN, 0}};
        ::poll(polled, 2, 5);
    }

  private:
    bool read_log();
    void drain_console();
    bool check_limits(std::uint64_t now);
    bool judge_exit(const Exit& exit);
    void dump_tasks();
    void wait_for_console(std::uint64_t limit_ns, std::uint64_t quiet_ns);
    bool end(Ending ending, std::string evidence) {
        life_.ending = ending;
        life_.evidence = std::move(evidence);
        return true;
    }
    bool runs_away();

    const Guest& guest_;
    Child child_;
    Socket console_;
    Socket qmp_;
    TrialLog log_;
    Fd errors_;  // QEMU's standard error, a file
    std::uint64_t start_ns_;
    std::uint64_t beat_ns_;
    std::uint64_t waited_at_beat_ns_ = 0;
    std::uint64_t last_beat_ = 0;
    std::string console_bytes_;
    std::string said_;
    Life life_;
};

void Follower::drain_console() {
    char buffer[16384];
    while (true) {
        const ssize_t got = ::read(console_.ours.get(), buffer, sizeof buffer);
        if (got <= 0) return;
        // The first and the last part are what tells; a flood in between is dropped.
        if (console_bytes_.size() > 4 * kMaxConsole) {
            console_bytes_.erase(kMaxConsole, console_bytes_.size() - 2 * kMaxConsole);
        }
        console_bytes_.append(buffer, static_cast<std::size_t>(got));
    }
}

// Reads every frame that is there. true: the log has told the end.
bool Follower::read_log() {
    const bool hello_before = log_.has_hello();
    const std::optional<End> told = log_.read();
    if (!hello_before && log_.has_hello()) {
        life_.boot_ns = host_now_ns() - start_ns_;
        if (guest_.plan.exact && lacks_still_clock(child_.pid())) {
            return end(Ending::harness_fault,
                       "QEMU runs without the clock that stands still, which --exact gives it by "
                       "LD_PRELOAD: is it linked statically, or does it have rights of its own? "
                       "Its guests can't be exact");
        }
        if (guest_.only_hello) return end(Ending::goodbye, {});
    }
    if (!told) return false;
    return (log_.reader().said_goodbye() && runs_away()) || end(told->ending, told->evidence);
}

// A guest can't live longer than it has run on the host. Where its clock says so (its kernel has
// mistaken the rate of its time stamp counter), every time and limit in the trial is wrong. true:
// that is how the trial ended. Exact mode's clock isn't the host's.
bool Follower::runs_away() {
    if (guest_.plan.exact || log_.last_ns() <= log_.first_ns()) return false;
    constexpr double kSlackNs = 2e9;
    const auto lived = static_cast<double>(log_.last_ns() - log_.first_ns());
    const auto host = static_cast<double>(host_now_ns() - start_ns_);
    if (lived <= 1.25 * host + kSlackNs) return false;
    return end(Ending::harness_fault,
               fmt::format("the guest's clock ran too fast: {:.1f} s since its hello, in a trial "
                           "that took {:.1f} s on the host; none of its times can be trusted",
                           lived / 1e9, host / 1e9));
}

bool Follower::judge_exit(const Exit& exit) {
    drain_console();
    if (read_log()) return true;
    const std::string text = clean(console_bytes_);
    if (auto trace = panic_trace(text)) return end(Ending::panic, std::move(*trace));
    std::string errors;
    if (auto said = read_file(fmt::format("/proc/self/fd/{}", errors_.get()), 1 << 20)) {
        errors = clean(*said);
    }
    if (!exit.ok()) {
        return end(Ending::qemu_died, fmt::format("QEMU ended with {} in phase {}. {}", exit.text(),
                                                  log_.where(), errors));
    }
    const bool booted = log_.has_hello();
    return end(
        booted ? Ending::panic : Ending::no_boot,
        fmt::format("the guest reset or went off in phase {} without a goodbye and without a "
                    "panic message. Console's end:\n{}",
                    log_.where(), tail(text, 4096)));
}

// A break on the serial line and a letter: '8' lets the kernel print everything on the console, 't'
// prints every task's stack (and tells no secret: this is a throwaway guest). Only ever after the
// hang is certain, since it disturbs. Newer kernels leave printing to a thread, which may be what
// doesn't run: then 'c', a crash, brings out what was printed so far, and its own trace.
void Follower::dump_tasks() {
    Monitor monitor(qmp_.ours.get());
    const std::size_t before = console_bytes_.size();
    const std::uint64_t limit = guest_.limits.dump_ns;
    for (const char* letter : {"8", "t", "c"}) {
        if (*letter == 'c' && console_bytes_.size() != before) return;
        if (!monitor.send_break() || !send_all(console_.ours.get(), letter)) return;
        // The kernel takes one letter a break, and drops a second one that comes too soon.
        if (*letter == '8')
            wait_for_console(limit / 10, limit / 20);
        else
            wait_for_console(limit, limit / 4);
    }
}

// Until nothing has been printed for `quiet_ns`, but at most `limit_ns`.
void Follower::wait_for_console(std::uint64_t limit_ns, std::uint64_t quiet_ns) {
    const std::uint64_t start = host_now_ns();
    std::uint64_t grew_ns = start;
    while (host_now_ns() - start < limit_ns && host_now_ns() - grew_ns < quiet_ns) {
        wait_a_moment();
        const std::size_t size = console_bytes_.size();
        drain_console();
        if (console_bytes_.size() != size) grew_ns = host_now_ns();
    }
}

bool Follower::check_limits(std::uint64_t now) {
    const bool booted = log_.has_hello();
    const std::uint64_t silent = now - beat_ns_;
    const std::uint64_t allowed = booted ? guest_.limits.hang_ns : guest_.limits.boot_ns;
    if (now - start_ns_ > guest_.limits.wall_ns) {
        return end(
            Ending::wall_clock,
            fmt::format("the trial took more than its {} s of host time (phase {}); raise it "
                        "with --timeout",
                        guest_.limits.wall_ns / 1'000'000'000, log_.where()));
    }
    if (silent <= allowed) return false;
    // A busy host that doesn't let QEMU run is no fault of the guest's: time that its threads spent
    // waiting for a CPU isn't counted.
    const std::uint64_t waited = guest_.waited(child_.pid());
    const std::uint64_t starved = waited > waited_at_beat_ns_ ? waited - waited_at_beat_ns_ : 0;
    const std::uint64_t quiet = silent > starved ? silent - starved : 0;
    if (quiet <= allowed) return false;
    const std::size_t before = console_bytes_.size();
    if (!guest_.only_hello) dump_tasks();
    const std::string dump = clean(std::string_view(console_bytes_).substr(before));
    const std::string text =
        fmt::format("{} for {} s of host time in phase {}. Task dump:\n{}",
                    booted ? "no heartbeat" : "no hello", quiet / 1'000'000'000, log_.where(),
                    dump.empty() ? "(the guest didn't answer the break on its serial line)\n" +
                                       tail(clean(console_bytes_), 4096)
                                 : dump.substr(0, kMaxEvidence));
    return end(booted ? Ending::hung : Ending::no_boot, text);
}

bool Follower::step(const std::function<void(std::string_view)>& progress) {
    drain_console();
    if (read_log()) return true;
    if (const auto exit = child_.poll()) return judge_exit(*exit);
    const std::uint64_t now = host_now_ns();
    const std::uint64_t beat = log_.reader().heartbeat() + log_.size();
    if (beat != last_beat_) {
        last_beat_ = beat;
        beat_ns_ = now;
        waited_at_beat_ns_ = guest_.waited(child_.pid());
    }
    if (std::string phase = log_.where(); phase != said_) {
        said_ = std::move(phase);
        if (progress) progress(said_);
    }
    return check_limits(now);
}

Life Follower::take() {
    child_.kill_and_reap();
    drain_console();
    life_.console = clean(console_bytes_);
    life_.frames = log_.take_frames();
    life_.lost_frames = log_.reader().lost_frames();
    life_.host_ns = host_now_ns() - start_ns_;
    return std::move(life_);
}

}  // namespace

namespace {

unsigned config_hz(const kernels::Kernel& kernel) {
    constexpr unsigned kDebian = 250;
    const auto value = kernels::config_value(kernel, "HZ");
    if (!value || !*value) return kDebian;
    unsigned hz = 0;
    std::from_chars((*value)->data(), (*value)->data() + (*value)->size(), hz);
    return hz >= 24 && hz <= 10000 ? hz : kDebian;
}

constexpr std::string_view kFolderPrefix = "manometer-guest-";

// In memory where there is a shared-memory file system: QEMU maps the log.
std::filesystem::path guests_folder() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : runtime_folder();
}

}  // namespace

std::uint64_t waited_ns(pid_t pid) {
    std::uint64_t most = 0;
    std::error_code ignored;
    const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid);
    for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
        const auto text = read_file(task.path() / "schedstat", 256);
        const std::size_t blank = text ? text->find(' ') : std::string::npos;
        if (blank == std::string::npos) continue;
        std::uint64_t waited = 0;
        std::from_chars(text->data() + blank + 1, text->data() + text->size(), waited);
        most = std::max(most, waited);
    }
    return most;
}

void remove_stale_folders() {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(guests_folder(), ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kFolderPrefix)) continue;
        pid_t owner = 0;
        std::from_chars(name.data() + kFolderPrefix.size(), name.data() + name.size(), owner);
        if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) {
            std::filesystem::remove_all(entry.path(), ignored);
        }
    }
}

Result<Life> live(const Guest& guest, const std::function<void(std::string_view)>& progress,
                  const std::function<bool()>& stop) {
    const std::filesystem::path parent = guests_folder();
    MANO_ASSIGN(const TempFolder folder,
                TempFolder::make(parent, fmt::format("{}{}-", kFolderPrefix, ::getpid())));
    MANO_TRY(write_file_atomic(folder.path() / "image", guest.image));
    const std::filesystem::path log_path = folder.path() / "log";
    MANO_ASSIGN(const Fd log_file, open_file(log_path, O_RDWR | O_CREAT | O_EXCL, 0600));
    MANO_ASSIGN(const LogMemory log, LogMemory::make(log_file, guest.log_bytes, log_path.string()));
    MANO_ASSIGN(Socket console, make_socket());
    MANO_ASSIGN(Socket qmp, make_socket());
    MANO_ASSIGN(Fd errors, open_file(folder.path() / "errors", O_RDWR | O_CREAT, 0600));
    const Launch launch{.qemu = guest.qemu,
                        .plan = guest.plan,
                        .arm = guest.arm,
                        .kernel = guest.kernel,
                        .kvm = guest.kvm,
                        .tsc_khz = host_tsc_khz(),
                        .hz = config_hz(guest.kernel),
                        .image = folder.path() / "image",
                        .log = log_path,
                        .log_bytes = guest.log_bytes,
                        .qmp_fd = qmp.theirs.get(),
                        .console_fd = console.theirs.get()};
    SpawnOptions options;
    options.stderr_fd = errors.get();
    options.inherit = {qmp.theirs.get(), console.theirs.get()};
    StillClock clock;
    if (guest.plan.exact) {
        MANO_ASSIGN(clock, make_still_clock());
        options.inherit.push_back(clock.file.get());
        options.environment.push_back(clock.environment);
    }
    auto child = Child::spawn(command_line(launch), options);
    if (!child) {
        // It was there when the run was prepared.
        Life life;
        life.ending = measure::Ending::qemu_missing;
        life.evidence = "QEMU doesn't start: " + child.error().text();
        return life;
    }
    console.theirs.close();
    qmp.theirs.close();
    Follower follower(guest, std::move(*child), std::move(console), std::move(qmp), log,
                      std::move(errors));
    while (!follower.step(progress)) {
        if (stop && stop()) return fail(Code::interrupted, "stopped");
        follower.wait_a_moment();
    }
    return follower.take();
}

Result<Life> live_untorn(const Guest& guest, const std::function<void(std::string_view)>& progress,
                         const std::function<bool()>& stop) {
    constexpr int kBoots = 3;
    for (int boot = 1;; ++boot) {
        MANO_ASSIGN(Life life, live(guest, progress, stop));
        life.boots = boot;
        if (guest.kvm || !may_tear_code(guest.qemu, guest.plan) || life.ending != Ending::panic ||
            life.evidence.find("int3: 0000 [#") == std::string::npos) {
            return life;
        }
        if (boot == kBoots) {
            life.evidence = fmt::format(
                "(QEMU {} can cause this itself, but rarely; here {} boots ended so)\n{}",
                guest.qemu.version, boot, life.evidence);
            return life;
        }
    }
}

}  // namespace mano::substrate::guest
