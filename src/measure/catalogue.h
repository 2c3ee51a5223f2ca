// SPDX-License-Identifier: GPL-2.0-or-later
// The tables behind metric.h, as constants. Included by metric.cpp alone.
#pragma once

#include <span>
#include <string_view>

#include "measure/metric.h"

namespace mano::measure {

// One metric, or one key inside a family. An empty meaning stands for "the kernel's own".
struct Entry {
    std::string_view name;
    std::string_view unit;
    Kind kind;
    Better better;
    double floor;
    std::string_view meaning;
    std::string_view formula = {};
};

std::span<const Entry> exact_entries();
std::span<const Entry> family_entries();  // names as "vmstat.<key>", for help and docs
// Keys that need more than the family's rule; then every other known key, by name only.
std::span<const Entry> vmstat_entries();
std::span<const std::string_view> vmstat_keys();
std::span<const Entry> mthp_entries();
std::span<const Entry> memcg_entries();

}  // namespace mano::measure
