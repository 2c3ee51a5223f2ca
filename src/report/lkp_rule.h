// SPDX-License-Identifier: GPL-2.0-or-later
// LKP's rule of what has changed, to be shown beside ours: the values of one metric in two arms →
// changed or not, and why. After lkp-tests of 2026-07 (lib/stats.rb, lib/changed_stat.rb, etc/) as
// `lkp ncompare --more` applies it; docs/formats/lkp.md has it in words. It is not our rule: it has
// no error rate that it keeps to. Called by build() when asked for, and by the LKP renderer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mano::report {

struct LkpRuling {
    bool changed = false;
    std::string why;  // "each median lies outside the other's range", "under 1 %" …
};

// `name` is LKP's name of the metric. A value that isn't known counts as 0, as LKP pads it.
LkpRuling lkp_rule(std::string_view name, std::span<const std::optional<double>> base,
                   std::span<const std::optional<double>> head);

// Whether LKP counts runs (fail:runs) instead of averaging values.
bool lkp_is_failure(std::string_view name);
// Whether LKP shows the difference itself instead of a percentage.
bool lkp_is_absolute(std::string_view name);
// Whether it is a test's own number: of no monitor that LKP runs beside its tests.
bool lkp_is_own(std::string_view name);
// Ours → theirs: /proc/vmstat is proc-vmstat there; `foreign`: it is theirs already.
std::string lkp_name(std::string_view name, bool foreign);

}  // namespace mano::report
