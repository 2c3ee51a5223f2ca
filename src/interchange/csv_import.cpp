// SPDX-License-Identifier: GPL-2.0-or-later
// Records → rows: each field checked by itself, then against the rows before it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "interchange/csv_reader.h"
#include "interchange/csv_rows.h"

namespace mano::interchange {
namespace {

enum Field : std::size_t { arm, case_, trial, seed, iteration, metric, unit, value, kind };
constexpr std::array<std::string_view, 9> kNames = {"arm",    "case", "trial", "seed", "iteration",
                                                    "metric", "unit", "value", "kind"};
constexpr std::size_t kRequired = 8;

constexpr std::size_t kMaxRows = 20'000'000;
constexpr std::size_t kMaxArms = 64;
constexpr std::size_t kMaxCases = 1024;
constexpr std::size_t kMaxMetrics = 100'000;
constexpr std::size_t kMaxNameBytes = 200;

class Parser {
  public:
    Parser(std::string_view text, const ImportOptions& options)
        : reader_(text, options.file), options_(options) {}

    Result<Rows> run() {
        MANO_TRY(read_header());
        while (true) {
            MANO_ASSIGN(const std::optional<CsvRecord> record, reader_.next());
            if (!record) break;
            MANO_ASSIGN(Row row, read_row(*record));
            MANO_TRY(check_against_others(row));
            rows_.rows.push_back(std::move(row));
            if (rows_.rows.size() > kMaxRows) {
                return fail(Code::hostile, "{}: more than {} rows", options_.file, kMaxRows);
            }
        }
        if (rows_.rows.empty()) {
            return fail(Code::hostile, "{}: a header and no data", options_.file);
        }
        MANO_TRY(check_folding());
        rows_.value_column = *columns_[value] + 1;
        return std::move(rows_);
    }

  private:
    Status read_header();
    Result<Row> read_row(const CsvRecord& record);
    Status check_against_others(const Row& row);
    Status check_metric(const Row& row);
    Status check_folding() const;

    template <typename Number>
    Result<std::optional<Number>> whole(const CsvRecord& record, Field field) const;
    Result<std::optional<double>> real(const CsvRecord& record) const;
    Result<std::string> name(const CsvRecord& record, Field field) const;

    const std::string& text(const CsvRecord& record, Field field) const {
        static const std::string kNothing;
        const std::optional<std::size_t>& column = columns_[field];
        return column ? record.fields[*column] : kNothing;
    }
    // "results.csv:12: column 8 (value)"
    std::string place(std::uint64_t line, Field field) const {
        return fmt::format("{}:{}: column {} ({})", options_.file, line,
                           columns_[field].value_or(0) + 1, kNames[field]);
    }

