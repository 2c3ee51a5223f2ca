// SPDX-License-Identifier: GPL-2.0-or-later
// A plan → one stand-alone C file with the pressure and the probe of one of its cases: what goes
// into a mail for a reader who has no Manometer. Knows nothing of stores and kernels; called by the
// verb `reproduce`. The C text is put together from the files in reproduce/, which are ordinary C.
//
// It is the experiment, not the laboratory: no guests, no seeds over boots, no statistics. Its
// figures are those of one boot of the machine that it runs on.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "plan/plan.h"

namespace mano::reproduce {

// `case_name` as in the plan; empty: the last case, which has the most of what is varied.
// `how` is told in the file's head: the command line that made the run set. Code::invalid names the
// cases there are, or the load that has no C text.
Result<std::string> stand_alone_c(const plan::Plan& plan, std::string_view case_name,
                                  std::string_view how);

}  // namespace mano::reproduce
