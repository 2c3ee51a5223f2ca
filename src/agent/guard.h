// SPDX-License-Identifier: GPL-2.0-or-later
// The agent on a live host, and the process that watches over it: the guard starts the agent, and
// when manometer ends or dies (also by SIGKILL) ends every process that came of it, writes back
// every setting that the journal has, and removes the groups. It knows no plan and no measurement.
//
// The journal is written by the substrate before anything is changed
// (src/substrate/live/journal.h); docs/live.md has its form. The guard believes nothing in it but
// what it may hold: settings below /proc/sys and /sys/kernel/mm, groups named manometer-*.
#pragma once

#include <cstddef>
#include <span>

#include "agent/agent.h"

namespace mano::agent {

// manometer-agent guard journal=FD plan=FD log=FD v2=FOLDER memory=FOLDER events=FILE limit=BYTES
// Standard input is the leash, whose end is manometer's. "ready\n" on standard output says that
// from now on the guard sees to the end; a byte on the leash lets the agent start. What couldn't be
// put back follows on standard output, a line each. manometer-agent restore journal=FD only puts
// back. Exit status 0: all is as it was; 1: something is left, or the words were wrong.
int guard_main(int argc, char** argv);

// The agent's life on a live host, from hello to goodbye; `memory` is the mapped record log. false:
// it is too small. (main.cpp)
bool run_on_host(const Place& place, std::span<std::byte> memory, int plan_fd);

}  // namespace mano::agent
