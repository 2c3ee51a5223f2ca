// SPDX-License-Identifier: GPL-2.0-or-later
// Experiment + what the user asked for → Plan.
#include <algorithm>
#include <limits>
#include <set>

#include "base/rng.h"
#include "experiment/experiment.h"
#include "experiment/faults.h"
#include "experiment/settings.h"
#include "experiment/values.h"

namespace mano::experiment {
namespace {

using plan::Case;
using plan::Plan;

constexpr std::uint64_t kMaxTrials = 100'000;

Draft draft_of(Plan& plan, Case& one, std::uint32_t& trials) {
    return {plan.shape, one.trial, plan.wall_limit_ns, trials, plan.paired};
}

Status check_arms(const std::vector<plan::Arm>& arms) {
    if (arms.empty()) {
        return fail(
            Code::invalid,
            "no kernel given, expected -k NAME=SPEC such as -k old=debian:7.1 (the first is "
            "the base)");
    }
    std::set<std::string> names;
    for (const plan::Arm& arm : arms) {
        if (!is_made_of(arm.name, "-.+", 64)) {
            return fail(Code::invalid,
                        "-k: '{}' is not an arm's name, expected letters, digits and "
                        "_-.+, at most 64",
                        arm.name.substr(0, 64));
        }
        if (!names.insert(arm.name).second) {
            return fail(Code::invalid,
                        "-k: two arms are named '{}', expected NAME=SPEC with "
                        "different names",
                        arm.name);
        }
    }
    return {};
}

bool is_one_kernel(const std::vector<plan::Arm>& arms) {
    return arms.size() > 1 && std::all_of(arms.begin(), arms.end(), [&arms](const plan::Arm& arm) {
               return arm.kernel_spec == arms.front().kernel_spec && arm.same_setup(arms.front());
           });
}

// The experiment's own arms, where it has some and the user gave none; on the user's kernel, where
// they differ in the probe and the user gave just a kernel.
std::vector<plan::Arm> choose_arms(const Experiment& experiment, const PlanOptions& options) {
    const std::vector<plan::Arm>& given = options.arms;
    const bool model = options.substrate == "model";
    if (given.empty()) return model ? experiment.model_arms : experiment.default_arms;
    const plan::Arm& first = given.front();
    const bool plain = given.size() == 1 && first.cmdline.empty() && first.settings.empty() &&
                       first.params.empty();
    const bool own = std::any_of(experiment.default_arms.begin(), experiment.default_arms.end(),
                                 [](const plan::Arm& arm) { return !arm.params.empty(); });
    if (!plain || !own || model) return given;
    std::vector<plan::Arm> arms = experiment.default_arms;
    for (plan::Arm& arm : arms)
        arm.kernel_spec = first.kernel_spec;
    return arms;
}

// Parameters of the probe that an arm has for itself: their values, by the rules of --set.
Status set_arm_params(const Experiment& experiment, Plan& plan, std::uint32_t& trials) {
    for (plan::Arm& arm : plan.arms) {
        for (plan::ArmParam& param : arm.params) {
            const auto wrong = [&](std::string_view why) {
                return fail(Code::invalid, "arm {}: {}={}: {}", arm.name, param.name.substr(0, 64),
                            param.text.substr(0, 64), why);
            };
            const Draft draft = draft_of(plan, plan.cases.front(), trials);
            if (!param.name.starts_with("probe.")) return wrong("expected probe.PARAMETER");
            if (experiment.sweep == param.name && plan.cases.size() > 1) {
                return wrong(
                    "the experiment's cases differ in that; expected --set with one "
                    "value, or another parameter");
            }
            const auto def = find_setting(draft, param.name);
            if (!def) return wrong(def.error().message);
            const auto held = parse_value(def->param, def->choices, param.text);
            if (!held) return wrong(held.error().message);
            param.value = held->number;
        }
    }
    return {};
}

// What contradicts itself in a case as one of the arms runs it.
Status check_cases(Plan& plan, std::uint32_t& trials) {
    for (Case& one : plan.cases) {
        finish_settings(draft_of(plan, one, trials));
        for (const plan::Arm& arm : plan.arms) {
            Case own = one;
            own.trial = plan::trial_of(one.trial, arm);
            const std::vector<std::string> faults = contradictions(draft_of(plan, own, trials));
            if (!faults.empty()) return fail(Code::invalid, "{}", faults.front());
        }
    }
    return {};
}

// "demand=95%", "95%" or "0.95" → index of the case.
std::optional<std::size_t> find_case(const Experiment& experiment, const std::vector<Case>& cases,
                                     std::string_view wanted, const Draft& draft) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (cases[i].name == wanted) return i;
    }
    if (!experiment.sweep) return std::nullopt;
    const auto def = find_setting(draft, *experiment.sweep);
    if (!def) return std::nullopt;
    const auto held = parse_value(def->param, def->choices, wanted);
    if (!held) return std::nullopt;
    const std::string plain = plain_value(def->param, *held);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const auto found = cases[i].parameters.find(*experiment.sweep);
        if (found != cases[i].parameters.end() && found->second == plain) return i;
    }
    return std::nullopt;
}

