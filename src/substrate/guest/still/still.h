// SPDX-License-Identifier: GPL-2.0-or-later
// Hands QEMU a calendar's clock that stands still (still_clock.cpp says why). Called by vm.cpp, for
// exact guests only.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"
#include "base/file.h"

namespace mano::substrate::guest {

// A file in memory to be loaded before a program's libraries: no folder has to allow programs.
struct StillClock {
    Fd file;
    std::string environment;  // "LD_PRELOAD=…", keeping what the user's own names
};
// An error where the host has no such files.
Result<StillClock> make_still_clock();

// Whether a running process does without it: a static QEMU, or one with rights of its own, doesn't
// take it. false for one that has ended.
bool lacks_still_clock(pid_t pid);

}  // namespace mano::substrate::guest
