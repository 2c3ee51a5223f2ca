// SPDX-License-Identifier: GPL-2.0-or-later
// Every way in which a trial can end. Apart from sample.h so that the agent can include it: no
// allocation, no exception.
#pragma once

#include <cstdint>

namespace mano::measure {

// The numbers are stored: never renumber.
enum class Ending : std::uint8_t {
    goodbye = 0,               // clean: final record with a good checksum
    probe_refused = 1,         // failed: the kernel refused the probe
    worker_oom_killed = 2,     // failed
    probe_oom_killed = 3,      // failed
    panic = 4,                 // failed (also "no killable processes")
    hung = 5,                  // failed: no heartbeat; a task dump is in the evidence
    precondition_missing = 6,  // spoiled: reason and mend in the evidence
    pressure_missed = 7,       // spoiled: the level wasn't reached or held
    wall_clock = 8,            // spoiled: the time limit of the trial
    qemu_died = 9,             // spoiled
    qemu_missing = 10,         // spoiled (a requirement of the environment)
    log_full = 11,             // spoiled
    log_torn = 12,             // spoiled: torn or forged by the guest
    harness_fault = 13,        // spoiled: a fault of ours or of the host
    no_boot = 14,              // failed: the kernel never reached the agent, and did not panic
    probe_failed = 15,         // failed: the probe's program ended with an error
};

}  // namespace mano::measure
