// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as an imported CSV file: an error or a consistent run set.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "interchange/interchange.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    mano::interchange::ImportOptions options;
    options.file = "fuzz.csv";
    const auto imported = mano::interchange::import_csv(text, options);
    if (!imported) return 0;
    const auto& trials = imported->runset.plan.trials;
    if (trials.size() != imported->records.size()) std::abort();
    for (const auto& trial : trials) {
        if (trial.arm >= imported->runset.plan.arms.size() ||
            trial.case_ >= imported->runset.plan.cases.size()) {
            std::abort();
        }
    }
    return 0;
}
