// SPDX-License-Identifier: GPL-2.0-or-later
// The part of an experiment file that says what is measured and judged: tracepoints, derived
// metrics, key metrics, proofs. Used by the parser alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/section.h"

namespace mano::experiment {

// The metrics that a file may name: the catalogue's, and those it declares itself.
class MetricNames {
  public:
    // `extra`: names of kernels newer than this program, vouched for by the file.
    explicit MetricNames(std::vector<std::string> extra) : declared_(std::move(extra)) {}

    void declare(std::string name) { declared_.push_back(std::move(name)); }
    bool know(std::string_view name) const;
    // "no metric 'x' …", with the nearest name or what to do.
    std::string complaint(std::string_view name) const;

  private:
    std::vector<std::string> declared_;
};

// Reads [[tracepoint]], [derived.*], [primary], [[secondary]] and [[proof]] of `top`.
MetricNames read_metrics(Section& top, Faults& faults, std::vector<std::string> new_metrics,
                         Experiment& experiment, plan::TrialPlan& trial);

}  // namespace mano::experiment
