// SPDX-License-Identifier: GPL-2.0-or-later
// Values of a run set or a trial → sparklines and bars for `show`. What comes from outside appears
// as ASCII.
#pragma once

#include <string>

#include "cli/trial_values.h"
#include "report/plot.h"
#include "store/store.h"

namespace mano::cli {

// The judged metrics trial by trial, in the order in which the trials ran, an arm a line. Needs the
// samples. Empty when no trial has run, or nothing is judged.
std::string runset_plots(const store::RunSet& runset, report::Charset charset);
// The judged metrics and the stalls over the iterations (three or more), and free blocks by order
// before the first and after the last iteration, where they were read.
std::string trial_plots(const plan::Plan& plan, const measure::TrialRecord& record,
                        const TrialValues& values, report::Charset charset);

}  // namespace mano::cli
