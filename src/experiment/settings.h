// SPDX-License-Identifier: GPL-2.0-or-later
// Every parameter that an experiment file and --set can give ("guest.memory", "pressure.demand",
// "run.gap"), and how each lands in the plan. Must not know TOML or the command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "experiment/experiment.h"
#include "experiment/values.h"
#include "plan/plan.h"

namespace mano::experiment {

struct SettingDef {
    plan::ParamDef param;
    std::span<const std::string_view> choices;  // of type text
    // Without a value the kernel's own default stays; shown as "kernel's own".
    bool optional = false;
};

// The tables of [guest] and [run]; those of pressures and probes are in plan/schema.h.
std::span<const SettingDef> guest_settings();
std::span<const SettingDef> run_settings();
std::span<const std::string_view> mthp_choices();

// What the parameters describe: the parts of a plan, by reference, that one case has.
struct Draft {
    plan::GuestShape& shape;
    plan::TrialPlan& trial;
    std::uint64_t& wall_limit_ns;
    std::uint32_t& trials;
    bool& pairs;
};

// All defaults of the schema, before an experiment sets anything.
void set_defaults(Draft draft);
// A load with the defaults of its schema.
plan::LoadPlan default_load(const plan::LoadDef& load);

// Finds the definition of a full name ("probe.size", "guest.mthp.64KiB",
// "guest.sysctl.vm.swappiness") for the draft's loads. Code::invalid: no such parameter, with the
// nearest name.
Result<SettingDef> find_setting(const Draft& draft, std::string_view name);
// Sets it. Code::invalid in the words of parse_value, without the name in front.
Status apply_setting(Draft draft, std::string_view name, std::string_view text);
// The present value as text, nullopt when it has none (the kernel's own).
std::optional<std::string> setting_text(const Draft& draft, std::string_view name);
// All parameters with their present values, for `describe`.
std::vector<Parameter> list_parameters(const Draft& draft);

// Derives from the shape what the agent writes to /sys before anything else. Idempotent.
void finish_settings(Draft draft);

// What no single parameter can say: folios that the guest doesn't allow, a demand that needs swap …
// One sentence each, with the mend.
std::vector<std::string> contradictions(const Draft& draft);

}  // namespace mano::experiment
