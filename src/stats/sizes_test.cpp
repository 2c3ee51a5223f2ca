// SPDX-License-Identifier: GPL-2.0-or-later
// From 1 to 1,000 values of every shape: whatever is given is a number, lies where it must, and
// what can't be had is absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/rng.h"
#include "stats/power.h"
#include "stats/shape.h"
#include "stats/stats.h"

namespace mano::stats {
namespace {

using Values = std::vector<double>;

struct Kind {
    const char* name;
    std::function<double(Rng&, std::size_t)> draw;
};

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

const std::vector<Kind> kKinds{
    {"smooth", [](Rng& rng, std::size_t) { return 1000 + 50 * normal(rng); }},
    {"tied", [](Rng& rng, std::size_t) { return static_cast<double>(rng.below(4)); }},
    {"mostly zero",
     [](Rng& rng, std::size_t) { return rng.below(5) < 4 ? 0 : std::exp(8 + 2 * normal(rng)); }},
    {"constant", [](Rng&, std::size_t) { return 7.0; }},
    {"zero", [](Rng&, std::size_t) { return 0.0; }},
    {"one outlier", [](Rng& rng, std::size_t i) { return i == 0 ? 1e9 : 10 + normal(rng); }},
    {"huge", [](Rng& rng, std::size_t) { return 1e300 * (1 + 0.01 * normal(rng)); }},
    {"negative", [](Rng& rng, std::size_t) { return -50 + normal(rng); }},
};

void expect_sound(const Test& test) {
    EXPECT_TRUE(test.p > 0 && test.p <= 1) << test.name << " " << test.p;
    EXPECT_TRUE(test.best_attainable_p > 0 && test.best_attainable_p <= 1) << test.name;
}

void expect_sound(const std::optional<Interval>& interval) {
    if (!interval) return;
    EXPECT_TRUE(std::isfinite(interval->first) && std::isfinite(interval->second));
    EXPECT_LE(interval->first, interval->second);
}

void expect_sound(const Comparison& comparison, std::size_t n, std::size_t m) {
    if (comparison.test) expect_sound(*comparison.test);
    if (comparison.totals_test) expect_sound(*comparison.totals_test);
    ASSERT_TRUE(comparison.shift);
    EXPECT_TRUE(std::isfinite(comparison.shift->estimate));
    expect_sound(comparison.shift->ci95);
    if (comparison.shift->ci95) {
        EXPECT_LE(comparison.shift->ci95->first, comparison.shift->estimate);
        EXPECT_GE(comparison.shift->ci95->second, comparison.shift->estimate);
    }
    for (const auto* bootstrap : {&comparison.median_pct_ci95, &comparison.total_pct_ci95}) {
        ASSERT_TRUE(*bootstrap);
        expect_sound((*bootstrap)->ci95);
        EXPECT_EQ((*bootstrap)->ci95.has_value(), (*bootstrap)->gap == Gap::none);
        if (std::min(n, m) < 6) {
            EXPECT_FALSE((*bootstrap)->ci95);
        }
    }
    if (std::min(n, m) < 4) {
        EXPECT_FALSE(comparison.shift->ci95);
    }
}

TEST(Sizes, FromOneToAThousandOfEveryShape) {
    constexpr std::uint64_t kSeed = 99;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    for (const Kind& kind : kKinds) {
        for (const std::size_t n : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 9U, 10U, 30U, 63U, 70U, 1000U}) {
            SCOPED_TRACE(std::string(kind.name) + ", n = " + std::to_string(n));
            const std::size_t m = n == 1000 ? 990 : n + rng.below(2);
            Values a(n);
            Values b(m);
            for (std::size_t i = 0; i < n; ++i)
                a[i] = kind.draw(rng, i);
            for (std::size_t i = 0; i < m; ++i)
                b[i] = kind.draw(rng, i + 1);
            const Comparison comparison = compare(a, b, 1, n < 100 ? Depth::full : Depth::quick);
            if (n < 100) expect_sound(comparison, n, m);
            const Summary from = summarize(a);
            const Summary to = summarize(b);
            const double best = comparison.test ? comparison.test->best_attainable_p : 1;
            const Ruling ruling =
                judge(comparison, best, from, to, {.direction = 1, .margin = 1, .floor = 0});
            EXPECT_FALSE(name_of(ruling.verdict).empty());
            EXPECT_FALSE(code_of(ruling.reason).empty());
            if (n < 3) {
                EXPECT_NE(ruling.verdict, Verdict::better);
                EXPECT_NE(ruling.verdict, Verdict::worse);
            }
            const std::vector<Values> samples{a, b};
            const auto floor = noise_floor(pooled_spread(samples), n, m);
            ASSERT_TRUE(floor);
            EXPECT_GE(*floor, 0);
            find_modes(a);
            find_outlier(a);
        }
    }
}

}  // namespace
}  // namespace mano::stats
