// SPDX-License-Identifier: GPL-2.0-or-later
// Run sets built by hand for the tests of report and interchange: each golden file is one of them.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace mano::report::testing {

// Adds trials one by one; the plan grows with them.
class Builder {
  public:
    explicit Builder(std::vector<std::string> arms, std::vector<std::string> cases = {""});

    struct Reading {
        std::string metric;
        std::optional<double> value;
    };
    // Starts a trial; the setters below are of the trial started last. Returns *this.
    Builder& trial(std::uint32_t arm, std::uint32_t case_ = 0);
    // A counter's before and after readings in iteration `iteration`.
    Builder& counter(const std::string& metric, std::optional<double> grown,
                     std::uint32_t iteration = 0);
    Builder& value(const std::string& metric, std::optional<double> value);
    Builder& fact(const std::string& key, const std::string& value);
    Builder& loss(const std::string& source, std::uint64_t count, const std::string& meaning);
    Builder& ends(measure::Ending ending, const std::string& evidence);

    // One trial an arm and value: `values[arm]` of one counter.
    Builder& fill(const std::string& metric, const std::vector<std::vector<double>>& values,
                  std::uint32_t case_ = 0);

    store::RunSet runset;

  private:
    store::StoredTrial& last() { return runset.trials.back(); }
};

measure::Metric metric(const std::string& name, const std::string& unit, measure::Better better,
                       double margin_pct = 5, double floor = 0,
                       measure::Kind kind = measure::Kind::counter);
plan::KeyMetric key(measure::Metric metric, bool primary = false, std::string formula = "");

// The run sets of the golden files, by name.
std::vector<std::pair<std::string, store::RunSet>> golden_runsets();

}  // namespace mano::report::testing
