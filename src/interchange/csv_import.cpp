// SPDX-License-Identifier: GPL-2.0-or-later
// Records → trials: each field checked by itself, then against the rows before it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <unordered_map>

#include "interchange/csv_reader.h"
#include "interchange/importers.h"

namespace mano::interchange {
namespace {

enum Field : std::size_t { arm, case_, trial, seed, iteration, metric, unit, value, kind };
constexpr std::array<std::string_view, 9> kNames = {"arm",    "case", "trial", "seed", "iteration",
                                                    "metric", "unit", "value", "kind"};
// What a row can't do without; the rest is unknown where it has no column.
constexpr std::array kRequired = {metric, value};
constexpr std::string_view kHeader =
    "arm,case,trial,seed,iteration,metric,unit,value,kind, of which metric and value are required";

// A metric's rows in one trial: how many there are, and whether one is of the trial as a whole.
struct Extent {
    std::uint64_t line = 0;
    std::uint32_t iterations = 0;
    bool whole = false;
};

struct Key {
    std::uint32_t trial = 0, metric = 0;
    std::uint64_t iteration = 0;  // plus 1; 0: of the trial as a whole
    bool operator==(const Key&) const = default;
};
struct KeyHash {
    std::size_t operator()(const Key& key) const {
        std::uint64_t hash = (std::uint64_t{key.trial} << 32U) | key.metric;
        hash = (hash ^ key.iteration) * 0x9E3779B97F4A7C15ULL;
        return static_cast<std::size_t>(hash ^ (hash >> 29U));
    }
};

class Parser {
  public:
    Parser(const Source& source, Draft& draft)
        : reader_(source.text, source.file),
          source_(source),
          draft_(draft),
          options_(draft.options()) {}

    Status run() {
        MANO_TRY(read_header());
        MANO_TRY(check_size());
        std::uint64_t rows = 0;
        while (true) {
            MANO_ASSIGN(const std::optional<CsvRecord> record, reader_.next());
            if (!record) break;
            if (++rows > kMaxRows || draft_.rows() >= kMaxRows) {
                return fail(Code::hostile, "{}:{}: column 1: more than {} rows; split the file",
                            source_.file, record->line, kMaxRows);
            }
            MANO_TRY(read_row(*record));
            draft_.count_row();
        }
        if (rows == 0) return fail(Code::hostile, "{}: a header and no data", source_.file);
        return check_folding();
    }

  private:
    Status read_header();
    Status check_size() const;
    Status read_row(const CsvRecord& record);
    Result<std::uint32_t> read_trial(const CsvRecord& record);
    Result<std::uint32_t> next_trial(const CsvRecord& record, std::uint32_t in_arm,
                                     std::uint32_t in_case);
    Result<std::uint32_t> read_metric(const CsvRecord& record);
    Status check_metric(const CsvRecord& record, std::uint32_t number,
                        std::optional<measure::Kind> of_row);
    // What the catalogue or the experiment says of a metric.
    struct Known {
        bool of_ours = false;
        std::string unit;
        std::optional<measure::Kind> kind;
        std::string where;
    };
    const Known& known_of(std::uint32_t number);
    std::optional<measure::Kind> kind_of(std::uint32_t number);
    Status check_folding();

    template <typename Number>
    Result<std::optional<Number>> whole(const CsvRecord& record, Field field) const;
    Result<std::optional<double>> real(const CsvRecord& record) const;
    Result<std::string> name(const CsvRecord& record, Field field) const;

    const std::string& text(const CsvRecord& record, Field field) const {
        static const std::string kNothing;
        const std::optional<std::size_t>& column = columns_[field];
        return column ? record.fields[*column] : kNothing;
    }
    Place at(const CsvRecord& record, Field field) const {
        return {record.line, columns_[field].value_or(0) + 1};
    }
    // "results.csv:12: column 8 (value)"
    std::string place(std::uint64_t line, Field field) const {
        return fmt::format("{}:{}: column {} ({})", source_.file, line,
                           columns_[field].value_or(0) + 1, kNames[field]);
    }

