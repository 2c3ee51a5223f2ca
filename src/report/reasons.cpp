// SPDX-License-Identifier: GPL-2.0-or-later
// Why a verdict is what it is, in a sentence with its numbers.
#include <cmath>

#include "report/internal.h"
#include "report/layout.h"

namespace mano::report {
namespace {

std::string p_words(const plan::Plan& plan, const Change& change) {
    if (!change.comparison.p_adjusted) return "no p-value";
    const double p = *change.comparison.p_adjusted;
    return fmt::format("p = {} {} {}", show_p(p), p <= plan.alpha ? "<=" : ">", plan.alpha);
}

std::string effect_words(const MetricRow& row, const stats::Comparison& comparison) {
    const std::string unit =
        row.metric.unit.empty() || row.metric.unit == "count" ? "" : " " + row.metric.unit;
    std::string text = "shift " + show_signed(comparison.shift->estimate);
    if (comparison.shift->ci95) {
        text += fmt::format(" [{}, {}]", show_signed(comparison.shift->ci95->first),
                            show_signed(comparison.shift->ci95->second));
    }
    return text + unit;
}

std::string bound_words(const MetricRow& row) {
    std::string text = fmt::format("+-{:g}%", row.metric.margin_pct);
    if (row.metric.floor > 0)
        text += fmt::format(" or +-{:g} {}", row.metric.floor, row.metric.unit);
    return text;
}

std::string better_words(const MetricRow& row) {
    return fmt::format("{} is better", measure::name_of(row.metric.better));
}

std::string sentence(const plan::Plan& plan, const MetricRow& row, const Change& change) {
    const stats::Comparison& comparison = change.comparison;
    switch (change.reason) {
        case stats::Reason::significant:
            return fmt::format("{}; {}; {}", p_words(plan, change), effect_words(row, comparison),
                               better_words(row));
        case stats::Reason::significant_inside:
            return fmt::format("{}; {}; {}, but all of it lies within {}", p_words(plan, change),
                               effect_words(row, comparison), better_words(row), bound_words(row));
        case stats::Reason::inside_margin:
            return fmt::format("{} lies within {}", effect_words(row, comparison),
                               bound_words(row));
        case stats::Reason::below_floor:
            return fmt::format("{}, but {} is no more than the floor of {:g}",
                               p_words(plan, change), effect_words(row, comparison),
                               row.metric.floor);
        case stats::Reason::below_placebo:
            return fmt::format("{}, but the placebo {} lies {} from the base",
                               p_words(plan, change), change.placebo ? change.placebo->arm : "",
                               show_number(std::fabs(change.placebo ? change.placebo->shift : 0)));
        case stats::Reason::no_direction:
            return fmt::format("{}; {}; neither direction is better", p_words(plan, change),
                               effect_words(row, comparison));
        case stats::Reason::identical_outcomes:
            return "each arm gave one and the same value in all of its trials";
        case stats::Reason::totals_differ:
            return "the medians agree; with so many zeros it can't be said that the totals do";
        case stats::Reason::not_significant:
            return fmt::format("{}; {} reaches beyond {}", p_words(plan, change),
                               effect_words(row, comparison), bound_words(row));
        case stats::Reason::sizes_too_small:
            return fmt::format("no outcome of so few trials could reach p <= {}", plan.alpha);
        case stats::Reason::no_values:
            return "an arm has no known value";
    }
    return "";
}

const MetricRow* failed_row(const CaseReport& report) {
    for (const MetricRow& row : report.rows) {
        if (row.metric.name == kFailedMetric) return &row;
    }
    return nullptr;
}

}  // namespace

void explain(const plan::Plan& plan, MetricRow& row, std::size_t i) {
    Change& change = row.changes[i];
    change.why.code = std::string(stats::code_of(change.reason));
    if (change.verdict == stats::Verdict::not_comparable) {
        change.why = {"not-comparable", "the state before the probe differs"};
    } else if (row.not_observable) {
        change.why = {"not-observable", *row.not_observable};
    } else if (row.metric.name == kFailedMetric) {
        const stats::Summary& base = row.arms[0].summary;
        const stats::Summary& other = row.arms[i + 1].summary;
        change.why.text = base.n == 0 || other.n == 0
                              ? "an arm has no trial that counts"
                              : fmt::format("{} of {} failed -> {} of {}; {}", *base.total, base.n,
                                            *other.total, other.n, p_words(plan, change));
    } else if (change.verdict == stats::Verdict::no_change && change.comparison.test &&
               change.reason == stats::Reason::inside_margin &&
               std::find(change.warnings.begin(), change.warnings.end(), "equal-to-the-digit") !=
                   change.warnings.end()) {
        change.why = {"equal", "seed by seed, both arms agree to the last digit"};
    } else if (row.arms[0].stated || row.arms[i + 1].stated) {
        change.why = {"means-only", "only means and spreads are known, not the trials"};
    } else {
        change.why.text = change.comparison.shift || change.reason == stats::Reason::no_values
                              ? sentence(plan, row, change)
                              : "the values are too many for a shift";
    }
}

Reason case_reason(const CaseReport& report, std::size_t i) {
    if (report.not_comparable_arms[i + 1]) {
        return {"not-comparable", *report.not_comparable_arms[i + 1]};
    }
    const MetricRow* failed = failed_row(report);
    if (failed != nullptr && failed->changes[i].verdict == stats::Verdict::worse) {
        return {"failed-trials", failed->changes[i].why.text};
    }
    for (const MetricRow& row : report.rows) {
        if (row.primary) {
            return {row.changes[i].why.code, row.metric.name + ": " + row.changes[i].why.text};
        }
    }
    return {"no-primary", "combined over all key metrics: no primary metric was fixed"};
}

}  // namespace mano::report
