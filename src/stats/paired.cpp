// SPDX-License-Identifier: GPL-2.0-or-later
#include "stats/paired.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace mano::stats {
namespace {

// P(signed rank sum = s), s = 0 … of doubled ranks, each with either sign.
std::vector<double> signed_rank_distribution(const std::vector<std::uint64_t>& doubled) {
    const std::uint64_t most = std::accumulate(doubled.begin(), doubled.end(), std::uint64_t{0});
    std::vector<double> probability(most + 1, 0.0);
    probability[0] = 1;
    std::uint64_t reached = 0;
    for (const std::uint64_t rank : doubled) {
        reached += rank;
        for (std::uint64_t s = reached + 1; s-- > 0;) {
            probability[s] =
                (probability[s] + (s >= rank && s - rank <= reached ? probability[s - rank] : 0)) /
                2;
        }
    }
    return probability;
}

// Twice the midranks of the values, in their order.
std::vector<std::uint64_t> doubled_midranks(std::span<const double> values, double* tie_term) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t x, std::size_t y) { return values[x] < values[y]; });
    std::vector<std::uint64_t> doubled(values.size());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first;
        while (last < order.size() && values[order[last]] == values[order[first]])
            ++last;
        for (std::size_t i = first; i < last; ++i)
            doubled[order[i]] = first + last + 1;
        const auto group = static_cast<double>(last - first);
        if (tie_term != nullptr) *tie_term += group * group * group - group;
        first = last;
    }
    return doubled;
}

std::vector<double> without_zeros(std::span<const double> differences) {
    std::vector<double> rest;
    std::copy_if(differences.begin(), differences.end(), std::back_inserter(rest),
                 [](double difference) { return difference != 0; });
    return rest;
}

// Ranks of the Walsh averages that enclose the shift with at least 95 %; 0: too few.
std::size_t walsh_rank(std::size_t n) {
    const double all = static_cast<double>(n) * static_cast<double>(n + 1) / 2;
    if (n > kSignedRank) {
        const double sigma = std::sqrt(all * static_cast<double>(2 * n + 1) / 12);
        return static_cast<std::size_t>(
            std::max(0.0, std::floor(all / 2 - 1.959963984540054 * sigma)));
    }
    std::vector<std::uint64_t> doubled(n);
    for (std::size_t i = 0; i < n; ++i)
        doubled[i] = 2 * (i + 1);
    const std::vector<double> probability = signed_rank_distribution(doubled);
    constexpr double kTail = 0.025 - 1e-14;
    double below = 0;
    std::size_t q = 0;  // smallest q with P(sum ≤ q) ≥ 2.5 %, as R's qsignrank
    for (; 2 * q < probability.size(); ++q) {
        below += probability[2 * q];
        if (below >= kTail) break;
    }
    return q;
}

void add_shift(std::span<const double> differences, Paired& paired) {
    constexpr std::size_t kMostPairs = 4000;  // eight million averages
    if (differences.empty() || differences.size() > kMostPairs) return;
    std::vector<double> averages;
    averages.reserve(differences.size() * (differences.size() + 1) / 2);
    for (std::size_t i = 0; i < differences.size(); ++i) {
        for (std::size_t j = i; j < differences.size(); ++j)
            averages.push_back(differences[i] / 2 + differences[j] / 2);
    }
    std::sort(averages.begin(), averages.end());
    const std::size_t half = averages.size() / 2;
    paired.shift =
        averages.size() % 2 == 1 ? averages[half] : averages[half - 1] / 2 + averages[half] / 2;
    const std::size_t k = walsh_rank(differences.size());
    if (k > 0) paired.shift_ci95 = Interval{averages[k - 1], averages[averages.size() - k]};
}

// Sum over i of x[i]·y[i], of ranks with their mean taken off.
struct Ranks {
    std::vector<double> x, y;
    double scale = 0;  // 0: a side is constant

    double product() const { return std::inner_product(x.begin(), x.end(), y.begin(), 0.0); }
};

Ranks ranks_of(std::span<const double> a, std::span<const double> b) {
    const auto centred = [](std::span<const double> values, double& squares) {
        const std::vector<std::uint64_t> doubled = doubled_midranks(values, nullptr);
        const double middle = static_cast<double>(values.size() + 1);
        std::vector<double> ranks;
        for (const std::uint64_t rank : doubled) {
            ranks.push_back((static_cast<double>(rank) - middle) / 2);
            squares += ranks.back() * ranks.back();
        }
        return ranks;
    };
    Ranks ranks;
    double of_a = 0;
    double of_b = 0;
    ranks.x = centred(a, of_a);
    ranks.y = centred(b, of_b);
    ranks.scale = std::sqrt(of_a * of_b);
    return ranks;
}

}  // namespace

