// SPDX-License-Identifier: GPL-2.0-or-later
// Google Benchmark's JSON: a benchmark is a case, a repetition a trial. Aggregates are only taken
// where the file leaves the repetitions out.
#include <array>
#include <cmath>
#include <set>

#include "interchange/document.h"
#include "interchange/importers.h"

namespace mano::interchange {
namespace {

using measure::Better;
using measure::Kind;

const ForeignMetric kReal{"ns", Kind::gauge, Better::lower, "wall time of one iteration", true};
const ForeignMetric kCpu{"ns", Kind::gauge, Better::lower, "CPU time of one iteration", true};

// What stands beside the user's counters.
const std::set<std::string, std::less<>> kFields{"name",
                                                 "family_index",
                                                 "per_family_instance_index",
                                                 "run_name",
                                                 "run_type",
                                                 "repetitions",
                                                 "threads",
                                                 "repetition_index",
                                                 "iterations",
                                                 "real_time",
                                                 "cpu_time",
                                                 "time_unit",
                                                 "aggregate_name",
                                                 "aggregate_unit",
                                                 "error_occurred",
                                                 "error_message",
                                                 "skipped",
                                                 "skip_message",
                                                 "label",
                                                 "big_o",
                                                 "cpu_coefficient",
                                                 "real_coefficient",
                                                 "rms"};

std::string text_of(const Node& entry, std::string_view key) {
    const Node* const found = entry.find(key);
    return found != nullptr && found->is(Node::Kind::text) ? found->text : "";
}

bool is_aggregate(const Node& entry) {
    return text_of(entry, "run_type") == "aggregate" || entry.find("aggregate_name") != nullptr;
}

class Reader {
  public:
    Reader(const Source& source, Draft& draft) : source_(source), draft_(draft) {}

    Status run(const Node& root) {
        MANO_ASSIGN(const Node* const list,
                    expect(root, "benchmarks", Node::Kind::list, draft_.file()));
        const Place place{1, 1};
        MANO_ASSIGN(arm_, draft_.arm(source_.arm.value_or(source_.stem), place));
        for (const Node& entry : list->items) {
            if (!entry.is(Node::Kind::map)) {
                return fail_at(draft_.file(), entry.place,
                               "{} among the benchmarks, expected a map", name_of(entry.kind));
            }
            if (!is_aggregate(entry)) MANO_TRY(read_run(entry));
        }
        for (const Node& entry : list->items) {
            if (is_aggregate(entry)) MANO_TRY(read_aggregate(entry));
        }
        MANO_TRY(flush_aggregates());
        note_context(root);
        return {};
    }

  private:
    Result<std::string> case_name(const Node& entry) {
        std::string name = text_of(entry, "run_name");
        if (name.empty()) name = text_of(entry, "name");
        if (name.empty()) {
            return fail_at(draft_.file(), entry.place, "a benchmark without \"name\"");
        }
        return name;
    }

