// SPDX-License-Identifier: GPL-2.0-or-later
// The vocabulary of what is measured: each metric's name, unit, kind, direction, floor, margin and
// meaning. Everybody who prints or judges a number asks here. Knows no substrate and no experiment.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "measure/formula.h"

namespace mano::measure {

// How several iterations of a trial fold into the trial's value (docs/methods.md):
enum class Kind {
    counter,  // only grows; an iteration's value is after - before; iterations are summed
    gauge,    // a state; the reading after; iterations are averaged
    max,      // a worst case; iterations by maximum
    ratio,    // derived from folded values by a formula, in the unit given (often %)
    rate,     // the same, per time
    min,      // a lowest point; iterations by minimum
};
enum class Better { lower, higher, neither };

std::string_view name_of(Kind kind);      // "counter" …
std::string_view name_of(Better better);  // "lower" …
std::optional<Kind> kind_from(std::string_view name);
std::optional<Better> better_from(std::string_view name);

struct Metric {
    std::string name;
    std::string unit;  // "us", "ns", "pages", "bytes", "count", "%", "1/s"
    Kind kind = Kind::counter;
    Better better = Better::neither;
    // A row whose values in both arms and whose difference stay below the floor isn't news: it is
    // hidden among "the changed others" and gets no verdict of better or worse. In the unit.
    double floor = 0;
    // Equivalence margin in % of the base's median: an interval of the change inside ±margin is
    // "no-change". Absolute floors apply beside it (a shift inside ±floor is inside the margin).
    double margin_pct = 5;
    std::string meaning;  // one sentence, with the source of the number
};

// The catalogue's entry for a name, exact or by family ("vmstat.*", "mthp.*.*", "zoneinfo.*" …);
// a name that is in no family gives nullopt.
std::optional<Metric> find_metric(std::string_view name);
// All exact entries and one line per family ("vmstat.<key>"), for help and docs.
std::span<const Metric> catalogue();
// Stricter than find_metric: also the key inside its family must be one that some kernel from 6.1
// to 7.3 has ("vmstat.pgscan_dirct" is in a family and still a mistake). For checking what people
// type; what kernels print is never refused.
bool is_known_metric(std::string_view name);

// A metric of the catalogue that is never read but computed from folded values ("probe.ops_per_s").
struct CatalogueFormula {
    std::string name;
    Formula formula;
};
std::span<const CatalogueFormula> catalogue_formulas();

// The known name nearest to a misspelt one (edit distance), for error messages; empty when nothing
// is near.
std::string nearest_metric(std::string_view name, std::span<const std::string> also_known);

using mano::nearest_name;

}  // namespace mano::measure
