// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/variant.h"

#include <array>

namespace mano::model {
namespace {

constexpr KernelVariant k72{.name = "7.2",
                            .compact_gap_capped = true,
                            .costly_noretry_bails = false,
                            .free_high_half_min = true,
                            .drain_in_portions = true,
                            .skip_awake_kswapd = true,
                            .vfree_bulk = true,
                            .preemption = Preemption::lazy,
                            .async_any_movable = true};

constexpr KernelVariant renamed(KernelVariant variant, std::string_view name) {
    variant.name = name;
    return variant;
}

constexpr std::array<KernelVariant, 3> kVariants{{
    {.name = "6.12",
     .compact_gap_capped = false,
     .costly_noretry_bails = true,
     .free_high_half_min = false,
     .drain_in_portions = false,
     .skip_awake_kswapd = false,
     .vfree_bulk = false,
     .preemption = Preemption::voluntary,
     .async_any_movable = false},
    k72,
    renamed(k72, "7.3"),  // nothing of what the model has changed in between
}};

}  // namespace

std::span<const KernelVariant> variants() {
    return kVariants;
}

const KernelVariant* find_variant(std::string_view name) {
    for (const KernelVariant& variant : kVariants) {
        if (variant.name == name) return &variant;
    }
    return nullptr;
}

}  // namespace mano::model
