// SPDX-License-Identifier: GPL-2.0-or-later
// What another tool's file says of many trials at once (a mean and a spread) where it doesn't give
// the trials. Kept as a fact of one trial record that stands for all of them, so that nobody takes
// a mean for a trial's value. Interchange writes it, the report reads it. Knows no file format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "measure/sample.h"

namespace mano::measure {

// All numbers in the metric's unit; nullopt: the file doesn't say.
struct Stated {
    std::optional<std::uint64_t> n;  // trials that it sums up
    std::optional<double> mean, median, minimum, maximum;
    std::optional<double> stddev_pct;  // standard deviation in % of |mean|
    std::string change;  // the change against the base as printed ("-7.2%"): the means are rounded
    bool operator==(const Stated&) const = default;
};

// The fact's key is "stated." and the metric's name; the value is "n=5;mean=1.5;change=-7.2%".
constexpr std::string_view kStatedPrefix = "stated.";
Fact fact_of(std::string_view metric, const Stated& stated);
// nullopt when the fact is none, or its text isn't what fact_of() writes (a store may come from
// anybody).
std::optional<Stated> stated_from(const Fact& fact);
// Whether this record only stands for trials that aren't here: it has statements and no sample.
bool stands_for_others(const TrialRecord& record);

}  // namespace mano::measure
