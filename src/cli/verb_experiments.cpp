// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/verb.h"
namespace mano::cli {
void add_experiments(CLI::App&, const Chosen&) {}
void add_describe(CLI::App&, const Chosen&) {}
}  // namespace mano::cli