// Keeps the cases asked for, in the order of the experiment.
Status pick_cases(const Experiment& experiment, const std::vector<std::string>& wanted,
                  Plan& plan) {
    if (wanted.empty()) return {};
    std::set<std::size_t> picked;
    std::uint32_t trials = 0;
    const Draft draft = draft_of(plan, plan.cases.front(), trials);
    for (const std::string& name : wanted) {
        if (const auto index = find_case(experiment, plan.cases, name, draft)) {
            picked.insert(*index);
            continue;
        }
        std::vector<std::string_view> names;
        for (const Case& one : plan.cases) {
            if (!one.name.empty()) names.push_back(one.name);
        }
        if (names.empty()) {
            return fail(Code::invalid, "--cases {}: experiment {} has no cases", name,
                        experiment.name);
        }
        return fail(Code::invalid, "--cases {}: no such case, {}", name,
                    expected_one_of(name, names));
    }
    std::vector<Case> kept;
    for (const std::size_t index : picked)
        kept.push_back(std::move(plan.cases[index]));
    plan.cases = std::move(kept);
    return {};
}

// One --set, in every case. Setting what the experiment sweeps leaves one case, with that value.
Status set_parameter(const Experiment& experiment, std::string_view name, std::string_view text,
                     Plan& plan, std::uint32_t& trials) {
    if (experiment.sweep == name) {
        plan.cases.resize(1);
        const std::size_t point = name.find('.');
        Case& only = plan.cases.front();
        MANO_TRY(apply_setting(draft_of(plan, only, trials), name, text));
        const auto shown = setting_text(draft_of(plan, only, trials), name);
        only.name = fmt::format("{}={}", name.substr(point + 1), shown.value_or(""));
    }
    for (Case& one : plan.cases) {
        const Draft draft = draft_of(plan, one, trials);
        MANO_TRY(apply_setting(draft, name, text));
        MANO_ASSIGN(const SettingDef def, find_setting(draft, name));
        MANO_ASSIGN(const Held held, parse_value(def.param, def.choices, text));
        one.parameters[std::string(name)] = plain_value(def.param, held);
    }
    return {};
}

Status set_command(const PlanOptions& options, Plan& plan) {
    for (Case& one : plan.cases) {
        plan::LoadPlan& probe = one.trial.probe;
        if (probe.id != plan::LoadId::command) {
            if (options.command.empty()) continue;
            return fail(Code::invalid, "'-- {}': the experiment's probe is not `command`",
                        options.command.substr(0, 64));
        }
        if (!options.command.empty()) probe.text = options.command;
        if (!is_plain_text(probe.text, 4096)) {
            return fail(Code::invalid,
                        "the probe `command` needs a command line of printable ASCII, "
                        "expected -- PROGRAM ARGUMENTS at the end");
        }
    }
    return {};
}