    // Times to ns.
    Result<double> factor(const Node& entry) {
        const Node* const unit = entry.find("time_unit");
        if (unit == nullptr) return 1.0;
        constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
            {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
        for (const auto& [name, scale] : kUnits) {
            if (unit->is(Node::Kind::text) && unit->text == name) return scale;
        }
        return fail_at(draft_.file(), unit->place, "time_unit \"{}\", expected ns, us, ms or s",
                       unit->text);
    }

    Status read_run(const Node& entry) {
        draft_.outcomes_known();  // Where a benchmark fails, its entry says so.
        MANO_ASSIGN(const std::string name, case_name(entry));
        MANO_ASSIGN(const std::uint32_t in_case, draft_.case_(name, entry.place));
        with_runs_.insert(name);
        MANO_ASSIGN(const std::uint32_t trial,
                    draft_.trial(arm_, in_case, std::nullopt, entry.place));
        const Node* const error = entry.find("error_occurred");
        if (error != nullptr && error->is(Node::Kind::boolean) && error->boolean) {
            measure::TrialRecord& record = draft_.at(trial).record;
            record.ending = measure::Ending::probe_failed;
            record.evidence = "the benchmark says: " + text_of(entry, "error_message");
            return {};
        }
        if (const Node* const skipped = entry.find("skipped");
            skipped != nullptr && skipped->is(Node::Kind::boolean) && skipped->boolean) {
            measure::TrialRecord& record = draft_.at(trial).record;
            record.ending = measure::Ending::precondition_missing;
            record.evidence = "the benchmark skipped itself: " + text_of(entry, "skip_message");
            return {};
        }
        MANO_ASSIGN(const double scale, factor(entry));
        MANO_TRY(read_time(trial, entry, "real_time", "gbench.real_time_ns", kReal, scale));
        MANO_TRY(read_time(trial, entry, "cpu_time", "gbench.cpu_time_ns", kCpu, scale));
        return read_counters(trial, entry);
    }

    Status read_time(std::uint32_t trial, const Node& entry, std::string_view key,
                     std::string_view name, const ForeignMetric& what, double scale) {
        const Node* const found = entry.find(key);
        if (found == nullptr) return {};
        MANO_ASSIGN(const std::uint32_t metric, draft_.metric(name, what, found->place));
        std::optional<double> value;
        if (found->is(Node::Kind::number) && found->number >= 0) {
            value = found->number * scale;
        } else {
            draft_.lose(found->place,
                        fmt::format("\"{}\" is {}, expected a time", key,
                                    found->text.empty() ? name_of(found->kind) : found->text));
        }
        return draft_.value(trial, metric, value, found->place);
    }

    static ForeignMetric counter(std::string_view key) {
        const bool rate = key.ends_with("_per_second");
        ForeignMetric what;
        what.unit = rate ? "1/s" : "";
        what.kind = rate ? Kind::rate : Kind::gauge;
        what.better = rate ? Better::higher : Better::neither;
        what.meaning = "a counter of the benchmark";
        return what;
    }

    Status read_counters(std::uint32_t trial, const Node& entry) {
        for (const auto& [key, value] : entry.members) {
            if (kFields.contains(key) || !value.is(Node::Kind::number)) continue;
            MANO_ASSIGN(const std::uint32_t metric,
                        draft_.metric("gbench." + key, counter(key), value.place));
            MANO_TRY(draft_.value(trial, metric, value.number, value.place));
        }
        return {};
    }

    struct Aggregate {
        measure::Stated time, cpu;
        Place place;
    };

    Status read_aggregate(const Node& entry) {
        MANO_ASSIGN(const std::string name, case_name(entry));
        if (with_runs_.contains(name)) return {};  // computed from what is here
        const std::string kind = text_of(entry, "aggregate_name");
        if (kind != "mean" && kind != "median" && kind != "stddev" && kind != "cv") return {};
        Aggregate& into = aggregates_[name];
        if (into.place.line == 0) into.place = entry.place;
        MANO_ASSIGN(const double scale, factor(entry));
        MANO_TRY(fold(entry, "real_time", kind, scale, into.time));
        return fold(entry, "cpu_time", kind, scale, into.cpu);
    }

    Status fold(const Node& entry, std::string_view key, std::string_view kind, double scale,
                measure::Stated& into) {
        const Node* const found = entry.find(key);
        if (found == nullptr || !found->is(Node::Kind::number)) return {};
        if (const Node* const n = entry.find("repetitions");
            n != nullptr && n->is(Node::Kind::number) && n->number >= 1) {
            into.n = parse_whole(n->text);
        }
        if (kind == "mean") into.mean = found->number * scale;
        if (kind == "median") into.median = found->number * scale;
        // "cv" is the coefficient of variation; older files have only the deviation.
        if (kind == "cv") into.stddev_pct = 100 * found->number;
        if (kind == "stddev" && !into.stddev_pct && into.mean && *into.mean > 0) {
            into.stddev_pct = 100 * found->number * scale / *into.mean;
        }
        return {};
    }

    Status flush_aggregates() {
        for (const auto& [name, found] : aggregates_) {
            MANO_ASSIGN(const std::uint32_t in_case, draft_.case_(name, found.place));
            draft_.lose(found.place,
                        name + ": the repetitions aren't in the file, only their sums");
            MANO_ASSIGN(const std::uint32_t real,
                        draft_.metric("gbench.real_time_ns", kReal, found.place));
            MANO_TRY(draft_.stated(arm_, in_case, real, found.time, found.place));
            MANO_ASSIGN(const std::uint32_t cpu,
                        draft_.metric("gbench.cpu_time_ns", kCpu, found.place));
            MANO_TRY(draft_.stated(arm_, in_case, cpu, found.cpu, found.place));
        }
        return {};
    }

    void note_context(const Node& root) {
        const Node* const context = root.find("context");
        if (context == nullptr) return;
        const Node* const scaling = context->find("cpu_scaling_enabled");
        if (scaling != nullptr && scaling->is(Node::Kind::boolean) && scaling->boolean) {
            draft_.remark(draft_.file() + ": CPU frequency scaling was on");
        }
        if (text_of(*context, "library_build_type") == "debug") {
            draft_.remark(draft_.file() + ": the benchmark library was a debug build");
        }
    }

    const Source& source_;
    Draft& draft_;
    std::uint32_t arm_ = 0;
    std::set<std::string, std::less<>> with_runs_;
    std::map<std::string, Aggregate> aggregates_;
};

}  // namespace

Status read_google_benchmark(const Source& source, Draft& draft) {
    MANO_ASSIGN(const Node root, parse_json(source.text, source.file));
    return Reader(source, draft).run(root);
}

}  // namespace mano::interchange
