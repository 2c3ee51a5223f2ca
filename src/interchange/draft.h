// SPDX-License-Identifier: GPL-2.0-or-later
// What an importer fills while it reads: arms, cases, metrics, trials with their samples, and what
// couldn't be used. finish() makes the run set of it. Knows no file format. Only for this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "interchange/interchange.h"
#include "interchange/text.h"
#include "measure/stated.h"

namespace mano::interchange {

// Bounds for hostile files.
constexpr std::size_t kMaxRows = 4'000'000;
constexpr std::size_t kMaxArms = 64;
constexpr std::size_t kMaxCases = 1024;
constexpr std::size_t kMaxMetrics = 100'000;
constexpr std::size_t kMaxTrials = 1'000'000;
constexpr std::size_t kMaxNameBytes = 200;

// What a tool's metric is. A file's own words: the catalogue isn't asked (LKP's "vmstat.procs.r" is
// none of /proc/vmstat's counters).
struct ForeignMetric {
    std::string unit;  // "" unknown
    measure::Kind kind = measure::Kind::gauge;
    measure::Better better = measure::Better::neither;
    std::string meaning;
    bool key = false;  // what the tool is run for
};

// What a file in our own words says of a metric: unit and kind may be unknown.
struct MetricNote {
    std::uint64_t line = 0;  // first seen
    std::string unit;
    std::optional<measure::Kind> kind;
    std::optional<ForeignMetric> foreign;
};

struct DraftTrial {
    std::uint32_t arm = 0, case_ = 0, number = 0;
    std::optional<std::uint64_t> seed;
    measure::TrialRecord record;
    std::uint64_t unknown = 0;  // values of it that aren't known
};

class Draft {
  public:
    // `format`: the importer's name.
    Draft(std::string format, const ImportOptions& options);

    // Messages and losses name this file from now on.
    void begin_file(std::string file);
    const std::string& file() const { return file_; }
    const ImportOptions& options() const { return options_; }

    // The index of that name, new or known. Code::hostile: too many, too long, control characters.
    Result<std::uint32_t> arm(std::string_view name, Place place);
    Result<std::uint32_t> case_(std::string_view name, Place place);
    // Of a tool's own vocabulary; what the first call says of it stays.
    Result<std::uint32_t> metric(std::string_view name, const ForeignMetric& what, Place place);
    // Of ours: the note is the importer's to fill.
    Result<std::uint32_t> own_metric(std::string_view name, Place place);
    MetricNote& note(std::uint32_t metric) { return notes_[metric]; }
    const MetricNote& note(std::uint32_t metric) const { return notes_[metric]; }

    // The trial of that number, made when it isn't there. nullopt: the next free one of the cell.
    // The index; whether a trial was there before (from this file or an earlier one) is in `known`.
    Result<std::uint32_t> trial(std::uint32_t arm, std::uint32_t case_,
                                std::optional<std::uint32_t> number, Place place,
                                bool* known = nullptr);
    DraftTrial& at(std::uint32_t trial) { return trials_[trial]; }
    // The file that made the trial.
    const std::string& file_of(std::uint32_t trial) const { return files_[file_of_[trial]]; }

    // One value. A tool's own metric that stands twice in one trial: Code::hostile. nullopt is an
    // unknown one; say why with lose().
    Status value(std::uint32_t trial, std::uint32_t metric, std::optional<double> value,
                 Place place, std::optional<std::uint32_t> iteration = std::nullopt);
    // A number of many trials that the file doesn't hold, of an arm and case.
    Status stated(std::uint32_t arm, std::uint32_t case_, std::uint32_t metric,
                  const measure::Stated& stated, Place place);
    void fact(std::uint32_t trial, std::string key, std::string value);
    void lose(Place place, std::string meaning);
    void remark(std::string text) { remarks_.push_back(std::move(text)); }
    void add_trace(trace::LatencyTrace trace) { traces_.push_back(std::move(trace)); }
    // The file says of its trials whether they failed. Not called: unknown, unless one did.
    void outcomes_known() { outcomes_known_ = true; }
    void count_row() { ++rows_; }
    std::uint64_t rows() const { return rows_; }
    void set_rows(std::uint64_t rows) { rows_ = rows; }
    const std::string& metric_name(std::uint32_t metric) const { return metrics_[metric]; }

    // Nothing read at all: Code::hostile.
    Result<Imported> finish();

  private:
    using Index = std::map<std::string, std::uint32_t, std::less<>>;
    Result<std::uint32_t> intern(std::string_view name, std::vector<std::string>& names,
                                 Index& index, std::size_t most, std::string_view what,
                                 Place place);
    void fill_plan(plan::Plan& plan) const;
    void fill_trials(Imported& imported);

    std::string format_;
    ImportOptions options_;
    std::string file_;
    std::vector<std::string> files_;
    std::vector<std::string> arms_, cases_, metrics_;
    Index arm_index_, case_index_, metric_index_;
    std::vector<MetricNote> notes_;
    std::vector<DraftTrial> trials_;
    std::vector<std::size_t> file_of_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> trial_index_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> next_number_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> stand_ins_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> seen_;  // trial, metric → line
    std::vector<Lost> losses_;
    std::uint64_t lost_ = 0;
    std::uint64_t rows_ = 0;
    bool outcomes_known_ = false;
    std::vector<std::string> remarks_;
    std::vector<trace::LatencyTrace> traces_;
};

constexpr std::string_view kFailedMetric = "trial.failed";

// A file as it comes to an importer.
struct Source {
    std::string file;                // for messages
    std::optional<std::string> arm;  // given on the command line
    std::string stem;                // the file's name without folders and ending
    std::string text;
    // Of a folder's result tree, where the path says it.
    std::optional<std::string> case_;
    std::vector<measure::Fact> facts;
};

}  // namespace mano::interchange
