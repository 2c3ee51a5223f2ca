// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/plan.h"

#include "base/digest.h"
#include "base/rng.h"

namespace mano::plan {

std::string_view name_of(Accel accel) {
    switch (accel) {
        case Accel::automatic:
            return "auto";
        case Accel::kvm:
            return "kvm";
        case Accel::tcg:
            return "tcg";
    }
    return "auto";
}

const KeyMetric* Plan::primary() const {
    for (const KeyMetric& key : key_metrics) {
        if (key.primary) return &key;
    }
    return nullptr;
}

TrialPlan trial_of(const TrialPlan& trial, const Arm& arm) {
    constexpr std::string_view kProbe = "probe.";
    TrialPlan own = trial;
    own.settings.insert(own.settings.end(), arm.settings.begin(), arm.settings.end());
    const LoadDef* probe = find_load(own.probe.id);
    for (const ArmParam& param : arm.params) {
        std::string_view name = param.name;
        if (!name.starts_with(kProbe) || probe == nullptr) continue;
        const auto index = find_param(*probe, name.substr(kProbe.size()));
        if (!index) continue;
        if (probe->params[*index].type == ParamType::text) {
            own.probe.text = param.text;
        } else if (*index < own.probe.values.size()) {
            own.probe.values[*index] = param.value;
        }
    }
    return own;
}

std::string hash(const Plan& plan) {
    return sha256(to_json(plan));
}

void lay_out_trials(Plan& plan) {
    struct Block {
        std::uint32_t case_;
        std::uint32_t row;
    };
    std::vector<Block> blocks;
    const auto cases = static_cast<std::uint32_t>(plan.cases.size());
    Rng rng(plan.order_seed);
    std::vector<std::uint32_t> ends = plan.looks;
    if (ends.empty()) ends = {plan.trials_per_cell};
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends) {
        std::vector<Block> stage;
        for (std::uint32_t case_ = 0; case_ < cases; ++case_) {
            for (std::uint32_t row = begin; row < end; ++row)
                stage.push_back({case_, row});
        }
        shuffle(stage, rng);
        blocks.insert(blocks.end(), stage.begin(), stage.end());
        begin = end;
    }

    plan.trials.clear();
    for (const Block& block : blocks) {
        std::vector<std::uint32_t> arms(plan.arms.size());
        for (std::uint32_t arm = 0; arm < arms.size(); ++arm)
            arms[arm] = arm;
        shuffle(arms, rng);
        for (const std::uint32_t arm : arms) {
            PlannedTrial trial;
            trial.position = static_cast<std::uint32_t>(plan.trials.size());
            trial.arm = arm;
            trial.case_ = block.case_;
            trial.row = block.row;
            trial.seed = plan.first_seed + block.row;
            if (!plan.shared_seeds) trial.seed += std::uint64_t{arm} * plan.trials_per_cell;
            plan.trials.push_back(trial);
        }
    }
    for (std::uint32_t i = 0; i < plan.traced_per_cell; ++i) {
        for (std::uint32_t case_ = 0; case_ < cases; ++case_) {
            for (std::uint32_t arm = 0; arm < plan.arms.size(); ++arm) {
                PlannedTrial trial;
                trial.position = static_cast<std::uint32_t>(plan.trials.size());
                trial.arm = arm;
                trial.case_ = case_;
                trial.row = plan.trials_per_cell + i;
                trial.seed = plan.first_seed + i;
                if (!plan.shared_seeds) trial.seed += std::uint64_t{arm} * plan.trials_per_cell;
                trial.traced = true;
                plan.trials.push_back(trial);
            }
        }
    }
}

}  // namespace mano::plan
