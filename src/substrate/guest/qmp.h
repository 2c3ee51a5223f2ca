// SPDX-License-Identifier: GPL-2.0-or-later
// The one thing that is asked of a running QEMU: a break on the guest's serial line. Of its answers
// only the number is looked at: what counts is what the guest then prints.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace mano::substrate::guest {

Status send_all(int socket, std::string_view bytes);

// QEMU's monitor, over a connected socket that stays the caller's.
class Monitor {
  public:
    explicit Monitor(int socket) : socket_(socket) {}
    // Sends the break and waits until QEMU has answered, so that what is then written to the serial
    // line comes after it. A QEMU that doesn't answer within `limit_ms` is an error.
    Status send_break(int limit_ms = 5000);

  private:
    Status ask(std::string_view command, int limit_ms);

    int socket_;
    bool greeted_ = false;
    std::string answers_;
};

}  // namespace mano::substrate::guest