Status check_exact(const Experiment& experiment, const PlanOptions& options, Plan& plan) {
    if (!options.exact) return {};
    if (options.accel == plan::Accel::kvm) {
        return fail(Code::invalid,
                    "--exact needs an emulated CPU that counts instructions, expected "
                    "--accel tcg or auto");
    }
    if (experiment.exact_needs_one_cpu && plan.shape.cpus > 1) {
        return fail(Code::invalid, "--exact: {} needs one CPU, expected --set guest.cpus=1 ({})",
                    experiment.name, *experiment.exact_needs_one_cpu);
    }
    plan.not_observable = experiment.not_observable_in_exact;
    return {};
}

Status check_added_files(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
        // "SHA256 PATH-IN-IMAGE", and after another blank the host's path
        const std::size_t second = std::min(file.find(' ', 65), file.size());
        const bool digest =
            file.size() > 66 && file[64] == ' ' && file.find_first_not_of("0123456789abcdef") == 64;
        const std::string image = digest ? file.substr(65, second - 65) : "";
        const bool good = is_made_of(image, "/.-+", 447) && image.find("..") == std::string::npos &&
                          (second >= file.size() || is_plain_text(file.substr(second + 1), 4096));
        if (!good) {
            return fail(Code::invalid,
                        "--add: '{}' can't be put into the guest, expected a file "
                        "whose name has only letters, digits and ._-+, in a folder of plain ASCII",
                        file.substr(0, 200));
        }
    }
    return {};
}

bool is_calm(const Plan& plan) {
    return std::all_of(plan.cases.begin(), plan.cases.end(), [](const Case& one) {
        return one.trial.probe.id == plan::LoadId::idle ||
               one.trial.probe.id == plan::LoadId::command;
    });
}

// On a live host [guest] says nothing but how much memory the loads may have together: the machine
// is what it is, and a setting is made only where the user names it. A probe that loads nothing
// runs without the experiment's pressure unless loads are wanted.
Status settle_on_host(const Experiment& experiment, const PlanOptions& options, Plan& plan) {
    if (plan.substrate != "live") return {};
    plan::GuestShape shape;
    shape.memory_bytes = options.loads_host ? plan.shape.memory_bytes : 0;
    shape.cpus = options.host_cpus;
    shape.thp.clear();
    shape.thp_defrag.clear();
    plan.shape = std::move(shape);
    for (Case& one : plan.cases)
        one.trial.settings.clear();
    for (const auto& [name, text] : options.set) {
        const bool guests_alone = name == "guest.cpus" || name.starts_with("guest.zram");
        if (guests_alone) {
            return fail(Code::invalid,
                        "--set {}={}: a live host has the CPUs and the swap that it has; leave it "
                        "out",
                        name, text.substr(0, 64));
        }
        if (name.starts_with("pressure.") && !options.loads_host) {
            return fail(Code::invalid,
                        "--set {}={}: a pressure takes memory of this very host: say "
                        "--yes-this-host if you mean it",
                        name.substr(0, 64), text.substr(0, 64));
        }
    }
    if (!options.loads_host && !is_calm(plan)) {
        return fail(Code::invalid,
                    "the probe of {} loads the machine, which is this very host: say "
                    "--yes-this-host if you mean it, or use guests (--substrate guest)",
                    experiment.name);
    }
    const bool swept =
        experiment.sweep && experiment.sweep->starts_with("pressure.") && plan.cases.size() > 1;
    if (options.loads_host || swept) return {};
    const plan::LoadDef* none = plan::find_load(plan::LoadId::none);
    for (Case& one : plan.cases)
        one.trial.pressure = default_load(*none);
    return {};
}

// A setting that the user named and that can't be made is no trial.
void require_settings(Plan& plan) {
    if (plan.substrate != "live") return;
    for (Case& one : plan.cases) {
        for (plan::Setting& setting : one.trial.settings)
            setting.required = true;
    }
}

