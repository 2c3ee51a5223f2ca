// SPDX-License-Identifier: GPL-2.0-or-later
// Durations of ended trials → time that the rest will take. Knows no clock. Called by the runner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "plan/plan.h"

namespace mano::runner {

class Estimate {
  public:
    void ended(const plan::PlannedTrial& trial, double seconds);
    // How long a trial may take: the mean of its arm and case, else of its case (a higher demand
    // takes longer in every arm), else of its arm, else of all; nullopt before any has ended.
    std::optional<double> seconds_of(const plan::PlannedTrial& trial) const;

    struct Running {
        plan::PlannedTrial trial;
        double elapsed = 0;  // seconds
    };
    // For `waiting` and `running` trials with `jobs` at once. < 0: unknown yet.
    double seconds_left(std::span<const plan::PlannedTrial> waiting,
                        std::span<const Running> running, unsigned jobs) const;

  private:
    struct Mean {
        double sum = 0;
        double count = 0;
        void add(double value) {
            sum += value;
            count += 1;
        }
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, Mean> cells_;
    std::map<std::uint32_t, Mean> cases_;
    std::map<std::uint32_t, Mean> arms_;
    Mean all_;
};

}  // namespace mano::runner
