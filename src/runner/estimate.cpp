// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner/estimate.h"

#include <algorithm>

namespace mano::runner {

void Estimate::ended(const plan::PlannedTrial& trial, double seconds) {
    cells_[{trial.arm, trial.case_}].add(seconds);
    cases_[trial.case_].add(seconds);
    arms_[trial.arm].add(seconds);
    all_.add(seconds);
}

std::optional<double> Estimate::seconds_of(const plan::PlannedTrial& trial) const {
    if (const auto cell = cells_.find({trial.arm, trial.case_}); cell != cells_.end()) {
        return cell->second.sum / cell->second.count;
    }
    if (const auto one = cases_.find(trial.case_); one != cases_.end()) {
        return one->second.sum / one->second.count;
    }
    if (const auto one = arms_.find(trial.arm); one != arms_.end()) {
        return one->second.sum / one->second.count;
    }
    if (all_.count > 0) return all_.sum / all_.count;
    return std::nullopt;
}

double Estimate::seconds_left(std::span<const plan::PlannedTrial> waiting,
                              std::span<const Running> running, unsigned jobs) const {
    if (all_.count == 0) return -1;
    double work = 0;
    double longest = 0;
    for (const Running& one : running) {
        const double left = std::max(0.0, seconds_of(one.trial).value_or(0) - one.elapsed);
        work += left;
        longest = std::max(longest, left);
    }
    for (const plan::PlannedTrial& one : waiting)
        work += seconds_of(one).value_or(0);
    return std::max(longest, work / std::max(1U, jobs));
}

}  // namespace mano::runner