Test signed_rank(std::span<const double> differences) {
    Test test;
    test.name = "none";
    const std::vector<double> rest = without_zeros(differences);
    if (rest.empty()) return test;
    std::vector<double> sizes(rest.size());
    std::transform(rest.begin(), rest.end(), sizes.begin(), [](double d) { return std::fabs(d); });
    double tie_term = 0;
    const std::vector<std::uint64_t> doubled = doubled_midranks(sizes, &tie_term);
    std::uint64_t sum = 0;  // of twice the ranks of positive differences
    for (std::size_t i = 0; i < rest.size(); ++i)
        sum += rest[i] > 0 ? doubled[i] : 0;
    const auto n = static_cast<double>(rest.size());
    const double off = std::fabs(2 * static_cast<double>(sum) - n * (n + 1)) / 2;  // doubled
    test.best_attainable_p = std::min(1.0, std::exp2(1 - n));
    if (rest.size() > kSignedRank) {
        test.name = "signed rank, normal approximation";
        const double variance = n * (n + 1) * (2 * n + 1) / 24 - tie_term / 48;
        const double away = std::max(0.0, off / 2 - 0.5);
        test.p = std::min(1.0, std::erfc(away / std::sqrt(variance) / std::sqrt(2.0)));
        return test;
    }
    test.name = tie_term > 0 ? "exact signed rank (ties)" : "exact signed rank";
    const std::vector<double> probability = signed_rank_distribution(doubled);
    const double middle = static_cast<double>(probability.size() - 1) / 2;
    double far = 0;
    for (std::size_t s = 0; s < probability.size(); ++s) {
        if (std::fabs(static_cast<double>(s) - middle) >= off) far += probability[s];
    }
    test.p = std::min(1.0, far);
    return test;
}

Test sign_flip(std::span<const double> differences, std::uint64_t seed, const Effort& effort) {
    constexpr double kSlack = 1 - 1e-10;
    Test test;
    test.name = "none";
    const std::vector<double> rest = without_zeros(differences);
    if (rest.empty()) return test;
    const double bar = std::fabs(std::accumulate(rest.begin(), rest.end(), 0.0)) * kSlack;
    test.best_attainable_p = std::min(1.0, std::exp2(1 - static_cast<double>(rest.size())));
    if (rest.size() < 64 && std::uint64_t{1} << rest.size() <= effort.listed) {
        test.name = "exact sign-flip";
        std::uint64_t far = 0;
        const std::uint64_t patterns = std::uint64_t{1} << rest.size();
        for (std::uint64_t pattern = 0; pattern < patterns; ++pattern) {
            double sum = 0;
            for (std::size_t i = 0; i < rest.size(); ++i)
                sum += (pattern >> i & 1) != 0 ? rest[i] : -rest[i];
            if (std::fabs(sum) >= bar) ++far;
        }
        test.p = static_cast<double>(far) / static_cast<double>(patterns);
        return test;
    }
    test.name = "Monte Carlo sign-flip";
    Rng rng(seed);
    std::tie(test.p, test.resamples) = resampled(effort, [&] {
        double sum = 0;
        std::uint64_t signs = 0;
        for (std::size_t i = 0; i < rest.size(); ++i) {
            if (i % 64 == 0) signs = rng.next();
            sum += (signs >> (i % 64) & 1) != 0 ? rest[i] : -rest[i];
        }
        return std::fabs(sum) >= bar;
    });
    test.best_attainable_p =
        std::max(test.best_attainable_p, 1.0 / static_cast<double>(effort.most + 1));
    return test;
}

Paired compare_pairs(std::span<const double> a, std::span<const double> b, bool counts,
                     std::uint64_t seed) {
    Paired paired;
    paired.pairs = std::min(a.size(), b.size());
    std::vector<double> differences(paired.pairs);
    for (std::size_t i = 0; i < paired.pairs; ++i)
        differences[i] = b[i] - a[i];
    paired.test = counts ? sign_flip(differences, seed) : signed_rank(differences);
    paired.correlation = correlation(a.first(paired.pairs), b.first(paired.pairs), seed).rho;
    add_shift(differences, paired);
    return paired;
}

Correlation correlation(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
    const std::pair<std::vector<double>, std::vector<double>> group{{a.begin(), a.end()},
                                                                    {b.begin(), b.end()}};
    return correlation(std::span(&group, 1), seed);
}

Correlation correlation(std::span<const std::pair<std::vector<double>, std::vector<double>>> groups,
                        std::uint64_t seed) {
    std::vector<Ranks> all;
    double weights = 0;
    double rho = 0;
    for (const auto& [a, b] : groups) {
        if (a.size() != b.size() || a.size() < 3) continue;
        Ranks ranks = ranks_of(a, b);
        if (ranks.scale == 0) continue;
        const auto weight = static_cast<double>(a.size());
        rho += weight * ranks.product() / ranks.scale;
        weights += weight;
        all.push_back(std::move(ranks));
    }
    if (all.empty()) return {};
    const double seen = rho * (1 - 1e-10 * (rho > 0 ? 1 : -1));
    Rng rng(seed);
    const auto extreme = [&] {
        double sum = 0;
        for (Ranks& ranks : all) {
            shuffle(ranks.y, rng);
            sum += static_cast<double>(ranks.x.size()) * ranks.product() / ranks.scale;
        }
        return sum >= seen;
    };
    return {rho / weights, resampled(kQuick, extreme).first};
}

}  // namespace mano::stats
