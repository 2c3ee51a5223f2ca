// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/qmp.h"

#include <sys/socket.h>

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

Status send_break(int qmp_socket) {
    return send_all(qmp_socket,
                    "{\"execute\":\"qmp_capabilities\"}\n"
                    "{\"execute\":\"chardev-send-break\",\"arguments\":{\"id\":\"console\"}}\n");
}

}  // namespace mano::substrate::guest
