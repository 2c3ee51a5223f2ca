// SPDX-License-Identifier: GPL-2.0-or-later
// An A/A run set (one kernel in every arm, no seed in common) → how far equal kernels lie apart
// here and what change would be found, for each key metric and several numbers of trials. Earlier
// run sets → the trials that a wanted precision takes. Called by `aa`, `plan` and the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "report/report.h"

namespace mano::report {

// Every arm the same kernel image with the same command line and settings, at least two of them,
// and no seed in common: what such a run set finds is noise.
bool is_aa(const store::RunSet& runset);

// Whether what `earlier` says of noise holds for `later`: the same experiment file, machine,
// accelerator, QEMU, mode, guest shape and number of iterations.
bool same_ground(const store::RunSet& earlier, const plan::Plan& plan,
                 const std::map<std::string, std::string>& identity);

// How one key metric of one case spreads among trials of one kernel.
struct Spread {
    std::string case_, metric, unit;
    bool primary = false;
    std::size_t trials = 0;  // known values, all arms together
    double median = 0;
    double floor = 0;          // of the metric, in the unit
    double margin = 0;         // the metric's margin or floor, whichever is larger, in the unit
    std::vector<double> pool;  // the values, each arm's median taken off
};
// Of every key metric and case with at least 4 known values. The arms need not be one kernel.
Result<std::vector<Spread>> spreads(const store::RunSet& runset);

// For `n` trials an arm, in the unit.
struct Resolution {
    std::size_t n = 0;
    std::optional<double> floor, detectable;
};
Resolution resolution(const Spread& spread, std::size_t n, double alpha);

// Whether equal seeds give alike values in different arms, over all cases of the primary metric (of
// every key metric where none is primary): Spearman's correlation of the base with each other arm.
struct SeedCorrelation {
    double rho = 0, p = 1;
    std::size_t pairs = 0;
};
Result<std::optional<SeedCorrelation>> seed_correlation(const store::RunSet& runset);

// The widest half-width, in % of the base's median (or in units of the floor's own allowance, see
// docs/methods.md), among the 95 % intervals of the key metrics' changes: what --until looks at.
// nullopt: an interval can't be had yet.
struct Precision {
    std::optional<double> widest_pct;
    std::string metric, case_;  // whose it is, or which has none
};
Precision precision(const ReportData& data);

}  // namespace mano::report
