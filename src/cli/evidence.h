// SPDX-License-Identifier: GPL-2.0-or-later
// What earlier run sets of the same experiment on this ground say: noise to quote, whether equal
// seeds make pairs, how many trials a wanted precision takes. Called by run, compare, plan and aa.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "report/noise.h"
#include "store/store.h"

namespace mano::cli {

// The newest A/A run set with the experiment, machine, mode and shape of `runset`, samples and all;
// nullopt without one, or when the store can't say.
std::optional<store::RunSet> find_aa(store::Store& store, const store::RunSet& runset);

// The newest run set on the plan's ground (an A/A one before others); `identity` empty: any
// machine.
std::optional<store::RunSet> find_earlier(store::Store& store, const plan::Plan& plan,
                                          const std::map<std::string, std::string>& identity);

// Where the experiment asks for pairs: keeps them, with the evidence, if the newest run set with
// shared seeds on this ground shows a correlation of at least 0.3 with p at most .05 over at least
// 8 pairs; else takes them out. Returns the sentence for the reader; empty when no pairs are asked
// for.
std::string settle_pairs(store::Store& store, plan::Plan& plan);

}  // namespace mano::cli
