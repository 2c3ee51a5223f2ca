// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <set>

#include "report/internal.h"

namespace mano::report {
namespace {

std::string at(const std::map<std::string, std::string>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? "unknown" : found->second;
}

// "cpus: 4 / 2; qemu: 7.2.22 / 10.0": the keys in which two machines differ.
std::string differences(const store::RunSet& a, const store::RunSet& b) {
    std::set<std::string> keys;
    for (const auto& [key, value] : a.identity)
        keys.insert(key);
    for (const auto& [key, value] : b.identity)
        keys.insert(key);
    std::string text;
    for (const std::string& key : keys) {
        if (at(a.identity, key) == at(b.identity, key)) continue;
        text += fmt::format("{}{}: {} / {}", text.empty() ? "" : "; ", key, at(a.identity, key),
                            at(b.identity, key));
    }
    if (a.plan.exact != b.plan.exact) {
        text +=
            fmt::format("{}exact: {} / {}", text.empty() ? "" : "; ", a.plan.exact, b.plan.exact);
    }
    if (!(a.plan.shape == b.plan.shape)) {
        text += fmt::format("{}guest shape", text.empty() ? "" : "; ");
    }
    return text;
}

Status check_mergeable(const store::RunSet& first, const store::RunSet& other) {
    if (first.plan.experiment != other.plan.experiment ||
        first.plan.experiment_sha256 != other.plan.experiment_sha256) {
        return fail(Code::invalid,
                    "run sets {} and {} come from different experiments ({} {}, {} {}): their "
                    "numbers answer different questions",
                    first.id, other.id, first.plan.experiment,
                    first.plan.experiment_sha256.substr(0, 12), other.plan.experiment,
                    other.plan.experiment_sha256.substr(0, 12));
    }
    const bool same_cases =
        std::equal(first.plan.cases.begin(), first.plan.cases.end(), other.plan.cases.begin(),
                   other.plan.cases.end(), [](const plan::Case& a, const plan::Case& b) {
                       return a.name == b.name && a.parameters == b.parameters;
                   });
    if (!same_cases) {
        return fail(Code::invalid, "run sets {} and {} have different cases or parameters",
                    first.id, other.id);
    }
    return {};
}

std::string free_name(const plan::Plan& plan, const std::string& name) {
    const auto taken = [&](const std::string& candidate) {
        return std::any_of(plan.arms.begin(), plan.arms.end(),
                           [&](const plan::Arm& arm) { return arm.name == candidate; });
    };
    std::string candidate = name;
    for (int number = 2; taken(candidate); ++number)
        candidate = fmt::format("{}#{}", name, number);
    return candidate;
}

// An imported file brings the description of its metrics along; the second may have more of them.
void add_descriptions(plan::Plan& plan, const plan::Plan& other) {
    const auto known = [&](const std::string& name) {
        const auto of_name = [&](const auto& each) { return each.metric.name == name; };
        return std::any_of(plan.key_metrics.begin(), plan.key_metrics.end(), of_name) ||
               std::any_of(plan.derived.begin(), plan.derived.end(), of_name);
    };
    for (const plan::KeyMetric& each : other.key_metrics) {
        if (!known(each.metric.name)) plan.key_metrics.push_back(each);
    }
    for (const plan::DerivedMetric& each : other.derived) {
        if (!known(each.metric.name)) plan.derived.push_back(each);
    }
}

void append(store::RunSet& merged, const store::RunSet& other) {
    const auto first_arm = static_cast<std::uint32_t>(merged.plan.arms.size());
    for (const plan::Arm& arm : other.plan.arms) {
        plan::Arm added = arm;
        added.name = free_name(merged.plan, arm.name);
        for (const store::StoredArm& stored : other.arms) {
            if (stored.name == arm.name) merged.arms.push_back({added.name, stored.kernel_json});
        }
        merged.plan.arms.push_back(std::move(added));
    }
    for (store::StoredTrial trial : other.trials) {
        trial.planned.arm += first_arm;
        trial.planned.position = static_cast<std::uint32_t>(merged.trials.size());
        merged.plan.trials.push_back(trial.planned);
        merged.trials.push_back(std::move(trial));
    }
    if (merged.plan.substrate == "import") add_descriptions(merged.plan, other.plan);
    merged.id += "+" + other.id;
    merged.plan.shared_seeds = merged.plan.shared_seeds && other.plan.shared_seeds &&
                               merged.plan.first_seed == other.plan.first_seed;
    if (other.state == store::RunState::partial) merged.state = store::RunState::partial;
    merged.remarks.insert(merged.remarks.end(), other.remarks.begin(), other.remarks.end());
}

}  // namespace

Result<store::RunSet> merge(std::span<const store::RunSet> runsets, bool force) {
    if (runsets.empty()) return fail(Code::invalid, "no run set to compare");
    store::RunSet merged = runsets.front();
    for (const store::RunSet& other : runsets.subspan(1)) {
        MANO_TRY(check_mergeable(runsets.front(), other));
        const std::string differs = differences(runsets.front(), other);
        if (!differs.empty() && !force) {
            return fail(Code::invalid,
                        "run sets {} and {} come from different machines ({}): what differs "
                        "between them may be the machine; --force compares them all the same",
                        runsets.front().id, other.id, differs);
        }
        if (!differs.empty()) {
            merged.remarks.push_back("compared by --force although machines differ: " + differs);
        }
        append(merged, other);
    }
    return merged;
}

}  // namespace mano::report
