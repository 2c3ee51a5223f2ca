// SPDX-License-Identifier: GPL-2.0-or-later
// The words of a command line → exit code. Called by main() and by nobody else.
#pragma once

#include <string>
#include <vector>

namespace mano::cli {

// `arguments` without the program's name. Prints to standard output and error; throws nothing.
int run_command_line(const std::vector<std::string>& arguments);

}  // namespace mano::cli
