// SPDX-License-Identifier: GPL-2.0-or-later
// A stored run set or trial as the JSON of `show --json`: everything that the store knows.
#pragma once

#include <string>

#include "store/store.h"

namespace mano::cli {

// Schema manometer.show/1. Samples and consoles are in those of single trials only.
std::string runset_json(const store::RunSet& runset);
// Schema manometer.trial/1.
std::string trial_json(const store::RunSet& runset, const store::StoredTrial& trial);

}  // namespace mano::cli
