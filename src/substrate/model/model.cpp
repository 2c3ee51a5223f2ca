// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/model/model.h"

#include <algorithm>
#include <new>
#include <thread>

#include "base/digest.h"
#include "substrate/model/loads.h"
#include "substrate/model/trial.h"

namespace mano::substrate::model {
namespace {

// Results of different versions are never mixed in one run set. Raised with each change of what the
// model computes.
constexpr std::string_view kModelVersion = "2";

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

Result<Rules> rules_of(std::string_view spec) {
    Rules rules;
    MANO_ASSIGN(rules.arm, arm_of(spec));
    if (rules.arm.dump.empty()) return rules;
    MANO_ASSIGN(const DumpTexts texts, read_dump_folder(rules.arm.dump));
    auto dump = read_dump(texts);
    if (!dump) return wrap(dump.error(), "{}", rules.arm.dump);
    rules.dump = std::move(*dump);
    return rules;
}

// A dump is of a machine; the plan's must be that one, since reports name it.
Status check_shape(const plan::Plan& plan, const plan::Arm& arm, const Rules& rules) {
    if (!rules.dump) return {};
    const unsigned cpus = rules.dump->shape.cpus();
    const std::uint64_t bytes = rules.dump->managed * mano::model::kPageBytes;
    const std::uint64_t most = bytes + bytes / 4 + (std::uint64_t{128} << 20);
    if (plan.shape.cpus == cpus && plan.shape.memory_bytes >= bytes &&
        plan.shape.memory_bytes <= most) {
        return {};
    }
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
    return fail(Code::invalid,
                "arm {}: the dump is of a machine with {} CPUs and {} MiB, expected --set "
                "guest.cpus={} --set guest.memory={}MiB with it",
                arm.name, cpus, bytes / kMiB, cpus, (bytes + bytes / 32 + kMiB - 1) / kMiB);
}

}  // namespace

Result<kernels::Kernel> kernel_of(std::string_view spec) {
    MANO_ASSIGN(const mano::model::Arm arm, arm_of(spec));
    // What a dump holds is part of what the arm is.
    std::string dump;
    if (!arm.dump.empty()) {
        MANO_ASSIGN(const DumpTexts texts, read_dump_folder(arm.dump));
        dump = sha256(texts.zoneinfo + texts.buddyinfo + texts.pagetypeinfo);
    }
    kernels::Kernel kernel;
    kernel.provenance.spec = spec;
    kernel.provenance.release = "model " + std::string(arm.variant->name);
    kernel.provenance.exact_spec = std::string(kSpecPrefix) + arm.text;
    kernel.id = sha256(fmt::format("model {} {}{}", kModelVersion, arm.text, dump));
    return kernel;
}

Status ModelSubstrate::prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>&) {
    remarks_.clear();
    for (const plan::Arm& arm : plan.arms) {
        MANO_ASSIGN(const Rules rules, rules_of(arm.kernel_spec));
        MANO_TRY(check_shape(plan, arm, rules));
        if (rules.dump) note_dump(arm, *rules.dump);
        if (!arm.settings.empty() || !arm.cmdline.empty()) {
            return fail(Code::invalid,
                        "arm {}: the model has no sysctls and no command line, expected only "
                        "kernel=model:… and probe.PARAMETER",
                        arm.name);
        }
        for (const plan::Case& one : plan.cases) {
            const std::string missing = missing_load(plan::trial_of(one.trial, arm));
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

void ModelSubstrate::note_dump(const plan::Arm& arm, const Dump& dump) {
    remarks_.push_back(fmt::format(
        "arm {} begins from a dump: its pages of files are anonymous ones here, per-CPU lists are "
        "empty, and where each block lies is drawn.",
        arm.name));
    for (const std::string& remark : dump.remarks)
        remarks_.push_back(remark);
}

std::vector<std::string> ModelSubstrate::remarks() const {
    std::vector<std::string> all{
        "A model, not a kernel: times come from its cost table (docs/model.md), counters from its "
        "rules. Try on a kernel what it says.",
        "Left out of the model: page cache and writeback, MGLRU's generations (its rule for giving "
        "up is there), HIGHATOMIC reserves, memory cgroup limits, CMA, defrag_mode, lock-free "
        "allocation; the OOM killer kills nobody. Tasks stay on their CPUs.",
    };
    all.insert(all.end(), remarks_.begin(), remarks_.end());
    return all;
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
    MANO_ASSIGN(const Rules rules, rules_of(arm.kernel_spec));
    const plan::TrialPlan trial =
        plan::trial_of(request.plan.cases.at(request.trial.case_).trial, arm);
    try {
        return run_trial(request.plan, trial, request.trial.seed, rules, progress, stop);
    } catch (const std::bad_alloc&) {
        return fail(Code::environment, "the host has no memory for a model of this size");
    }
}

}  // namespace mano::substrate::model
