// SPDX-License-Identifier: GPL-2.0-or-later
// Other tools' rules for "changed", as pure functions of two samples, so that both can be seen side
// by side. Called by renderers and by the comparison of rules; no verdict is made from them.
#pragma once

#include <span>

namespace mano::stats {

// lkp-tests' rule for performance metrics (lib/compare.rb, lib/changed_stat.rb and
// lib/statistics.rb as of July 2026): each side's upper median lies outside the other's range, and
// the medians differ by more than 1 % (metrics that it knows as performance) or 5 % (others). From
// 32 values on, n/32 of them (at most 3; 1 when the base has up to 3) are cut off at either end.
// Both sides below 3 values: never. Its floors per metric are the caller's.
bool lkp_changed(std::span<const double> base, std::span<const double> other,
                 bool performance = true);

}  // namespace mano::stats
