// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/model/model.h"

#include <algorithm>
#include <new>
#include <thread>

#include "base/digest.h"
#include "substrate/model/trial.h"

namespace mano::substrate::model {
namespace {

// Results of different versions are never mixed in one run set. Raised with each change of what the
// model computes.
constexpr std::string_view kModelVersion = "1";

Result<mano::model::Arm> arm_of(std::string_view spec) {
    if (!spec.starts_with(kSpecPrefix)) {
        return fail(Code::invalid,
                    "'{}' is a kernel, and --substrate model runs none: expected "
                    "model:VARIANT[+KEY=VALUE...] such as model:7.3+aux=no-reclaim, or no -k at "
                    "all for the experiment's own arms",
                    spec.substr(0, 100));
    }
    auto arm = mano::model::parse_arm(spec.substr(kSpecPrefix.size()));
    if (!arm) return wrap(arm.error(), "{}", spec.substr(0, 100));
    return arm;
}

}  // namespace

Result<kernels::Kernel> kernel_of(std::string_view spec) {
    MANO_ASSIGN(const mano::model::Arm arm, arm_of(spec));
    kernels::Kernel kernel;
    kernel.provenance.spec = spec;
    kernel.provenance.release = "model " + std::string(arm.variant->name);
    kernel.provenance.exact_spec = std::string(kSpecPrefix) + arm.text;
    kernel.id = sha256(fmt::format("model {} {}", kModelVersion, arm.text));
    return kernel;
}

Status ModelSubstrate::prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>&) {
    for (const plan::Arm& arm : plan.arms) {
        MANO_TRY(arm_of(arm.kernel_spec));
        if (!arm.settings.empty() || !arm.cmdline.empty()) {
            return fail(Code::invalid,
                        "arm {}: the model has no sysctls and no command line, expected only "
                        "kernel=model:… and probe.PARAMETER",
                        arm.name);
        }
        for (const plan::Case& one : plan.cases) {
            const std::string missing = missing_from_model(plan::trial_of(one.trial, arm));
            if (!missing.empty()) return fail(Code::invalid, "{}", missing);
        }
    }
    constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 40;
    if (plan.shape.memory_bytes > kMostBytes || plan.shape.cpus > 4096)
        return fail(Code::invalid, "the model goes up to 4 TiB and 4096 CPUs");
    identity_ = {{"substrate", "model"},
                 {"model", std::string(kModelVersion)},
                 {"cpus", fmt::format("{}", plan.shape.cpus)},
                 {"memory_bytes", fmt::format("{}", plan.shape.memory_bytes)},
                 {"nodes", "1"}};
    return {};
}

std::vector<std::string> ModelSubstrate::remarks() const {
    return {
        "A model, not a kernel: times come from its cost table (docs/model.md), counters from its "
        "rules. Try on a kernel what it says.",
        "Left out of the model: page cache and writeback, MGLRU's generations (its rule for giving "
        "up is there), HIGHATOMIC reserves, memory cgroup limits, CMA, defrag_mode, lock-free "
        "allocation; the OOM killer kills nobody. Tasks stay on their CPUs.",
    };
}

std::pair<unsigned, std::string> ModelSubstrate::jobs(const plan::Plan&, unsigned wanted) const {
    const unsigned cpus = std::max(1U, std::thread::hardware_concurrency());
    if (wanted <= cpus) return {wanted, {}};
    return {cpus, fmt::format("the host has {} CPUs", cpus)};
}

Result<measure::TrialRecord> ModelSubstrate::run(const TrialRequest& request,
                                                 const TrialProgress& progress,
                                                 const std::function<bool()>& stop) {
    const plan::Arm& arm = request.plan.arms.at(request.trial.arm);
    MANO_ASSIGN(const mano::model::Arm rules, arm_of(arm.kernel_spec));
    const plan::TrialPlan trial =
        plan::trial_of(request.plan.cases.at(request.trial.case_).trial, arm);
    try {
        return run_trial(request.plan, trial, request.trial.seed, rules, progress, stop);
    } catch (const std::bad_alloc&) {
        return fail(Code::environment, "the host has no memory for a model of this size");
    }
}

}  // namespace mano::substrate::model
