// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/watched.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "substrate/guest/console.h"
#include "substrate/guest/host_clock.h"
#include "substrate/guest/image.h"

namespace mano::substrate::live {
namespace {

constexpr std::uint64_t kReadyNs = 30'000'000'000;
constexpr std::uint64_t kEndNs = 60'000'000'000;
constexpr std::size_t kMaxSaid = std::size_t{64} << 10;

// Appends what there is until `enough` says so, the other end is closed, or the time is over.
template <typename Enough>
void listen(int fd, std::uint64_t limit_ns, std::string& said, Enough enough) {
    const std::uint64_t end = guest::host_now_ns() + limit_ns;
    while (!enough(said) && guest::host_now_ns() < end) {
        pollfd polled{fd, POLLIN, 0};
        if (::poll(&polled, 1, 100) <= 0) continue;
        char buffer[4096];
        const ssize_t got = ::read(fd, buffer, sizeof buffer);
        if (got == 0 || (got < 0 && errno != EINTR)) return;
        if (got > 0 && said.size() < kMaxSaid) said.append(buffer, static_cast<std::size_t>(got));
    }
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0) lines.push_back(guest::clean(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string folder_word(const char* key, const std::optional<std::filesystem::path>& folder) {
    return fmt::format("{}={}", key, folder ? folder->string() : std::string());
}

}  // namespace

Result<Watched> Watched::spawn(const std::vector<std::string>& words,
                               const std::vector<int>& inherit) {
    MANO_ASSIGN(const Fd program, memory_file("manometer-agent", guest::agent_binary()));
    MANO_ASSIGN(Pipe leash, make_pipe());
    MANO_ASSIGN(Pipe says, make_pipe());
    std::vector<std::string> arguments{fmt::format("/proc/self/fd/{}", program.get())};
    arguments.insert(arguments.end(), words.begin(), words.end());
    SpawnOptions options;
    options.stdin_fd = leash.read.get();
    options.stdout_fd = says.write.get();
    options.inherit = inherit;
    Watched watched;
    auto child = Child::spawn(arguments, options);
    if (!child) return wrap(child.error(), "the agent can't be started here");
    watched.guard_ = std::move(*child);
    watched.leash_ = std::move(leash.write);
    watched.says_ = std::move(says.read);
    return watched;
}

Result<Watched> Watched::start(const Start& start) {
    const Claim& claim = start.claim;
    MANO_ASSIGN(
        Watched watched,
        spawn({"guard", fmt::format("journal={}", claim.journal_fd()),
               fmt::format("plan={}", start.plan_fd), fmt::format("log={}", start.log_fd),
               folder_word("v2", start.groups.v2), folder_word("memory", start.groups.memory),
               fmt::format("events={}", start.groups.events()),
               fmt::format("limit={}", start.limit_bytes)},
              {claim.journal_fd(), claim.lock_fd(), start.plan_fd, start.log_fd}));
    constexpr std::string_view kReady = "ready\n";
    listen(watched.says_.get(), kReadyNs, watched.said_,
           [](const std::string& text) { return text.find('\n') != std::string::npos; });
    if (watched.said_.starts_with(kReady)) {
        watched.said_.erase(0, kReady.size());
        return watched;
    }
    const std::vector<std::string> complaints = watched.end();
    return fail(Code::environment, "the guard of live trials didn't start{}{}",
                complaints.empty() ? "" : ": ", complaints.empty() ? "" : complaints.front());
}

Status Watched::go() const {
    return write_all(leash_.get(), "g", "the leash of the guard");
}

Result<std::vector<std::string>> Watched::restore(const Claim& claim) {
    MANO_ASSIGN(Watched watched, spawn({"restore", fmt::format("journal={}", claim.journal_fd())},
                                       {claim.journal_fd(), claim.lock_fd()}));
    return watched.end();
}

std::vector<std::string> Watched::end() {
    leash_.close();
    if (!says_.valid()) return {};
    listen(says_.get(), kEndNs, said_, [](const std::string&) { return false; });
    says_.close();
    std::optional<Exit> exit;
    pollfd ended{guard_.exit_fd(), POLLIN, 0};
    if (::poll(&ended, 1, 1000) > 0) exit = guard_.wait();
    std::vector<std::string> complaints = lines_of(said_);
    if (!exit) {
        complaints.emplace_back("the guard doesn't end: a process of the trial can't be killed");
    } else if (exit->signal != 0) {
        complaints.push_back("the guard was ended by " + exit->text());
    } else if (!exit->ok() && complaints.empty()) {
        complaints.push_back("the guard ended with " + exit->text());
    }
    return complaints;
}

Watched::~Watched() {
    end();
}

}  // namespace mano::substrate::live