    CsvReader reader_;
    const Source& source_;
    Draft& draft_;
    const ImportOptions& options_;
    std::array<std::optional<std::size_t>, kNames.size()> columns_;
    std::unordered_map<std::uint32_t, std::uint64_t> first_lines_;  // trial → line, of this file
    std::unordered_map<Key, std::uint64_t, KeyHash> lines_;
    std::unordered_map<Key, Extent, KeyHash> extents_;
    // Where no column numbers the trials: the trials that this file's rows made, by arm and case,
    // and how many rows each metric has there.
    struct Unnumbered {
        std::vector<std::uint32_t> trials;
        std::unordered_map<std::string, std::size_t> rows;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, Unnumbered> unnumbered_;
    std::vector<Known> known_;
};

Status Parser::read_header() {
    MANO_ASSIGN(const std::optional<CsvRecord> header, reader_.next());
    if (!header) {
        return fail(Code::hostile, "{}: the file is empty, expected a header with columns of {}",
                    source_.file, kHeader);
    }
    for (std::size_t i = 0; i < header->fields.size(); ++i) {
        const std::string& title = header->fields[i];
        const auto known = std::find(kNames.begin(), kNames.end(), title);
        if (known == kNames.end()) {
            const std::string near = measure::nearest_name(title, std::span(kNames));
            return fail(Code::hostile, "{}:1: column {}: \"{}\" is no column of this format{}",
                        source_.file, i + 1, title,
                        near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near));
        }
        auto& column = columns_[static_cast<std::size_t>(known - kNames.begin())];
        if (column) {
            return fail(Code::hostile, "{}:1: column {}: a second column \"{}\"", source_.file,
                        i + 1, title);
        }
        column = i;
    }
    for (const Field field : kRequired) {
        if (!columns_[field]) {
            return fail(Code::hostile,
                        "{}:1: no column \"{}\", expected a header with columns of {}",
                        source_.file, kNames[field], kHeader);
        }
    }
    for (const Field field : {iteration, seed}) {
        if (!columns_[field] || columns_[trial]) continue;
        return fail(Code::hostile, "{}:1: column {}: {} of what? There is no column \"trial\"",
                    source_.file, *columns_[field] + 1, kNames[field]);
    }
    return {};
}

// No name may hold a line break, so lines are rows: what is too large is refused before it costs
// minutes.
Status Parser::check_size() const {
    const auto breaks =
        static_cast<std::size_t>(std::count(source_.text.begin(), source_.text.end(), '\n'));
    if (breaks <= kMaxRows + 1) return {};
    return fail(Code::hostile, "{}:{}: column 1: more than {} rows; split the file", source_.file,
                kMaxRows + 2, kMaxRows);
}

template <typename Number>
Result<std::optional<Number>> Parser::whole(const CsvRecord& record, Field field) const {
    const std::string& digits = text(record, field);
    if (digits.empty()) return std::optional<Number>();
    Number number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || stop != end) {
        return fail(Code::hostile, "{}: \"{}\" isn't a whole number from 0 to {}",
                    place(record.line, field), digits, std::numeric_limits<Number>::max());
    }
    return std::optional(number);
}

Result<std::optional<double>> Parser::real(const CsvRecord& record) const {
    const std::string& digits = text(record, value);
    if (digits.empty()) return std::optional<double>();
    double number = 0;
    const char* end = digits.data() + digits.size();
    // from_chars reads the decimal point whatever the locale.
    const auto [stop, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || stop != end || !std::isfinite(number)) {
        const bool comma = digits.find(',') != std::string::npos;
        return fail(Code::hostile, "{}: \"{}\" isn't a finite number{}", place(record.line, value),
                    digits,
                    comma ? "; the decimal mark is a point, and there is none between thousands"
                          : "; leave the cell empty when the value is unknown");
    }
    return std::optional(number);
}

Result<std::string> Parser::name(const CsvRecord& record, Field field) const {
    const std::string& found = text(record, field);
    if (found.size() > kMaxNameBytes) {
        return fail(Code::hostile, "{}: a name of more than {} bytes", place(record.line, field),
                    kMaxNameBytes);
    }
    for (const char c : found) {
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
            return fail(Code::hostile, "{}: a control character in a name",
                        place(record.line, field));
        }
    }
    return found;
}

// The n-th row of an arm, case and metric belongs to the n-th trial that this file has of them.
Result<std::uint32_t> Parser::next_trial(const CsvRecord& record, std::uint32_t in_arm,
                                         std::uint32_t in_case) {
    Unnumbered& of = unnumbered_[{in_arm, in_case}];
    const std::size_t row = of.rows[text(record, metric)]++;
    if (row == of.trials.size()) {
        MANO_ASSIGN(const std::uint32_t index,
                    draft_.trial(in_arm, in_case, std::nullopt, at(record, metric)));
        of.trials.push_back(index);
    }
    return of.trials[row];
}

