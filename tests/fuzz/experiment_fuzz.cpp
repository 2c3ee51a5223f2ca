// SPDX-License-Identifier: GPL-2.0-or-later
// Experiment files come from mails and colleagues. What parses must also plan, and whatever is said
// about the rest begins with the file's name.
#include <cstdlib>

#include "experiment/experiment.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto experiment = mano::experiment::parse(text, "x.toml");
    if (!experiment) {
        if (!experiment.error().message.starts_with("x.toml")) std::abort();
        return 0;
    }
    mano::experiment::PlanOptions options;
    options.arms = {{"a", "k", {}, {}}, {"b", "l", {}, {}}};
    options.trials = 2;
    const auto plan = mano::experiment::make_plan(*experiment, options);
    if (!plan) return 0;  // a probe `command` without a command line
    const auto back = mano::plan::from_json(mano::plan::to_json(*plan));
    if (!back || mano::plan::hash(*back) != mano::plan::hash(*plan)) std::abort();
    for (const auto& one : plan->cases) {
        if (!mano::plan::encode(one.trial)) std::abort();
    }
    return 0;
}