Status check_live_command(const PlanOptions& options, const Plan& plan) {
    if (plan.substrate != "live" || !options.command.empty()) return {};
    for (const Case& one : plan.cases) {
        if (one.trial.probe.id != plan::LoadId::command) continue;
        return fail(Code::invalid,
                    "no command given: on a live host only what stands after -- is run, never what "
                    "an experiment's file says; expected -- PROGRAM ARGUMENTS at the end");
    }
    return {};
}

// Seeds of one run stay in a row; it must not run over the end.
Status check_size(const Plan& plan) {
    const std::uint64_t trials =
        std::uint64_t{plan.trials_per_cell} * plan.arms.size() * plan.cases.size();
    if (plan.trials_per_cell < 1 || trials > kMaxTrials) {
        return fail(Code::invalid,
                    "--trials: {} arms and {} cases make {} trials, expected 1 to {}",
                    plan.arms.size(), plan.cases.size(), trials, kMaxTrials);
    }
    if (plan.first_seed > std::numeric_limits<std::uint64_t>::max() / 2) {
        return fail(Code::invalid, "--seed: {} is too large, expected at most 2^63",
                    plan.first_seed);
    }
    return {};
}

}  // namespace

Result<Plan> make_plan(const Experiment& experiment, const PlanOptions& options) {
    Plan plan = experiment.base;
    plan.arms = choose_arms(experiment, options);
    plan.substrate = options.substrate;
    if (plan.arms.empty() && plan.substrate == "model") {
        return fail(Code::invalid,
                    "experiment {} has no [[model.arm]], expected -k NAME=model:VARIANT such as "
                    "-k a=model:7.2 -k b=model:7.3",
                    experiment.name);
    }
    MANO_TRY(check_arms(plan.arms));
    if (options.placebo) {
        plan::Arm placebo = plan.arms.front();
        placebo.name = "placebo";
        placebo.kernel_spec += ",placebo";
        placebo.placebo = true;
        plan.arms.push_back(std::move(placebo));
        MANO_TRY(check_arms(plan.arms));
    }
    plan.exact = options.exact;
    plan.accel = options.accel;
    plan.first_seed = options.first_seed;
    // The order of trials is random but follows from the first seed, so a run can be repeated
    // whole.
    plan.order_seed = Rng(options.first_seed).split(0).next() >> 16;
    plan.shared_seeds = options.shared_seeds.value_or(!is_one_kernel(plan.arms));

    std::uint32_t trials = experiment.default_trials;
    MANO_TRY(pick_cases(experiment, options.cases, plan));
    MANO_TRY(settle_on_host(experiment, options, plan));
    MANO_TRY(check_live_command(options, plan));
    for (const auto& [name, text] : options.set) {
        const Status done = set_parameter(experiment, name, text, plan, trials);
        if (!done) {
            return fail(done.error().code, "--set {}={}: {}", name.substr(0, 64),
                        text.substr(0, 64), done.error().message);
        }
    }
    const auto override = [&](std::string_view option, std::string_view name,
                              const std::optional<std::uint32_t>& value) -> Status {
        if (!value) return {};
        for (Case& one : plan.cases) {
            const Status done =
                apply_setting(draft_of(plan, one, trials), name, std::to_string(*value));
            if (!done) return fail(done.error().code, "{}: {}", option, done.error().message);
        }
        return {};
    };
    MANO_TRY(override("--trials", "run.trials", options.trials));
    MANO_TRY(override("--iterations", "run.iterations", options.iterations));
    if (options.wall_limit_ns) plan.wall_limit_ns = *options.wall_limit_ns;
    plan.trials_per_cell = trials;
    MANO_TRY(set_command(options, plan));
    MANO_TRY(check_exact(experiment, options, plan));
    if (plan.substrate == "model") plan.not_observable = experiment.not_observable_in_model;
    MANO_TRY(check_added_files(options.added_files));
    plan.added_files = options.added_files;
    MANO_TRY(set_arm_params(experiment, plan, trials));
    MANO_TRY(check_cases(plan, trials));
    require_settings(plan);
    MANO_TRY(check_size(plan));
    lay_out_trials(plan);
    return plan;
}

}  // namespace mano::experiment
