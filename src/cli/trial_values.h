// SPDX-License-Identifier: GPL-2.0-or-later
// One stored trial → its values, folded and by iteration, with the plan's formulas applied: what
// `show --trial` prints. The report does the same for whole run sets; this one keeps iterations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/sample.h"
#include "plan/plan.h"

namespace mano::cli {

using Values = std::map<std::string, std::optional<double>>;

struct TrialValues {
    Values whole;                                // folded over the trial
    std::map<std::uint32_t, Values> iterations;  // by number of the iteration
};

TrialValues values_of(const plan::Plan& plan, const measure::TrialRecord& record);

}  // namespace mano::cli