    CsvReader reader_;
    const ImportOptions& options_;
    std::array<std::optional<std::size_t>, kNames.size()> columns_;
    Rows rows_;
    std::set<std::string, std::less<>> seen_arms_, seen_cases_;
    using TrialKey = std::tuple<std::string, std::string, std::uint32_t>;  // arm, case, trial
    std::map<TrialKey, std::pair<std::optional<std::uint64_t>, std::uint64_t>> seeds_;  // and line
    std::map<std::tuple<TrialKey, std::string, std::optional<std::uint32_t>>, std::uint64_t> lines_;
};

Status Parser::read_header() {
    MANO_ASSIGN(const std::optional<CsvRecord> header, reader_.next());
    if (!header) {
        return fail(Code::hostile, "{}: the file is empty, expected the header {}", options_.file,
                    "arm,case,trial,seed,iteration,metric,unit,value");
    }
    for (std::size_t i = 0; i < header->fields.size(); ++i) {
        const std::string& title = header->fields[i];
        const auto known = std::find(kNames.begin(), kNames.end(), title);
        if (known == kNames.end()) {
            const std::string near = measure::nearest_name(title, std::span(kNames));
            return fail(Code::hostile, "{}:1: column {}: \"{}\" is no column of this format{}",
                        options_.file, i + 1, title,
                        near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near));
        }
        auto& column = columns_[static_cast<std::size_t>(known - kNames.begin())];
        if (column) {
            return fail(Code::hostile, "{}:1: column {}: a second column \"{}\"", options_.file,
                        i + 1, title);
        }
        column = i;
    }
    for (std::size_t i = 0; i < kRequired; ++i) {
        if (!columns_[i]) {
            return fail(Code::hostile,
                        "{}:1: no column \"{}\", expected the header "
                        "arm,case,trial,seed,iteration,metric,unit,value[,kind]",
                        options_.file, kNames[i]);
        }
    }
    return {};
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

Result<Row> Parser::read_row(const CsvRecord& record) {
    std::size_t columns = 0;
    for (const auto& column : columns_)
        columns += column ? 1 : 0;
    if (record.fields.size() != columns) {
        return fail(Code::hostile, "{}:{}: column {}: the row has {} columns, the header {}",
                    options_.file, record.line, std::min(record.fields.size(), columns) + 1,
                    record.fields.size(), columns);
    }
    Row row;
    row.line = record.line;
    MANO_ASSIGN(row.arm, name(record, arm));
    MANO_ASSIGN(row.case_, name(record, case_));
    MANO_ASSIGN(row.metric, name(record, metric));
    MANO_ASSIGN(row.unit, name(record, unit));
    MANO_ASSIGN(row.seed, whole<std::uint64_t>(record, seed));
    MANO_ASSIGN(row.iteration, whole<std::uint32_t>(record, iteration));
    MANO_ASSIGN(row.value, real(record));
    MANO_ASSIGN(const std::optional<std::uint32_t> number, whole<std::uint32_t>(record, trial));
    if (!number) {
        return fail(Code::hostile, "{}: empty, expected the trial's number",
                    place(record.line, trial));
    }
    row.trial = *number;
    if (row.arm.empty() && options_.arm) row.arm = *options_.arm;
    if (row.arm.empty()) {
        return fail(Code::hostile, "{}: empty; name the arm here, or for the whole file by --arm",
                    place(record.line, arm));
    }
    if (row.metric.empty()) {
        return fail(Code::hostile, "{}: empty, expected a metric's name",
                    place(record.line, metric));
    }
    const std::string& word = text(record, kind);
    row.kind = measure::kind_from(word);
    if (!word.empty() && !row.kind) {
        return fail(Code::hostile,
                    "{}: \"{}\" is no kind, expected counter, gauge, max, ratio or rate",
                    place(record.line, kind), word);
    }
    return row;
}

// One unit and one kind a metric, and those of the catalogue where it knows the metric: a file in
// milliseconds would otherwise become microseconds.
Status Parser::check_metric(const Row& row) {
    const auto [found, added] =
        rows_.notes.try_emplace(row.metric, MetricNote{row.line, row.unit, row.kind});
    MetricNote& note = found->second;
    if (added) {
        rows_.metrics.push_back(row.metric);
        if (rows_.metrics.size() > kMaxMetrics) {
            return fail(Code::hostile, "{}: more than {} metrics", place(row.line, metric),
                        kMaxMetrics);
        }
    }
    if (note.unit.empty()) note.unit = row.unit;
    if (!note.kind) note.kind = row.kind;
    std::string known_unit = note.unit;
    std::optional<measure::Kind> known_kind = note.kind;
    std::string where = fmt::format("line {}", note.line);
    if (const auto known = measure::find_metric(row.metric)) {
        known_unit = known->unit;
        known_kind = known->kind;
        where = "the catalogue";
    }
    for (const plan::KeyMetric& key : options_.key_metrics) {
        if (key.metric.name != row.metric) continue;
        known_unit = key.metric.unit;
        known_kind = key.metric.kind;
        where = "the experiment";
    }
    if (!row.unit.empty() && row.unit != known_unit) {
        return fail(Code::hostile, "{}: {} is in \"{}\" here and in \"{}\" in {}",
                    place(row.line, unit), row.metric, row.unit, known_unit, where);
    }
    if (row.kind && row.kind != known_kind) {
        return fail(Code::hostile, "{}: {} is a {} here and a {} in {}", place(row.line, kind),
                    row.metric, name_of(*row.kind), name_of(*known_kind), where);
    }
    return {};
}

Status Parser::check_against_others(const Row& row) {
    MANO_TRY(check_metric(row));
    if (seen_arms_.insert(row.arm).second) rows_.arms.push_back(row.arm);
    if (seen_cases_.insert(row.case_).second) rows_.cases.push_back(row.case_);
    if (rows_.arms.size() > kMaxArms) {
        return fail(Code::hostile, "{}: more than {} arms", place(row.line, arm), kMaxArms);
    }
    if (rows_.cases.size() > kMaxCases) {
        return fail(Code::hostile, "{}: more than {} cases", place(row.line, case_), kMaxCases);
    }
    const TrialKey key{row.arm, row.case_, row.trial};
    const auto [first_seed, new_trial] = seeds_.try_emplace(key, row.seed, row.line);
    if (!new_trial && first_seed->second.first != row.seed) {
        return fail(Code::hostile, "{}: the seed of this trial differs from that on line {}",
                    place(row.line, seed), first_seed->second.second);
    }
    const auto [first, fresh] = lines_.try_emplace({key, row.metric, row.iteration}, row.line);
    if (!fresh) {
        return fail(Code::hostile, "{}: {} of this trial and iteration is already on line {}",
                    place(row.line, metric), row.metric, first->second);
    }
    return {};
}

// Several iterations of one trial and metric need a kind that says how they fold.
Status Parser::check_folding() const {
    struct Extent {
        std::uint64_t line = 0;
        std::size_t iterations = 0;
        bool whole = false;
    };
    std::map<std::pair<TrialKey, std::string>, Extent> extents;
    for (const auto& [key, line] : lines_) {
        const auto& [trial_key, name, number] = key;
        Extent& extent = extents[{trial_key, name}];
        extent.line = std::max(extent.line, line);
        ++extent.iterations;
        extent.whole = extent.whole || !number;
    }
    for (const auto& [key, extent] : extents) {
        if (extent.iterations < 2) continue;
        const std::string& name = key.second;
        if (extent.whole) {
            return fail(Code::hostile, "{}: {} has rows with and without an iteration in one trial",
                        place(extent.line, iteration), name);
        }
        std::optional<measure::Kind> how = rows_.notes.at(name).kind;
        if (const auto known = measure::find_metric(name)) how = known->kind;
        for (const plan::KeyMetric& each : options_.key_metrics) {
            if (each.metric.name == name) how = each.metric.kind;
        }
        if (!how) {
            return fail(Code::hostile,
                        "{}: {} has several iterations in one trial, and nothing says how they "
                        "fold; add the column kind with counter (sum), gauge (average) or max",
                        place(extent.line, iteration), name);
        }
        if (*how == measure::Kind::ratio || *how == measure::Kind::rate) {
            return fail(Code::hostile,
                        "{}: {} is a {}: several iterations of it can't be folded without what it "
                        "was computed from; give one value a trial",
                        place(extent.line, iteration), name, name_of(*how));
        }
    }
    return {};
}

}  // namespace

Result<Imported> import_csv(std::string_view text, const ImportOptions& options) {
    MANO_ASSIGN(Rows rows, Parser(text, options).run());
    return make_imported(std::move(rows), options);
}

}  // namespace mano::interchange
