// SPDX-License-Identifier: GPL-2.0-or-later
// Ctrl-C and its like as a question to be asked: the first signal asks for a stop, the second ends
// the program at once (guests die with it; what is stored stays stored).
#pragma once

namespace mano::cli {

// SIGINT, SIGTERM and SIGHUP from now on; those that the parent had ignored (nohup) stay ignored.
void catch_signals();
bool stop_requested();
// 128 plus the signal's number, as shells say it; 130 when there was none.
int interrupted_exit_code();

}  // namespace mano::cli
