// SPDX-License-Identifier: GPL-2.0-or-later
// Every policy that an arm can name, in one table each.
#include <array>

#include "model/policy/aux.h"
#include "model/policy/vfree.h"

namespace mano::model {

std::span<const Named<AuxPolicy>> aux_policies() {
    static const std::array<Named<AuxPolicy>, 7> kAll{{
        {"plain", "7.3: every order with reclaim, NORETRY, no order remembered", aux_plain()},
        {"no-reclaim", "optional orders without reclaim and reserves (aux-no-reclaim.patch)",
         aux_no_reclaim()},
        {"no-reclaim-kswapd", "the same, but optional orders still wake kswapd and kcompactd",
         aux_no_reclaim_kswapd()},
        {"sticky", "7.3, but an order that failed isn't tried again for this area", aux_sticky()},
        {"highorder", "2019's proposal: one piece, else single pages", aux_highorder()},
        {"by-watermark", "before 6.18: large chunks whatever the PMU says", aux_by_watermark()},
        {"bulk-release", "7.3, but an area is given back in runs", aux_bulk_release()},
    }};
    return kAll;
}

std::span<const Named<VfreePolicy>> vfree_policies() {
    static const std::array<Named<VfreePolicy>, 5> kAll{{
        {"per-page", "6.12: one page after the other", vfree_per_page()},
        {"contiguous", "7.2 and 7.3: runs as blocks", vfree_contiguous()},
        {"threshold", "runs of up to 8 pages one by one, longer ones as blocks", vfree_threshold()},
        {"to-zone", "runs as blocks, past the per-CPU lists", vfree_to_zone()},
        {"adaptive", "small runs one by one while this CPU has few single pages", vfree_adaptive()},
    }};
    return kAll;
}

}  // namespace mano::model
