// SPDX-License-Identifier: GPL-2.0-or-later
#include <csignal>
#include <string>
#include <vector>

#include "cli/app.h"

int main(int count, char** words) {
    // A reader that goes away (`| head`) must not take a run with it: writing fails instead.
    std::signal(SIGPIPE, SIG_IGN);
    // The same for a file that reaches its size limit (ulimit -f).
    std::signal(SIGXFSZ, SIG_IGN);
    return mano::cli::run_command_line(
        std::vector<std::string>(words + (count > 0), words + count));
}
