// SPDX-License-Identifier: GPL-2.0-or-later
// An arm of the model as a text: "7.3", "7.3+aux=no-reclaim", "7.2+vfree=threshold+cost.scan=0.5":
// a kernel variant, the policies that replace its own, and factors on costs. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/counters.h"
#include "model/policy/policy.h"

namespace mano::model {

struct Arm {
    const KernelVariant* variant = nullptr;
    const AuxPolicy* aux = nullptr;
    const VfreePolicy* vfree = nullptr;
    Preemption preemption = Preemption::lazy;
    // Entries after which madvise's loop lets the page table's lock go if somebody waits; nullopt:
    // never.
    std::optional<unsigned> break_every = kSwapCluster;
    unsigned nodes = 1;  // over which CPUs and memory are spread evenly
    std::string dump;    // a folder with zoneinfo, buddyinfo and pagetypeinfo to begin from
    std::optional<bool> lru_gen;  // nullopt: as the experiment's shape says
    Costs costs;
    std::string text;  // canonical: what was left out is filled in
};

// Code::invalid with the nearest name and all that are known.
Result<Arm> parse_arm(std::string_view text);

}  // namespace mano::model
