// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace mano {

namespace {

// Optimal string alignment distance, given up beyond `limit`: typed words differ by a letter wrong,
// missing, doubled, or swapped with its neighbour.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
    if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
    std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        above[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

constexpr std::size_t kMaxComparable = 128;

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
    const std::vector<std::string_view> views(candidates.begin(), candidates.end());
    return nearest_name(name, views);
}

std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
    if (name.size() > kMaxComparable) return "";
    const std::size_t limit = name.size() / 2;
    std::size_t best = limit + 1;
    std::string_view nearest;
    for (const std::string_view candidate : candidates) {
        if (candidate.size() > kMaxComparable) continue;
        const std::size_t far = distance(name, candidate, limit);
        if (far < best) {
            best = far;
            nearest = candidate;
        }
    }
    return std::string(nearest);
}

}  // namespace mano
