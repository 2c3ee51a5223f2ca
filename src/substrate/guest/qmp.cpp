// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/qmp.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace mano::substrate::guest {

Status send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        // A QEMU that is gone must not end us by SIGPIPE.
        const ssize_t done = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_errno(errno, "a socket to QEMU");
        bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return {};
}

Status Monitor::ask(std::string_view command, int limit_ms) {
    constexpr std::size_t kMost = std::size_t{64} << 10;
    answers_.clear();
    MANO_TRY(send_all(socket_, command));
    // Each command is answered by one object with the key "return" or "error".
    while (answers_.find("\"return\"") == std::string::npos) {
        pollfd polled = {socket_, POLLIN, 0};
        const int ready = ::poll(&polled, 1, limit_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return fail(Code::environment, "QEMU's monitor doesn't answer");
        char buffer[4096];
        const ssize_t got = ::read(socket_, buffer, sizeof buffer);
        if (got <= 0) return fail(Code::environment, "QEMU's monitor is gone");
        answers_.append(buffer, static_cast<std::size_t>(got));
        if (answers_.find("\"error\"") != std::string::npos || answers_.size() > kMost) {
            return fail(Code::environment, "QEMU's monitor refuses: {}", answers_.substr(0, 200));
        }
    }
    return {};
}

Status Monitor::send_break(int limit_ms) {
    if (!greeted_) MANO_TRY(ask("{\"execute\":\"qmp_capabilities\"}\n", limit_ms));
    greeted_ = true;
    return ask("{\"execute\":\"chardev-send-break\",\"arguments\":{\"id\":\"console\"}}\n",
               limit_ms);
}

}  // namespace mano::substrate::guest
