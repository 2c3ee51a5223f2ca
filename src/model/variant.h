// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between kernel versions, as switches (docs/model.md lists them with their sources).
// The mechanism asks these, never a version's name.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/preemption.h"

namespace mano::model {

struct KernelVariant {
    std::string_view name;
    bool compact_gap_capped;    // compact_gap() at most 32 pages
    bool costly_noretry_bails;  // a costly NORETRY request gives up after a skipped compaction
    bool free_high_half_min;    // free_high from batch + high_min/2 on, not from batch on
    bool drain_in_portions;     // drains let the zone lock go after each batch
    bool skip_awake_kswapd;     // nodes whose kswapd is awake are skipped at first
    bool vfree_bulk;            // vfree() hands back contiguous runs (free_pages_bulk)
    Preemption preemption;      // the default of Debian's kernel
    bool async_any_movable;     // async compaction for orders >= 9 scans movable blocks too
};

// "6.12", "7.2", "7.3"; nullptr: no such variant.
const KernelVariant* find_variant(std::string_view name);
std::span<const KernelVariant> variants();

}  // namespace mano::model
