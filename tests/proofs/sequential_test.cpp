// SPDX-License-Identifier: GPL-2.0-or-later
// Runs that stop when an interval is narrow enough (--until): whatever the data look like, equal
// kernels are told apart in at most 5 % of them, and real changes are still found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "draws.h"
#include "stats/power.h"
#include "stats/stats.h"

namespace mano::proofs {
namespace {

struct Ended {
    bool significant = false;
    std::size_t trials = 0;
};

enum class Rule { narrow, significant };

// One run by the given stopping rule: `narrow` is --until's; `significant` is the worst that
// anybody could do (look until p is small), which the adjustment must withstand as well.
Ended run(Rng& rng, const Shape& shape, double factor, double until_pct, Rule rule) {
    const auto looks = stats::looks(6, 40);
    std::vector<double> a;
    std::vector<double> b;
    for (const std::uint32_t look : looks) {
        while (a.size() < look) {
            a.push_back(shape.draw(rng));
            b.push_back(shape.draw(rng) * factor);
        }
        const auto comparison = stats::compare(a, b);
        const double p =
            comparison.test ? stats::adjusted_for_looks(comparison.test->p, looks.size()) : 1;
        const auto shift = comparison.shift;
        const double scale = std::fabs(stats::median(a).value_or(0));
        const bool narrow =
            shift && shift->ci95 && scale > 0 &&
            (shift->ci95->second - shift->ci95->first) / 2 <= until_pct / 100 * scale;
        const bool enough = rule == Rule::narrow ? narrow : p <= 0.05;
        if (enough || look == looks.back()) return {p <= 0.05, look};
    }
    return {};
}

TEST(Sequential, FalseAlarmsStayBelowAlphaUnderEveryRule) {
    constexpr int kRuns = 2000;
    const double most = kRuns * (0.05 + 3 * std::sqrt(0.05 * 0.95 / kRuns));
    auto shapes = continuous_shapes();
    shapes.push_back(zero_inflated(0.4, 1));
    for (const Shape& shape : shapes) {
        for (const Rule rule : {Rule::narrow, Rule::significant}) {
            Rng rng(11);
            int alarms = 0;
            double trials = 0;
            for (int i = 0; i < kRuns; ++i) {
                const Ended ended = run(rng, shape, 1, 8, rule);
                alarms += ended.significant ? 1 : 0;
                trials += static_cast<double>(ended.trials) / kRuns;
            }
            fmt::print("sequential, {}, {}: {} false alarms in {} runs of {:.1f} trials an arm\n",
                       shape.name, rule == Rule::narrow ? "--until 8" : "until significant", alarms,
                       kRuns, trials);
            EXPECT_LE(alarms, most) << shape.name;
        }
    }
}

TEST(Sequential, ChangesAreFoundAndRunsEndEarly) {
    constexpr int kRuns = 500;
    Rng rng(12);
    const Shape shape = continuous_shapes().front();
    int found = 0;
    double trials = 0;
    for (int i = 0; i < kRuns; ++i) {
        const Ended ended = run(rng, shape, 1.3, 10, Rule::narrow);
        found += ended.significant ? 1 : 0;
        trials += static_cast<double>(ended.trials) / kRuns;
    }
    fmt::print(
        "sequential, +30% at 10% spread, --until 10: found in {} of {}, {:.1f} trials an "
        "arm of at most 40\n",
        found, kRuns, trials);
    EXPECT_GE(found, kRuns * 0.95);
    EXPECT_LT(trials, 25);
}

}  // namespace
}  // namespace mano::proofs
