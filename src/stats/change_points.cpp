// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace mano::stats {
namespace {

using Groups = std::vector<std::vector<double>>;

// The values of a stretch, group after group, as midranks.
struct Ranked {
    std::vector<double> ranks;
    std::vector<std::size_t> ends;  // index behind the last value of each group
    double variance = 0;            // of one rank, ties included
};

Ranked rank(const Groups& groups, std::size_t from, std::size_t to) {
    std::vector<double> values;
    Ranked out;
    for (std::size_t g = from; g <= to; ++g) {
        values.insert(values.end(), groups[g].begin(), groups[g].end());
        out.ends.push_back(values.size());
    }
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    out.ranks.resize(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        while (end < order.size() && values[order[end]] == values[order[i]])
            ++end;
        const double middle = (static_cast<double>(i) + static_cast<double>(end) + 1) / 2;
        for (; i < end; ++i)
            out.ranks[order[i]] = middle;
    }
    const double mean = (static_cast<double>(values.size()) + 1) / 2;
    for (const double each : out.ranks)
        out.variance += (each - mean) * (each - mean);
    if (!values.empty()) out.variance /= static_cast<double>(values.size());
    return out;
}

struct Cut {
    double statistic = -1;
    std::size_t after = 0;  // group within the stretch
};

// The cut at which |rank sum of the left - its expectation| is largest in its standard deviation
// under random dealing (sampling without replacement).
Cut best_cut(const Ranked& stretch) {
    const auto n = static_cast<double>(stretch.ranks.size());
    const double mean = (n + 1) / 2;
    Cut best;
    double sum = 0;
    std::size_t at = 0;
    for (std::size_t g = 0; g + 1 < stretch.ends.size(); ++g) {
        for (; at < stretch.ends[g]; ++at)
            sum += stretch.ranks[at];
        const auto left = static_cast<double>(at);
        if (at == 0 || at == stretch.ranks.size() || stretch.variance <= 0) continue;
        const double variance = left * stretch.variance * (n - left) / (n - 1);
        const double statistic = std::fabs(sum - left * mean) / std::sqrt(variance);
        if (statistic > best.statistic) best = {statistic, g};
    }
    return best;
}

double chance(Ranked stretch, double statistic, std::size_t permutations, Rng& rng) {
    // A little less, so that equal sums in another order of additions count as equal.
    const double least = statistic * (1 - 1e-12);
    std::size_t as_large = 0;
    for (std::size_t i = 0; i < permutations; ++i) {
        for (std::size_t k = stretch.ranks.size(); k > 1; --k)
            std::swap(stretch.ranks[k - 1], stretch.ranks[rng.below(k)]);
        if (best_cut(stretch).statistic >= least) ++as_large;
    }
    return (static_cast<double>(as_large) + 1) / (static_cast<double>(permutations) + 1);
}

struct Search {
    const Groups& groups;
    double alpha;
    std::size_t permutations;
    Rng rng;
    std::vector<ChangePoint> found;

    void cut(std::size_t from, std::size_t to) {
        if (from >= to) return;
        const Ranked stretch = rank(groups, from, to);
        const Cut best = best_cut(stretch);
        if (best.statistic < 0) return;
        const double p = chance(stretch, best.statistic, permutations, rng);
        if (p > alpha) return;
        ChangePoint point;
        point.before = from + best.after;
        point.p = p;
        point.from = from;
        point.to = to;
        std::vector<double> left;
        std::vector<double> right;
        for (std::size_t g = from; g <= to; ++g) {
            auto& side = g <= point.before ? left : right;
            side.insert(side.end(), groups[g].begin(), groups[g].end());
        }
        point.shift = hodges_lehmann(left, right);
        point.left_median = median(left);
        point.right_median = median(right);
        found.push_back(point);
        cut(from, point.before);
        cut(point.before + 1, to);
    }
};

}  // namespace

std::vector<ChangePoint> change_points(const Groups& groups, double alpha, std::uint64_t seed,
                                       std::size_t permutations) {
    if (groups.empty()) return {};
    Search search{groups, alpha, permutations, Rng(seed), {}};
    search.cut(0, groups.size() - 1);
    std::sort(search.found.begin(), search.found.end(),
              [](const ChangePoint& a, const ChangePoint& b) { return a.before < b.before; });
    return search.found;
}

}  // namespace mano::stats
