// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "stats/sorted.h"

namespace mano::stats {
namespace {

double median_of(std::span<const double> sorted) {
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : sorted[half - 1] / 2 + sorted[half] / 2;
}

// The value `tenth` of the way in from either end.
double inner_low(std::span<const double> sorted) {
    return sorted[sorted.size() / 10];
}
double inner_high(std::span<const double> sorted) {
    return sorted[sorted.size() - 1 - sorted.size() / 10];
}

// Centred midranks.
std::vector<double> ranks(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t x, std::size_t y) { return values[x] < values[y]; });
    std::vector<double> result(values.size());
    const double middle = static_cast<double>(values.size() + 1) / 2;
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first;
        while (last < order.size() && values[order[last]] == values[order[first]])
            ++last;
        for (std::size_t i = first; i < last; ++i)
            result[order[i]] = static_cast<double>(first + last + 1) / 2 - middle;
        first = last;
    }
    return result;
}

double product(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double slope(std::span<const double> values, std::span<const double> places) {
    constexpr std::size_t kMost = 1000;  // every pair of as many
    const std::size_t step = values.size() / kMost + 1;
    std::vector<double> slopes;
    for (std::size_t i = 0; i < values.size(); i += step) {
        for (std::size_t j = i + step; j < values.size(); j += step) {
            if (places[i] != places[j]) {
                slopes.push_back((values[j] - values[i]) / (places[j] - places[i]));
            }
        }
    }
    return median(slopes).value_or(0);
}

}  // namespace

std::optional<Modes> find_modes(std::span<const double> values) {
    constexpr std::size_t kFewest = 8;
    if (values.size() < kFewest) return std::nullopt;
    const std::vector<double> all = sorted(values);
    const std::size_t fewest = std::max<std::size_t>(3, (all.size() + 4) / 5);
    // Few values leave wide gaps by chance, and small counts fall on two numbers.
    constexpr std::size_t kEnough = 10;
    const bool few = all.size() < kEnough;
    const double times = few ? 4 : 2;
    std::optional<Modes> best;
    double widest = 0;
    for (std::size_t cut = fewest; cut + fewest <= all.size(); ++cut) {
        const std::span<const double> low(all.data(), cut);
        const std::span<const double> high(all.data() + cut, all.size() - cut);
        const double gap = inner_low(high) - inner_high(low);
        const double wide =
            std::max(inner_high(low) - inner_low(low), inner_high(high) - inner_low(high));
        // The step at the cut itself must be most of it: a slope isn't a gap.
        const bool empty = all[cut] - all[cut - 1] >= gap / 3;
        if (gap > times * wide && empty && gap > widest && !(few && wide == 0)) {
            widest = gap;
            best = Modes{median_of(low), median_of(high), low.size(), high.size()};
        }
    }
    return best;
}

std::optional<Outlier> find_outlier(std::span<const double> values) {
    constexpr std::size_t kFewest = 5;
    if (values.size() < kFewest) return std::nullopt;
    const std::vector<double> all = sorted(values);
    const std::size_t last = all.size() - 1;
    const auto apart = [&](double value, double neighbour, double range) {
        // Constant but for one value: that one lies apart.
        return std::fabs(value - neighbour) > kOutlier * range && value != neighbour;
    };
    std::optional<double> found;
    if (apart(all[last], all[last - 1], all[last - 1] - all[0])) found = all[last];
    if (apart(all[0], all[1], all[last] - all[1])) found = all[0];
    if (!found) return std::nullopt;
    const auto at = std::find(values.begin(), values.end(), *found);
    return Outlier{static_cast<std::size_t>(at - values.begin()), *found};
}

std::optional<Drift> find_drift(std::span<const double> values, std::span<const double> places,
                                std::span<const std::uint32_t> groups, std::uint64_t seed) {
    constexpr std::size_t kFewest = 8;
    if (values.size() < kFewest) return std::nullopt;
    std::vector<double> rest(values.begin(), values.end());
    std::vector<std::vector<std::size_t>> members;  // by arm
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i] >= members.size()) members.resize(groups[i] + 1);
        members[groups[i]].push_back(i);
    }
    for (const std::vector<std::size_t>& group : members) {
        std::vector<double> of_group;
        for (const std::size_t i : group)
            of_group.push_back(values[i]);
        const double middle = median(of_group).value_or(0);
        for (const std::size_t i : group)
            rest[i] -= middle;
    }
    const std::vector<double> y = ranks(places);
    std::vector<double> x = ranks(rest);
    const double scale = std::sqrt(product(x, x) * product(y, y));
    if (scale == 0) return std::nullopt;
    Drift drift;
    const double seen = product(x, y);
    drift.rho = seen / scale;
    const auto [first, last] = std::minmax_element(places.begin(), places.end());
    drift.change = slope(rest, places) * (*last - *first);
    // Values change places within their arm only.
    Rng rng(seed);
    std::vector<double> mixed;
    drift.p = resampled(kQuick, [&] {
                  for (const std::vector<std::size_t>& group : members) {
                      mixed.clear();
                      for (const std::size_t i : group)
                          mixed.push_back(x[i]);
                      shuffle(mixed, rng);
                      for (std::size_t i = 0; i < group.size(); ++i)
                          x[group[i]] = mixed[i];
                  }
                  return std::fabs(product(x, y)) >= std::fabs(seen) * (1 - 1e-10);
              }).first;
    return drift;
}

}  // namespace mano::stats