Result<std::uint32_t> Parser::read_trial(const CsvRecord& record) {
    MANO_ASSIGN(std::string arm_name, name(record, arm));
    MANO_ASSIGN(const std::string case_name, name(record, case_));
    MANO_ASSIGN(const std::optional<std::uint64_t> of_seed, whole<std::uint64_t>(record, seed));
    MANO_ASSIGN(const std::optional<std::uint32_t> number, whole<std::uint32_t>(record, trial));
    if (!number && columns_[trial]) {
        return fail(Code::hostile, "{}: empty, expected the trial's number",
                    place(record.line, trial));
    }
    if (arm_name.empty() && source_.arm) arm_name = *source_.arm;
    if (arm_name.empty()) {
        return fail(Code::hostile, "{}: empty; name the arm here, or for the whole file by --arm",
                    place(record.line, arm));
    }
    MANO_ASSIGN(const std::uint32_t in_arm, draft_.arm(arm_name, at(record, arm)));
    MANO_ASSIGN(const std::uint32_t in_case, draft_.case_(case_name, at(record, case_)));
    if (!number) return next_trial(record, in_arm, in_case);
    bool known = false;
    MANO_ASSIGN(const std::uint32_t index,
                draft_.trial(in_arm, in_case, number, at(record, trial), &known));
    const auto [first, fresh] = first_lines_.try_emplace(index, record.line);
    if (!known) {
        draft_.at(index).seed = of_seed;
    } else if (fresh) {
        return fail(Code::hostile, "{}: trial {} of arm {} is already in {}",
                    place(record.line, trial), *number, arm_name, draft_.file_of(index));
    } else if (draft_.at(index).seed != of_seed) {
        return fail(Code::hostile, "{}: the seed of this trial differs from that on line {}",
                    place(record.line, seed), first->second);
    }
    return index;
}

// One unit and one kind a metric, and those of the catalogue where it knows the metric: a file in
// milliseconds would otherwise become microseconds.
Status Parser::check_metric(const CsvRecord& record, std::uint32_t number,
                            std::optional<measure::Kind> of_row) {
    MetricNote& note = draft_.note(number);
    const std::string& name = draft_.metric_name(number);
    const std::string& of_unit = text(record, unit);
    if (note.line == 0) note.line = record.line;
    if (note.unit.empty()) note.unit = of_unit;
    if (!note.kind) note.kind = of_row;
    const Known& known = known_of(number);
    const std::string& known_unit = known.of_ours ? known.unit : note.unit;
    const std::optional<measure::Kind> known_kind = known.of_ours ? known.kind : note.kind;
    const auto where = [&] {
        return known.of_ours ? known.where : fmt::format("line {}", note.line);
    };
    if (!of_unit.empty() && of_unit != known_unit) {
        return fail(Code::hostile, "{}: {} is in \"{}\" here and in \"{}\" in {}",
                    place(record.line, unit), name, of_unit, known_unit, where());
    }
    if (of_row && of_row != known_kind) {
        return fail(Code::hostile, "{}: {} is a {} here and a {} in {}", place(record.line, kind),
                    name, name_of(*of_row), name_of(*known_kind), where());
    }
    return {};
}

Result<std::uint32_t> Parser::read_metric(const CsvRecord& record) {
    MANO_ASSIGN(const std::string found, name(record, metric));
    if (found.empty()) {
        return fail(Code::hostile, "{}: empty, expected a metric's name",
                    place(record.line, metric));
    }
    MANO_TRY(name(record, unit));
    const std::string& word = text(record, kind);
    const auto of_row = measure::kind_from(word);
    if (!word.empty() && !of_row) {
        return fail(Code::hostile,
                    "{}: \"{}\" is no kind, expected counter, gauge, max, min, ratio or rate",
                    place(record.line, kind), word);
    }
    MANO_ASSIGN(const std::uint32_t number, draft_.own_metric(found, at(record, metric)));
    MANO_TRY(check_metric(record, number, of_row));
    return number;
}

// Asked once a metric: a file may have millions of rows of few metrics.
const Parser::Known& Parser::known_of(std::uint32_t number) {
    while (known_.size() <= number) {
        const std::string& name = draft_.metric_name(static_cast<std::uint32_t>(known_.size()));
        Known known;
        if (const auto found = measure::find_metric(name)) {
            known = {true, found->unit, found->kind, "the catalogue"};
        }
        for (const plan::KeyMetric& key : options_.key_metrics) {
            if (key.metric.name != name) continue;
            known = {true, key.metric.unit, key.metric.kind, "the experiment"};
        }
        known_.push_back(std::move(known));
    }
    return known_[number];
}

