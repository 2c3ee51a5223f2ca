// SPDX-License-Identifier: GPL-2.0-or-later
// The one thing that is asked of a running QEMU: a break on the guest's serial line. Answers aren't
// parsed: what counts is what the guest then prints.
#pragma once

#include "base/error.h"

namespace mano::substrate::guest {

Status send_all(int socket, std::string_view bytes);
// Sends the capability handshake and the break over the monitor's socket.
Status send_break(int qmp_socket);

}  // namespace mano::substrate::guest
