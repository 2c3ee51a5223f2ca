// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers as every JSON of this folder writes them: null for what isn't known. Only for this
// folder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "stats/stats.h"

namespace mano::report {

// Whole numbers up to 2^53 without a point; null also for what isn't finite.
nlohmann::ordered_json number(const std::optional<double>& value);
// null when empty.
nlohmann::ordered_json text(const std::string& value);
nlohmann::ordered_json interval(const std::optional<stats::Interval>& value);

}  // namespace mano::report
