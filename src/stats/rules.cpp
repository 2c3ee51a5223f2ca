// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/rules.h"

#include <algorithm>
#include <cmath>

#include "stats/sorted.h"

namespace mano::stats {
namespace {

struct Range {
    double low, middle, high;
};
Range range_of(std::span<const double> values, std::size_t margin) {
    const std::vector<double> all = sorted(values);
    const std::size_t cut = 2 * margin < all.size() ? margin : 0;
    return {all[cut], all[all.size() / 2], all[all.size() - 1 - cut]};
}

}  // namespace

bool lkp_changed(std::span<const double> base, std::span<const double> other, bool performance) {
    constexpr std::size_t kFew = 3;
    constexpr double kMostRatio = 5;
    if (base.empty() || other.empty() || (base.size() < kFew && other.size() < kFew)) return false;
    const auto margin = [&](std::size_t n) {
        return std::min<std::size_t>(n >> 5, base.size() <= kFew ? 1 : 3);
    };
    const Range from = range_of(base, margin(base.size()));
    const Range to = range_of(other, margin(other.size()));
    const bool up = to.low > from.middle && to.middle > from.high;
    const bool down = from.low > to.middle && from.middle > to.high;
    if (!up && !down) return false;
    const double larger = std::max(from.middle, to.middle);
    const double smaller = std::min(from.middle, to.middle);
    const double ratio = smaller > 0 ? std::min(kMostRatio, larger / smaller) : kMostRatio;
    return ratio > (performance ? 1.01 : 1.05);
}

}  // namespace mano::stats
