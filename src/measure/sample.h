// SPDX-License-Identifier: GPL-2.0-or-later
// What a trial yields: samples, facts, losses, and how it ended. The substrates write it, the store
// keeps it, the report reads it. Knows no substrate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/ending.h"
#include "measure/metric.h"

namespace mano::measure {

// When a sample was taken relative to an iteration of the probe.
enum class Moment : std::uint8_t {
    before = 0,  // reading before the probe
    after = 1,   // reading after it
    whole = 2,   // a value of the iteration as a whole (ops done, time taken), or of the trial
};

struct Sample {
    std::string metric;
    std::optional<std::uint32_t> iteration;  // nullopt: of the trial as a whole
    Moment moment = Moment::whole;
    std::optional<double> value;  // nullopt: known to be unreadable here (a Loss says why)
    bool operator==(const Sample&) const = default;
};

// Data known to be missing. `count` in units that `meaning` names.
struct Loss {
    std::string source;
    std::uint64_t count = 0;
    std::string meaning;
    bool operator==(const Loss&) const = default;
};

// Something that the trial states about its machine ("swap", "zram 512 MiB lz4"), for equivalence
// and confounders.
struct Fact {
    std::string key;
    std::string value;
    bool operator==(const Fact&) const = default;
};

std::string_view name_of(Ending ending);  // "goodbye", "probe refused" …
std::optional<Ending> ending_from(std::string_view name);
enum class Standing : std::uint8_t { counted, failed, spoiled };
// Which endings are outcomes of the kernel (failed) and which say nothing about it (spoiled).
Standing standing(Ending ending);
std::string_view name_of(Standing standing);  // "counted", "failed", "spoiled"

// Everything that one trial yields.
struct TrialRecord {
    Ending ending = Ending::harness_fault;
    std::string evidence;  // what shows that ending: panic trace, task dump, reason and mend
    std::vector<Sample> samples;
    std::vector<Fact> facts;
    std::vector<Loss> losses;
    std::string console;        // the guest's console, bounded
    std::string trace;          // of an attribution trial: its records (src/trace/format.h)
    std::uint64_t host_ns = 0;  // wall time of the trial
};

// Folds a trial's samples into one value a metric, by the metric's kind (see Kind). An iteration
// lacking one of its two readings contributes nothing and the result is nullopt: a partial sum
// would look smaller. Metrics whose kind isn't known (in no family, not in `extra`) fold as
// counters when they have before/after readings, else need a single value; several values are then
// an error that the caller sees as nullopt.
std::map<std::string, std::optional<double>> fold(std::span<const Sample> samples,
                                                  std::span<const Metric> extra = {});

// The value of each iteration of one metric, in order; nullopt where it isn't known.
std::vector<std::optional<double>> per_iteration(std::span<const Sample> samples,
                                                 std::string_view metric,
                                                 std::span<const Metric> extra = {});

}  // namespace mano::measure
