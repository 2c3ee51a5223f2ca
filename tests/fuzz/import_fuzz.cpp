// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a file of any tool: an error that names its place, or a consistent run set. The
// first byte chooses the importer.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "interchange/interchange.h"

namespace {

void check(const mano::interchange::Imported& imported) {
    const auto& plan = imported.runset.plan;
    if (plan.trials.size() != imported.records.size()) std::abort();
    for (const auto& trial : plan.trials) {
        if (trial.arm >= plan.arms.size() || trial.case_ >= plan.cases.size()) std::abort();
    }
    for (const auto& record : imported.records) {
        for (const auto& sample : record.samples) {
            if (sample.value && !std::isfinite(*sample.value)) std::abort();
        }
    }
    if (imported.losses.size() > mano::interchange::kMaxLosses + 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto all = mano::interchange::importers();
    const auto& importer = all[data[0] % all.size()];
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    mano::interchange::ImportOptions options;
    options.file = "fuzz";
    const auto imported = mano::interchange::import_text(importer, text, options);
    if (!imported) {
        if (imported.error().code != mano::Code::hostile) std::abort();
        if (imported.error().message.find("fuzz:") == std::string::npos) std::abort();
        return 0;
    }
    check(*imported);
    // Reading back what was imported; the report on it is left to the unit tests
    // (hostile_test.cpp): its simulations take seconds an input here.
    if (mano::interchange::as_runset(*imported).trials.size() != imported->records.size()) {
        std::abort();
    }
    return 0;
}
