// SPDX-License-Identifier: GPL-2.0-or-later
// Tests, families and verdicts of one case. The rules are those of docs/methods.md.
#include <algorithm>
#include <array>
#include <cmath>

#include "report/internal.h"
#include "stats/paired.h"
#include "stats/power.h"

namespace mano::report {
namespace {

constexpr std::string_view kPrimary = "primary";
constexpr std::string_view kSecondary = "secondary (Holm)";
constexpr std::string_view kOthers = "others (BH)";
constexpr std::string_view kFailures = "failures (alone)";

std::vector<double> known(const std::vector<std::optional<double>>& values) {
    std::vector<double> numbers;
    for (const auto& value : values) {
        if (value) numbers.push_back(*value);
    }
    return numbers;
}

int direction(measure::Better better) {
    if (better == measure::Better::neither) return 0;
    return better == measure::Better::higher ? 1 : -1;
}

bool is_stated(const MetricRow& row, std::size_t change) {
    return row.arms[0].stated || row.arms[change + 1].stated;
}

// Means without their trials: the change is known, how much of it is noise isn't.
void judge_stated(const MetricRow& row, std::size_t i, Change& change, ReportData& data) {
    const auto& from = row.arms[0].summary.mean;
    const auto& to = row.arms[i + 1].summary.mean;
    if (from && to) {
        change.comparison.mean_difference = *to - *from;
        if (*from != 0) change.comparison.mean_pct = 100 * (*to - *from) / std::fabs(*from);
    }
    change.verdict = stats::Verdict::too_few;
    change.reason = stats::Reason::no_values;
    change.warnings.push_back(warn(
        data, "means-only",
        "the imported file gives means and spreads, not the trials: no rank test, no verdict",
        "import the trials themselves (LKP: stats.json or matrix.json; others: their file with "
        "every run)"));
}

std::uint64_t failures(const ArmValues& values) {
    return static_cast<std::uint64_t>(values.summary.total.value_or(0));
}

// Where the plan pairs equal seeds: the pairs' own test and shift in place of the two samples'.
void test_pairs(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                MetricRow& row, std::size_t i) {
    if (!plan.paired || !plan.shared_seeds || row.metric.name == kFailedMetric) return;
    std::map<std::uint64_t, double> base;  // seed → value
    for (std::size_t t = 0; t < cell[0].size(); ++t) {
        if (row.arms[0].values[t]) base[cell[0][t].trial->planned.seed] = *row.arms[0].values[t];
    }
    std::vector<double> from;
    std::vector<double> to;
    for (std::size_t t = 0; t < cell[i + 1].size(); ++t) {
        const auto partner = base.find(cell[i + 1][t].trial->planned.seed);
        if (partner == base.end() || !row.arms[i + 1].values[t]) continue;
        from.push_back(partner->second);
        to.push_back(*row.arms[i + 1].values[t]);
    }
    stats::Comparison& comparison = row.changes[i].comparison;
    if (from.empty() || !comparison.test) return;
    comparison.paired = stats::compare_pairs(from, to, comparison.zero_inflated);
    comparison.test = comparison.paired->test;
    comparison.shift = stats::Shift{comparison.paired->shift, comparison.paired->shift_ci95, 0.95};
}

void test_row(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
              MetricRow& row) {
    const std::vector<double> base = known(row.arms[0].values);
    bool small = row.metric.floor > 0;
    for (std::size_t i = 0; i < row.changes.size(); ++i) {
        stats::Comparison& comparison = row.changes[i].comparison;
        constexpr std::uint64_t kSeed = 1;
        comparison = stats::compare(base, known(row.arms[i + 1].values), kSeed,
                                    row.key ? stats::Depth::full : stats::Depth::quick);
        test_pairs(plan, cell, row, i);
        if (row.metric.name == kFailedMetric) {
            const stats::Summary& from = row.arms[0].summary;
            const stats::Summary& to = row.arms[i + 1].summary;
            comparison.test.reset();
            if (from.n > 0 && to.n > 0) {
                comparison.test = stats::fisher_exact(failures(row.arms[0]), from.n,
                                                      failures(row.arms[i + 1]), to.n);
            }
        }
        small = small && comparison.shift &&
                std::fabs(comparison.shift->estimate) <= row.metric.floor &&
                std::fabs(comparison.mean_difference.value_or(0)) <= row.metric.floor;
    }
    row.below_floor = small && !row.changes.empty();
}

using Adjust = std::vector<double> (*)(std::span<const double>);
std::vector<double> unadjusted(std::span<const double> p) {
    return {p.begin(), p.end()};
}

// Adjusts the p-values of one arm's changes over a family of rows, and the best attainable ones in
// the same way.
void adjust(const std::vector<MetricRow*>& family, std::size_t change, std::string_view name,
            Adjust method, std::size_t looks) {
    std::vector<Change*> changes;
    std::vector<double> p;
    std::vector<double> best;
    for (MetricRow* row : family) {
        Change& each = row->changes[change];
        each.comparison.family = name;
        // A key metric without a test still counts: the family was fixed before anything ran.
        const bool counts = each.comparison.test || name != kOthers;
        if (!counts) continue;
        changes.push_back(&each);
        const auto& test = each.comparison.test;
        p.push_back(test ? stats::adjusted_for_looks(test->p, looks) : 1);
        best.push_back(test ? stats::adjusted_for_looks(test->best_attainable_p, looks) : 1);
    }
    const std::vector<double> adjusted = method(p);
    const std::vector<double> best_adjusted = method(best);
    for (std::size_t i = 0; i < changes.size(); ++i) {
        changes[i]->best_attainable_p = best_adjusted[i];
        if (changes[i]->comparison.test) changes[i]->comparison.p_adjusted = adjusted[i];
    }
}

// Exact runs of equal seeds that agree to the last digit: nothing is left that could be a change.
bool equal_seed_by_seed(const MetricRow& row, std::size_t arm,
                        const std::vector<std::vector<FoldedTrial>>& cell) {
    constexpr std::size_t kEnough = 4;
    if (cell[0].size() != cell[arm].size() || cell[0].size() < kEnough) return false;
    for (std::size_t i = 0; i < cell[0].size(); ++i) {
        const bool same_seed = cell[0][i].trial->planned.seed == cell[arm][i].trial->planned.seed;
        if (!same_seed || !row.arms[0].values[i] ||
            row.arms[0].values[i] != row.arms[arm].values[i]) {
            return false;
        }
    }
    return true;
}

void judge_failures(const plan::Plan& plan, MetricRow& row, std::size_t i) {
    Change& change = row.changes[i];
    const stats::Summary& base = row.arms[0].summary;
    const stats::Summary& other = row.arms[i + 1].summary;
    if (base.n == 0 || other.n == 0) {
        change.verdict = stats::Verdict::too_few;
        change.reason = stats::Reason::no_values;
    } else if (failures(row.arms[0]) + failures(row.arms[i + 1]) == 0) {
        change.verdict = stats::Verdict::no_change;
        change.reason = stats::Reason::inside_margin;
    } else if (change.comparison.p_adjusted.value_or(1) <= plan.alpha) {
        change.verdict = *other.mean > *base.mean ? stats::Verdict::worse : stats::Verdict::better;
        change.reason = stats::Reason::significant;
    } else {
        change.verdict = stats::Verdict::inconclusive;
        change.reason = stats::Reason::not_significant;
    }
}

// What is left of alpha for one row where all secondary ones, and all looks, share it.
double own_alpha(const plan::Plan& plan, const MetricRow& row, std::size_t i,
                 std::size_t secondaries) {
    const bool shared = row.changes[i].comparison.family == kSecondary;
    const auto looks = static_cast<double>(std::max<std::size_t>(1, plan.looks.size()));
    return plan.alpha / looks / (shared ? static_cast<double>(secondaries) : 1.0);
}

// Trials an arm from which these sizes could reach alpha; where equal values are what is in the
// way, more than there are.
std::size_t needed_trials(const plan::Plan& plan, const MetricRow& row, std::size_t i,
                          std::size_t secondaries) {
    const std::size_t fewest = std::min(row.arms[0].summary.n, row.arms[i + 1].summary.n);
    return std::max(fewest + 1, stats::trials_needed(own_alpha(plan, row, i, secondaries)));
}

// What a reader must know beside the verdict; one text a code, so that tables can point to it.
void warn_of(const plan::Plan& plan, const MetricRow& row, std::size_t i, std::size_t secondaries,
             Change& change, ReportData& data) {
    const ArmValues& base = row.arms[0];
    const ArmValues& other = row.arms[i + 1];
    const auto add = [&](std::string code, std::string text, std::string mend) {
        change.warnings.push_back(warn(data, std::move(code), std::move(text), std::move(mend)));
    };
    switch (change.reason) {
        case stats::Reason::sizes_too_small:
            add(change.comparison.family == kSecondary ? "too-few-secondary" : "too-few",
                fmt::format(
                    "no outcome of so few trials (or with so many equal values) could reach "
                    "p <= {}",
                    plan.alpha),
                fmt::format("run at least {} trials an arm that count (--trials)",
                            needed_trials(plan, row, i, secondaries)));
            break;
        case stats::Reason::no_values:
            add("no-values", "an arm has no known value of this metric",
                "see the losses and the failed and spoiled trials; a metric that a kernel lacks "
                "isn't available there, which is no change of -100 %");
            break;
        case stats::Reason::no_direction:
            add("no-direction", "the values differ, but neither direction of this metric is better",
                "judge it yourself, or give the metric a direction in the experiment");
            break;
        case stats::Reason::identical_outcomes:
            add("identical-outcomes",
                "each arm gave one and the same value in all of its trials: no p-value is made "
                "from that alone",
                "make sure that the seed reaches the load; use other seeds");
            break;
        case stats::Reason::significant_inside:
            add("inside-margin",
                "the change is real, but its whole interval lies inside the margin that the "
                "experiment declares irrelevant",
                "decide whether so small a change matters");
            break;
        case stats::Reason::totals_differ:
            add("totals-differ",
                "many values are zero: the medians agree, and whether the totals do can't be said",
                "compare totals and numbers of zeros; run more trials");
            break;
        case stats::Reason::below_floor:
            add("below-floor", "the values differ by no more than the metric's floor",
                "not news at this size; a longer run makes the counts larger");
            break;
        case stats::Reason::below_placebo:
            add("below-placebo",
                "the difference is real for these binaries, but the base rebuilt with another "
                "layout lies as far from itself",
                "don't put it down to the change; more placebo arms show how far layouts go");
            break;
        case stats::Reason::significant:
        case stats::Reason::inside_margin:
        case stats::Reason::not_significant:
            break;
    }
    // A counter that stays at 0 is a result, not a suspect.
    const bool one_constant = change.comparison.base_constant != change.comparison.other_constant;
    const ArmValues& constant = change.comparison.base_constant ? base : other;
    if (row.key && one_constant && constant.summary.zeros == 0) {
        add("constant-arm", "one arm gave the same value in all of its trials",
            "make sure that the seed reaches the load in that arm");
    }
    if (change.comparison.test && change.comparison.test->resamples > 0) {
        add("monte-carlo",
            "p by resampling from a fixed seed: listing every arrangement takes too long here",
            "nothing: near alpha the error is about a fortieth of the figure");
    }
}

// The smallest change that would have been found, in the unit and in %.
void add_detectable(const plan::Plan& plan, MetricRow& row, std::size_t i,
                    std::size_t secondaries) {
    stats::Comparison& comparison = row.changes[i].comparison;
    const std::array samples = {known(row.arms[0].values), known(row.arms[i + 1].values)};
    // Of thousands of key metrics (an imported table has nothing else) nobody reads the third
    // digit.
    const std::size_t rounds = secondaries > 100 ? 100 : stats::kPowerRounds;
    comparison.detectable =
        stats::detectable_shift(stats::pooled_spread(samples), samples[0].size(), samples[1].size(),
                                own_alpha(plan, row, i, secondaries), 1, rounds);
    const double scale = std::fabs(row.arms[0].summary.median.value_or(0));
    if (comparison.detectable && scale > 0) {
        comparison.detectable_pct = 100 * *comparison.detectable / scale;
    }
}

double effect_of(const stats::Comparison& comparison) {
    const double shift = comparison.shift ? comparison.shift->estimate : 0;
    return shift == 0 && comparison.zero_inflated ? comparison.mean_difference.value_or(0) : shift;
}

// How far the placebo arms lie from the base; remembered beside each other arm's change.
double placebo_of(MetricRow& row, std::size_t i, const ReportData& data) {
    if (data.arms[i + 1].placebo) return 0;
    std::optional<Placebo> farthest;
    for (std::size_t other = 0; other < row.changes.size(); ++other) {
        if (!data.arms[other + 1].placebo || !row.changes[other].comparison.shift) continue;
        const double effect = effect_of(row.changes[other].comparison);
        if (farthest && std::fabs(effect) <= std::fabs(farthest->shift)) continue;
        const double scale = std::fabs(row.arms[0].summary.median.value_or(0));
        farthest = Placebo{data.arms[other + 1].name, effect,
                           scale > 0 ? std::optional(100 * effect / scale) : std::nullopt};
    }
    row.changes[i].placebo = farthest;
    return farthest ? std::fabs(farthest->shift) : 0;
}

void judge_change(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                  const CaseReport& report, MetricRow& row, std::size_t i, std::size_t secondaries,
                  ReportData& data) {
    Change& change = row.changes[i];
    const ArmValues& base = row.arms[0];
    const ArmValues& other = row.arms[i + 1];
    if (report.not_comparable_arms[i + 1]) {
        change.verdict = stats::Verdict::not_comparable;
        change.warnings.push_back("not-comparable");
        return;
    }
    if (row.metric.name == kFailedMetric) {
        judge_failures(plan, row, i);
        return;
    }
    if (is_stated(row, i)) {
        judge_stated(row, i, change, data);
        return;
    }
    const double scale = std::fabs(base.summary.median.value_or(0));
    const stats::Judgement judgement{.alpha = plan.alpha,
                                     .direction = direction(row.metric.better),
                                     .margin = row.metric.margin_pct / 100 * scale,
                                     .floor = row.metric.floor,
                                     .placebo = placebo_of(row, i, data)};
    const stats::Ruling ruling = stats::judge(change.comparison, change.best_attainable_p,
                                              base.summary, other.summary, judgement);
    change.verdict = ruling.verdict;
    change.reason = ruling.reason;
    if (plan.exact && plan.shared_seeds && equal_seed_by_seed(row, i + 1, cell)) {
        change.verdict = stats::Verdict::no_change;
        change.reason = stats::Reason::inside_margin;
        // Equal because nothing ever happens (a counter at 0) is no sign of equal kernels.
        if (row.key && !change.comparison.identical) {
            change.warnings.push_back(
                warn(data, "equal-to-the-digit", "seed by seed, both arms agree to the last digit",
                     "expected of one kernel in exact mode; with a changed kernel, make sure that "
                     "both arms are not the same image"));
        }
    }
    if (row.key) add_detectable(plan, row, i, secondaries);
    if (row.not_observable) {
        // The plan said so before anything ran: a difference here is an accident of the substrate.
        change.verdict = stats::Verdict::inconclusive;
        change.reason = stats::Reason::not_significant;
        change.warnings.push_back(
            warn(data, "not-observable", "this substrate or mode can't answer this metric",
                 "see the reason beside it; ask on hardware or without --exact"));
        return;
    }
    if (row.key || change.reason != stats::Reason::sizes_too_small) {
        warn_of(plan, row, i, secondaries, change, data);
    }
    const bool missing =
        base.summary.n != base.values.size() || other.summary.n != other.values.size();
    if (row.key && missing && change.reason != stats::Reason::no_values) {
        change.warnings.push_back(
            warn(data, "missing-values",
                 "unknown in some trials (failed ones, or lost data): they are not in this row's n",
                 "see the failed trials and the losses"));
    }
}

stats::Verdict case_verdict(const CaseReport& report, std::size_t change) {
    std::vector<stats::Verdict> keys;
    std::optional<stats::Verdict> primary;
    stats::Verdict failed = stats::Verdict::no_change;
    for (const MetricRow& row : report.rows) {
        if (!row.key) continue;
        const stats::Verdict verdict = row.changes[change].verdict;
        if (row.metric.name == kFailedMetric) {
            failed = verdict;
        } else {
            keys.push_back(verdict);
        }
        if (row.primary) primary = verdict;
    }
    if (report.not_comparable_arms[change + 1]) return stats::Verdict::not_comparable;
    if (failed == stats::Verdict::worse) return failed;
    if (primary) return *primary;
    if (keys.empty()) return stats::Verdict::inconclusive;
    return stats::combine(keys);
}

}  // namespace

void judge_case(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                CaseReport& report, ReportData& data) {
    std::vector<MetricRow*> primary;
    std::vector<MetricRow*> secondary;
    std::vector<MetricRow*> others;
    std::vector<MetricRow*> failed;
    for (MetricRow& row : report.rows) {
        test_row(plan, cell, row);
        auto& family = row.metric.name == kFailedMetric ? failed
                       : row.primary                    ? primary
                       : row.key                        ? secondary
                                                        : others;
        family.push_back(&row);
    }
    const std::size_t changes = cell.size() - 1;
    for (std::size_t i = 0; i < changes; ++i) {
        const std::size_t looks = plan.looks.size();
        adjust(primary, i, kPrimary, unadjusted, looks);
        adjust(failed, i, kFailures, unadjusted, looks);
        adjust(secondary, i, kSecondary, stats::holm, looks);
        adjust(others, i, kOthers, stats::benjamini_hochberg, looks);
        for (MetricRow& row : report.rows) {
            judge_change(plan, cell, report, row, i, secondary.size(), data);
            explain(plan, row, i);
        }
        report.verdicts.push_back(case_verdict(report, i));
        report.reasons.push_back(case_reason(report, i));
    }
    for (MetricRow& row : report.rows) {
        if (row.key && row.metric.name != kFailedMetric) remark(plan, cell, row, report, data);
    }
    // A placebo is a control: what it shows is no answer to the question.
    std::vector<stats::Verdict> counted;
    for (std::size_t i = 0; i < changes; ++i) {
        if (!data.arms[i + 1].placebo) counted.push_back(report.verdicts[i]);
    }
    report.verdict = counted.empty() ? stats::Verdict::inconclusive : stats::combine(counted);
}

}  // namespace mano::report
