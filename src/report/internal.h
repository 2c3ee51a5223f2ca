// SPDX-License-Identifier: GPL-2.0-or-later
// The steps of build(): raw trials → cells of folded values → rows → verdicts. Only for this
// folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace mano::report {

using Values = std::map<std::string, std::optional<double>, std::less<>>;
using StatedValues = std::map<std::string, measure::Stated, std::less<>>;

// One trial that counts, folded, derived metrics and trial.failed included.
struct FoldedTrial {
    const store::StoredTrial* trial = nullptr;
    Values values;
};

// What the report is made of: the chosen arms and cases, and the trials of each pair.
struct Collected {
    std::vector<std::uint32_t> arms;   // indices into the plan, the base first
    std::vector<std::uint32_t> cases;  // indices into the plan
    std::vector<std::vector<std::vector<FoldedTrial>>> cells;  // [case][arm], ordered by row
    std::vector<std::vector<StatedValues>> stated;             // [case][arm]
    bool outcomes = true;                                      // outcomes_known()
};

constexpr std::string_view kFailedMetric = "trial.failed";

// Which arms (the base first) and cases the options name, as indices into the plan.
struct Choice {
    std::vector<std::uint32_t> arms, cases;
};
Result<Choice> choose(const store::RunSet& runset, const Options& options);
// Whether `name` matches one of the options' globs, or there is none.
bool wanted(const Options& options, std::string_view name);

// Whether it is known which trials failed: of an imported file that doesn't say it isn't, and there
// is no trial.failed then.
bool outcomes_known(const store::RunSet& runset);

Result<Collected> collect(const store::RunSet& runset, const Options& options);

// One warning a code and text; returns the code.
std::string warn(ReportData& data, std::string code, std::string text, std::string what_to_do);

// Equivalence block of a case, and for each arm why it can't be compared with the base.
void check_equivalence(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                       CaseReport& report);
// What differs between the arms and is no gate.
std::vector<Confounder> find_confounders(const store::RunSet& runset, const Collected& collected,
                                         const std::vector<ArmReport>& arms);

// Tests, adjusts and judges the rows of one case; fills verdicts and warnings.
void judge_case(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                CaseReport& report, ReportData& data);

// The sentence behind a row's verdict, and behind a case's.
void explain(const plan::Plan& plan, MetricRow& row, std::size_t change);
Reason case_reason(const CaseReport& report, std::size_t change);
// What a reader must know about a key metric's values: two groups, one apart, a drift over the run,
// a placebo that was told apart. As warnings, and in the row.
void remark(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
            MetricRow& row, const CaseReport& report, ReportData& data);
// Huge pages in use before the probe: state that the pressure brings about, and so a gate.
void check_in_use(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                  CaseReport& report);
// Quotes options.aa beside the key metrics.
Status quote_noise(const store::RunSet& aa, ReportData& data);

// "a*c" against "abc": '*' and '?' only.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace mano::report
