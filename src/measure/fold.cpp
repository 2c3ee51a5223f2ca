// SPDX-License-Identifier: GPL-2.0-or-later
// Samples of one trial → one value a metric. The rules are those of sample.h; they are applied to
// raw readings each time a table is made, so nothing here is ever stored.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <unordered_map>

#include "measure/sample.h"

namespace mano::measure {
namespace {

using Values = std::vector<std::optional<double>>;

// The readings that one iteration (or the trial as a whole) has of one metric.
struct Readings {
    std::optional<double> before, after, whole;
    // Present twice, or present as unreadable: nothing can be made of it.
    bool spoiled = false;

    void add(const Sample& sample) {
        std::optional<double>& slot = sample.moment == Moment::before  ? before
                                      : sample.moment == Moment::after ? after
                                                                       : whole;
        if (!sample.value || slot || !std::isfinite(*sample.value)) {
            spoiled = true;
            return;
        }
        slot = sample.value;
    }
};

// nullopt kind: in no family and not in `extra`.
std::optional<double> value_of(const Readings& readings, std::optional<Kind> kind) {
    if (readings.spoiled) return std::nullopt;
    const bool two_sided = readings.before || readings.after;
    if (two_sided && readings.whole) return std::nullopt;
    if (kind == Kind::gauge || kind == Kind::max || kind == Kind::min) {
        return readings.after ? readings.after : readings.whole;
    }
    if (!two_sided) return readings.whole;
    if (kind == Kind::ratio || kind == Kind::rate) return readings.after;
    if (!readings.before || !readings.after) return std::nullopt;
    const double grown = *readings.after - *readings.before;
    // What only grows has not shrunk: one of the two readings isn't what it says it is.
    if (grown < 0) return std::nullopt;
    return grown;
}

// One metric's readings, by iteration; the trial's own under `trial`.
struct Track {
    std::map<std::uint32_t, Readings> iterations;
    Readings trial;
    bool two_sided = false;

    void add(const Sample& sample) {
        two_sided = two_sided || sample.moment != Moment::whole;
        if (sample.iteration) {
            iterations[*sample.iteration].add(sample);
        } else {
            trial.add(sample);
        }
    }
};

// An imported run set may describe thousands of metrics: they are looked up, not searched.
class Kinds {
  public:
    explicit Kinds(std::span<const Metric> extra) {
        for (const Metric& metric : extra)
            kinds_.try_emplace(metric.name, metric.kind);
    }
    std::optional<Kind> of(std::string_view name) const {
        if (const auto found = kinds_.find(name); found != kinds_.end()) return found->second;
        const std::optional<Metric> metric = find_metric(name);
        if (!metric) return std::nullopt;
        return metric->kind;
    }

  private:
    std::unordered_map<std::string_view, Kind> kinds_;
};

// The value of every iteration that the trial had, whether or not this metric was read in it.
Values iteration_values(const Track& track, std::optional<Kind> kind,
                        const std::set<std::uint32_t>& all) {
    Values values;
    for (const std::uint32_t iteration : all) {
        const auto found = track.iterations.find(iteration);
        values.push_back(found == track.iterations.end() ? std::nullopt
                                                         : value_of(found->second, kind));
    }
    return values;
}

std::optional<double> combine(const Values& values, std::optional<Kind> kind) {
    double total = 0;
    double largest = -HUGE_VAL;
    double smallest = HUGE_VAL;
    for (const std::optional<double>& value : values) {
        if (!value) return std::nullopt;
        total += *value;
        largest = std::max(largest, *value);
        smallest = std::min(smallest, *value);
    }
    if (values.empty()) return std::nullopt;
    switch (kind.value_or(Kind::counter)) {
        case Kind::counter:
            return total;
        case Kind::gauge:
            return total / static_cast<double>(values.size());
        case Kind::max:
            return largest;
        case Kind::min:
            return smallest;
        case Kind::ratio:
        case Kind::rate:
            // Averaging ratios would weigh iterations wrongly: derive them from folded parts.
            return values.size() == 1 ? values.front() : std::nullopt;
    }
    return std::nullopt;
}

std::optional<double> fold_track(const Track& track, std::optional<Kind> kind,
                                 const std::set<std::uint32_t>& all) {
    // Readings of iterations win over those of the whole trial, which also hold the pauses and the
    // pressure's start.
    if (track.iterations.empty()) return value_of(track.trial, kind);
    const Values values = iteration_values(track, kind, all);
    if (!kind && !track.two_sided && values.size() > 1) return std::nullopt;
    return combine(values, kind);
}

struct Sorted {
    std::map<std::string, Track, std::less<>> tracks;
    std::set<std::uint32_t> iterations;
};

Sorted sort_samples(std::span<const Sample> samples) {
    Sorted sorted;
    for (const Sample& sample : samples) {
        sorted.tracks[sample.metric].add(sample);
        if (sample.iteration) sorted.iterations.insert(*sample.iteration);
    }
    return sorted;
}

// Metrics of the catalogue that are computed from others, where their parts were measured.
void add_derived(std::map<std::string, std::optional<double>>& values) {
    static constexpr std::string_view kZones = "vmstat.allocstall_";
    double stalls = 0;
    bool known = true;
    bool any = false;
    for (auto it = values.lower_bound(std::string(kZones));
         it != values.end() && it->first.starts_with(kZones); ++it) {
        any = true;
        known = known && it->second.has_value();
        stalls += it->second.value_or(0);
    }
    if (any) values.try_emplace("vmstat.allocstall", known ? std::optional(stalls) : std::nullopt);

    const auto value = [&values](std::string_view name) -> std::optional<double> {
        const auto found = values.find(std::string(name));
        return found == values.end() ? std::nullopt : found->second;
    };
    for (const CatalogueFormula& derived : catalogue_formulas()) {
        const bool measured =
            std::all_of(derived.formula.names().begin(), derived.formula.names().end(),
                        [&values](const std::string& name) { return values.contains(name); });
        if (measured) values.try_emplace(derived.name, derived.formula.evaluate(value));
    }
}

}  // namespace

std::map<std::string, std::optional<double>> fold(std::span<const Sample> samples,
                                                  std::span<const Metric> extra) {
    const Sorted sorted = sort_samples(samples);
    const Kinds kinds(extra);
    std::map<std::string, std::optional<double>> values;
    for (const auto& [name, track] : sorted.tracks) {
        values[name] = fold_track(track, kinds.of(name), sorted.iterations);
    }
    add_derived(values);
    return values;
}

std::vector<std::optional<double>> per_iteration(std::span<const Sample> samples,
                                                 std::string_view metric,
                                                 std::span<const Metric> extra) {
    const Sorted sorted = sort_samples(samples);
    const Kinds kinds(extra);
    if (const auto found = sorted.tracks.find(metric); found != sorted.tracks.end()) {
        if (found->second.iterations.empty()) return {};
        return iteration_values(found->second, kinds.of(metric), sorted.iterations);
    }
    // A derived one: fold each iteration alone.
    Values values;
    bool known = false;
    for (const std::uint32_t iteration : sorted.iterations) {
        std::map<std::string, std::optional<double>> alone;
        for (const auto& [name, track] : sorted.tracks) {
            const auto readings = track.iterations.find(iteration);
            if (readings == track.iterations.end()) continue;
            alone[name] = value_of(readings->second, kinds.of(name));
        }
        add_derived(alone);
        const auto value = alone.find(std::string(metric));
        known = known || value != alone.end();
        values.push_back(value == alone.end() ? std::nullopt : value->second);
    }
    return known ? values : Values{};
}

}  // namespace mano::measure
