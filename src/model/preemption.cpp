// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/preemption.h"

#include <array>

namespace mano::model {
namespace {

constexpr std::array<std::string_view, 5> kNames{"none", "voluntary", "full", "lazy", "rt"};

bool preemptible(Preemption model) {
    return model != Preemption::none && model != Preemption::voluntary;
}

}  // namespace

std::string_view name_of(Preemption model) {
    return kNames[static_cast<std::size_t>(model)];
}

std::optional<Preemption> preemption_of(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (kNames[i] == name) return static_cast<Preemption>(i);
    }
    return std::nullopt;
}

bool may_switch_inside(Preemption model, Inside inside) {
    if (inside == Inside::open) return true;
    // With PREEMPT_RT a spinlock is a lock that sleeps.
    return inside == Inside::kernel ? preemptible(model) : model == Preemption::rt;
}

bool may_switch_after(Preemption model, After after) {
    switch (after) {
        case After::point:
        case After::if_wanted:
            return true;
        case After::might_sleep:
            return model != Preemption::none;
        case After::holds:
            return model == Preemption::rt;
    }
    return true;
}

}  // namespace mano::model
