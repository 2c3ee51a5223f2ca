// SPDX-License-Identifier: GPL-2.0-or-later
// Published values beside the medians measured here. Only for this folder.
#pragma once

#include <optional>
#include <string>

#include "report/report.h"

namespace mano::report {

// The median here of what `value` is about; nullopt: no such case, metric or arm, or not known.
std::optional<double> median_here(const ReportData& data, const Published& value);

// A block of text, by case and metric; "" where nothing was published.
std::string render_published(const ReportData& data);

}  // namespace mano::report
