// SPDX-License-Identifier: GPL-2.0-or-later
// Counting the choices of n ranks for each sum.
#include <algorithm>
#include <numeric>
#include <vector>

#include "stats/sorted.h"

namespace mano::stats {
namespace {

// Sums of the first i ranks, i = 0 … N, and what is reachable: of k among the first i, the sums lie
// between the k smallest and the k largest of them.
std::vector<std::uint64_t> prefix_sums(std::span<const std::uint64_t> ranks) {
    std::vector<std::uint64_t> sums(ranks.size() + 1, 0);
    std::partial_sum(ranks.begin(), ranks.end(), sums.begin() + 1);
    return sums;
}

// Sizes that a choice may have after i ranks and still be of size n in the end.
struct Sizes {
    std::size_t low, high;
};
Sizes sizes_after(std::size_t i, std::size_t all, std::size_t n) {
    const std::size_t left = all - i;
    return {n > left ? n - left : 0, std::min(i, n)};
}

// target[i] += source[i]; apart, so that the compiler sees two arrays and vectorises.
void add(double* __restrict target, const double* __restrict source, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        target[i] += source[i];
}

std::uint64_t distance(std::uint64_t x, std::uint64_t y) {
    return x > y ? x - y : y - x;
}

}  // namespace

std::uint64_t subset_steps(std::span<const std::uint64_t> ranks, std::size_t n) {
    const std::vector<std::uint64_t> sums = prefix_sums(ranks);
    std::uint64_t steps = 0;
    for (std::size_t i = 1; i <= ranks.size(); ++i) {
        const Sizes sizes = sizes_after(i, ranks.size(), n);
        for (std::size_t k = std::max<std::size_t>(1, sizes.low); k <= sizes.high; ++k) {
            steps += sums[i - 1] - sums[i - k] - sums[k - 1] + 1;
        }
    }
    return steps;
}

double subset_p(std::span<const std::uint64_t> ranks, std::size_t n, std::uint64_t deviation) {
    // Where every midrank is whole, half as many sums are enough.
    const bool whole = std::all_of(ranks.begin(), ranks.end(),
                                   [](std::uint64_t doubled) { return doubled % 2 == 0; });
    std::vector<std::uint64_t> values(ranks.begin(), ranks.end());
    if (whole) {
        for (std::uint64_t& value : values)
            value /= 2;
    }
    const std::vector<std::uint64_t> sums = prefix_sums(values);
    const std::size_t all = values.size();
    // counts[k][s - sums[k]]: choices of k with the sum s.
    std::vector<std::vector<double>> counts(n + 1);
    for (std::size_t k = 0; k <= n; ++k) {
        counts[k].assign(sums[all] - sums[all - k] - sums[k] + 1, 0.0);
    }
    counts[0][0] = 1;
    for (std::size_t i = 1; i <= all; ++i) {
        const Sizes sizes = sizes_after(i, all, n);
        for (std::size_t k = sizes.high; k >= std::max<std::size_t>(1, sizes.low); --k) {
            // Of k - 1 among the first i - 1, with this one added.
            const std::uint64_t low = sums[k - 1];
            const std::uint64_t high = sums[i - 1] - sums[i - k];
            add(counts[k].data() + (low + values[i - 1] - sums[k]), counts[k - 1].data(),
                high - low + 1);
        }
    }
    const std::uint64_t expected = n * (all + 1);  // of the doubled sum
    double far = 0;
    double total = 0;
    for (std::size_t i = 0; i < counts[n].size(); ++i) {
        const std::uint64_t sum = (sums[n] + i) * (whole ? 2 : 1);
        total += counts[n][i];
        if (distance(sum, expected) >= deviation) far += counts[n][i];
    }
    return std::min(1.0, far / total);
}

}  // namespace mano::stats