std::optional<measure::Kind> Parser::kind_of(std::uint32_t number) {
    const Known& known = known_of(number);
    return known.of_ours ? known.kind : draft_.note(number).kind;
}

Status Parser::read_row(const CsvRecord& record) {
    const auto columns = static_cast<std::size_t>(std::count_if(
        columns_.begin(), columns_.end(), [](const auto& column) { return column.has_value(); }));
    if (record.fields.size() != columns) {
        return fail(Code::hostile, "{}:{}: column {}: the row has {} columns, the header {}",
                    source_.file, record.line, std::min(record.fields.size(), columns) + 1,
                    record.fields.size(), columns);
    }
    MANO_ASSIGN(const std::optional<std::uint32_t> of_iteration,
                whole<std::uint32_t>(record, iteration));
    MANO_ASSIGN(std::optional<double> of_value, real(record));
    MANO_ASSIGN(const std::uint32_t in_trial, read_trial(record));
    MANO_ASSIGN(const std::uint32_t of_metric, read_metric(record));
    const std::string& name = draft_.metric_name(of_metric);
    const Key key{in_trial, of_metric, of_iteration ? std::uint64_t{*of_iteration} + 1 : 0};
    const auto [first, fresh] = lines_.try_emplace(key, record.line);
    if (!fresh) {
        return fail(Code::hostile, "{}: {} of this trial and iteration is already on line {}",
                    place(record.line, metric), name, first->second);
    }
    Extent& extent = extents_[{in_trial, of_metric, 0}];
    extent.line = record.line;
    ++extent.iterations;
    extent.whole = extent.whole || !of_iteration;
    measure::TrialRecord& into = draft_.at(in_trial).record;
    if (name == kFailedMetric) {
        // An outcome, not a measurement: it is how the trial ended.
        if (of_value) draft_.outcomes_known();
        if (of_value.value_or(0) > 0) {
            into.ending = measure::Ending::probe_failed;
            into.evidence = "imported: the file says trial.failed = 1";
        }
        return {};
    }
    if (!of_value) {
        draft_.lose(at(record, value), name + " is unknown in this row");
    } else if (*of_value < 0 && kind_of(of_metric) == measure::Kind::counter) {
        draft_.lose(
            at(record, value),
            fmt::format("{} is a counter, and {:g} of it can't be: unknown", name, *of_value));
        of_value.reset();
    }
    return draft_.value(in_trial, of_metric, of_value, at(record, value), of_iteration);
}

// Several iterations of one trial and metric need a kind that says how they fold. The first fault
// of the file is reported, so that the same file always gives the same message.
Status Parser::check_folding() {
    const Extent* worst = nullptr;
    std::uint32_t of_metric = 0;
    const auto faulty = [&](const Key& key, const Extent& extent) {
        if (extent.iterations < 2) return false;
        const auto how = kind_of(key.metric);
        return extent.whole || !how || *how == measure::Kind::ratio || *how == measure::Kind::rate;
    };
    for (const auto& [key, extent] : extents_) {
        if (!faulty(key, extent) || (worst != nullptr && worst->line < extent.line)) continue;
        worst = &extent;
        of_metric = key.metric;
    }
    if (worst == nullptr) return {};
    const std::string& name = draft_.metric_name(of_metric);
    const std::string where = place(worst->line, iteration);
    if (worst->whole) {
        return fail(Code::hostile, "{}: {} has rows with and without an iteration in one trial",
                    where, name);
    }
    const auto how = kind_of(of_metric);
    if (!how) {
        return fail(Code::hostile,
                    "{}: {} has several iterations in one trial, and nothing says how they "
                    "fold; add the column kind with counter (sum), gauge (average) or max",
                    where, name);
    }
    return fail(Code::hostile,
                "{}: {} is a {}: several iterations of it can't be folded without what it "
                "was computed from; give one value a trial",
                where, name, name_of(*how));
}

}  // namespace

Status read_csv(const Source& source, Draft& draft) {
    return Parser(source, draft).run();
}

Result<Imported> import_csv(std::string_view text, const ImportOptions& options) {
    return import_text(*find_importer("csv"), text, options);
}

}  // namespace mano::interchange
