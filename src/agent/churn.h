// SPDX-License-Identifier: GPL-2.0-or-later
// Short-lived processes with short-lived threads: each thread's kernel stack is vmalloc'ed and
// vfree'd. Shared by the pressure `churn` and the probe `shm`.
#pragma once

#include <cstdint>

namespace mano::agent {

constexpr unsigned kMaxThreads = 64;

// Forks a process that starts `threads` threads (each ends at once), waits for them and ends; waits
// for the process. Returns 0, or the errno of what was refused.
int churn_once(unsigned threads);

}  // namespace mano::agent
