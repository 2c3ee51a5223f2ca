// SPDX-License-Identifier: GPL-2.0-or-later
// perf stat's three outputs. A file is one trial; with -r it is a mean over runs that aren't in it.
// What perf didn't or couldn't count is a loss, and so is what it counted for a part of the time
// only and scaled up.
#include <algorithm>
#include <cmath>

#include "interchange/document.h"
#include "interchange/importers.h"

namespace mano::interchange {
namespace {

using measure::Better;
using measure::Kind;

// One event as any of the three formats gives it.
struct Event {
    std::string name, unit;
    std::optional<double> value;
    std::string missing;                // "<not counted>"
    std::optional<double> spread_pct;   // of the mean of -r, in %
    std::optional<double> running_pct;  // below 100: scaled up
    Place place;
};

ForeignMetric describe(const Event& event) {
    ForeignMetric what;
    what.key = true;
    what.kind = Kind::counter;
    what.better = Better::neither;
    what.unit = event.unit.empty() ? "count" : event.unit;
    what.meaning = "counted by perf stat";
    if (what.unit == "msec" || what.unit == "s") what.better = Better::lower;
    if (what.unit == "msec") what.unit = "ms";
    if (what.unit != "count" && what.unit != "ms" && what.unit != "s") what.kind = Kind::gauge;
    return what;
}

class Writer {
  public:
    Writer(const Source& source, Draft& draft) : source_(source), draft_(draft) {}

    void set_runs(std::uint64_t runs) { runs_ = runs; }

    Status add(const Event& event) {
        if (!ready_) MANO_TRY(start(event.place));
        MANO_ASSIGN(const std::uint32_t metric,
                    draft_.metric("perf-stat." + event.name, describe(event), event.place));
        std::optional<double> value = event.value;
        if (!value) {
            draft_.lose(event.place, event.name + ": " + event.missing);
        } else if (*value < 0) {
            draft_.lose(event.place, fmt::format("{}: {:g} of it can't be counted: unknown",
                                                 event.name, *value));
            value.reset();
        }
        constexpr double kWhole = 99.995;  // as perf prints 100.00
        if (value && event.running_pct && *event.running_pct < kWhole) {
            draft_.lose(event.place,
                        fmt::format("{} was counted for {:.2f}% of the time and scaled up: an "
                                    "estimate",
                                    event.name, *event.running_pct));
        }
        if (!runs_ && !event.spread_pct) {
            MANO_ASSIGN(const std::uint32_t trial, this->trial(event.place));
            return draft_.value(trial, metric, value, event.place);
        }
        if (!value) return {};
        measure::Stated stated;
        stated.n = runs_;
        stated.mean = value;
        // perf prints the standard deviation of the mean: that of the runs is √n times as large.
        if (runs_ && event.spread_pct) {
            stated.stddev_pct = *event.spread_pct * std::sqrt(static_cast<double>(*runs_));
        }
        return draft_.stated(arm_, case_, metric, stated, event.place);
    }

    bool any() const { return ready_; }

  private:
    Status start(Place place) {
        ready_ = true;
        MANO_ASSIGN(arm_, draft_.arm(source_.arm.value_or(source_.stem), place));
        MANO_ASSIGN(case_, draft_.case_("", place));
        return {};
    }
    Result<std::uint32_t> trial(Place place) {
        if (!trial_) {
            MANO_ASSIGN(trial_, draft_.trial(arm_, case_, std::nullopt, place));
        }
        return *trial_;
    }

    const Source& source_;
    Draft& draft_;
    bool ready_ = false;
    std::optional<std::uint64_t> runs_;
    std::optional<std::uint32_t> trial_;
    std::uint32_t arm_ = 0, case_ = 0;
};

bool is_missing(std::string_view text) {
    return text == "<not counted>" || text == "<not supported>";
}

// --- -j: one object a line ---

class JsonReader {
  public:
    JsonReader(const Source& source, Writer& writer) : source_(source), writer_(writer) {}

    Status read_line(const TextLine& line) {
        auto parsed = parse_json(line.text, source_.file);
        if (!parsed) {
            // It speaks of line 1 of its own text.
            const std::string& said = parsed.error().message;
            const std::string prefix = source_.file + ":1:";
            return fail(Code::hostile, "{}:{}:{}", source_.file, line.number,
                        said.starts_with(prefix) ? said.substr(prefix.size()) : said);
        }
        if (parsed->find("interval") != nullptr || parsed->find("cpu") != nullptr ||
            parsed->find("core") != nullptr || parsed->find("socket") != nullptr) {
            return fail_at(
                source_.file, {line.number, 1},
                "counts by interval or CPU (-I, -A): not read here; leave the option out");
        }
        const Node* const name = parsed->find("event");
        if (name == nullptr || name->text.empty()) {
            // A metric of a group stands on a line of its own, without an event.
            if (parsed->find("metric-value") != nullptr) return {};
            return fail_at(source_.file, {line.number, 1}, "no \"event\" in this line");
        }
        Event event;
        event.name = name->text;
        event.place = {line.number, name->place.column};
        if (const Node* const unit = parsed->find("unit"); unit != nullptr) event.unit = unit->text;
        MANO_TRY(read_value(*parsed, event, line));
        event.spread_pct = number(*parsed, "variance");
        event.running_pct = number(*parsed, "pcnt-running");
        return writer_.add(event);
    }

  private:
    static std::optional<double> number(const Node& map, std::string_view key) {
        const Node* const found = map.find(key);
        if (found == nullptr || !found->is(Node::Kind::number)) return std::nullopt;
        return found->number;
    }

    Status read_value(const Node& map, Event& event, const TextLine& line) {
        const Node* const value = map.find("counter-value");
        if (value == nullptr) {
            return fail_at(source_.file, {line.number, 1}, "no \"counter-value\" in this line");
        }
        event.place.column = value->place.column;
        event.value =
            value->is(Node::Kind::number) ? std::optional(value->number) : parse_real(value->text);
        if (event.value) return {};
        if (!is_missing(value->text)) {
            return fail_at(source_.file, event.place,
                           "the value of {} is \"{}\", expected a number or <not counted>",
                           event.name, value->text);
        }
        event.missing = value->text;
        return {};
    }

    const Source& source_;
    Writer& writer_;
};

// --- -x: value, unit, event, [spread of -r,] time counted, share counted, … ---

class FieldReader {
  public:
    FieldReader(const Source& source, Writer& writer, char separator)
        : source_(source), writer_(writer), separator_(separator) {}

    Status read_line(const TextLine& line) {
        std::vector<Word> fields;
        std::size_t at = 0;
        while (at <= line.text.size()) {
            const std::size_t end = std::min(line.text.find(separator_, at), line.text.size());
            fields.push_back({line.text.substr(at, end - at), at + 1});
            at = end + 1;
        }
        constexpr std::size_t kFewest = 5;
        if (fields.size() < kFewest) {
            return fail_at(source_.file, {line.number, 1},
                           "{} fields, expected value, unit, event, time and share counted (is the "
                           "line cut off?)",
                           fields.size());
        }
        // A metric of the line above: only its last two fields are filled.
        if (fields[0].text.empty() && fields[2].text.empty()) return {};
        Event event;
        event.name = fields[2].text;
        event.unit = fields[1].text;
        event.place = {line.number, fields[0].column};
        event.value = parse_real(fields[0].text);
        if (!event.value) {
            if (!is_missing(fields[0].text)) return not_a_value(line, fields[0]);
            event.missing = fields[0].text;
        }
        if (event.name.empty()) {
            return fail_at(source_.file, {line.number, fields[2].column}, "no event's name here");
        }
        std::size_t next = 3;
        if (fields[next].text.ends_with('%')) {
            std::string_view spread = fields[next].text;
            spread.remove_suffix(1);
            event.spread_pct = parse_real(spread);
            ++next;
        }
        if (next + 1 < fields.size()) event.running_pct = parse_real(fields[next + 1].text);
        return writer_.add(event);
    }

  private:
    tl::unexpected<Error> not_a_value(const TextLine& line, const Word& field) {
        const bool interval = field.text.find('.') != std::string_view::npos ||
                              field.text.starts_with("CPU") || field.text.starts_with('S');
        return fail_at(source_.file, {line.number, field.column},
                       "\"{}\" isn't a number or <not counted>{}", field.text,
                       interval ? "; counts by interval or CPU (-I, -A) aren't read here" : "");
    }

    const Source& source_;
    Writer& writer_;
    char separator_;
};

// --- text ---

class TextReader {
  public:
    TextReader(const Source& source, Draft& draft, Writer& writer)
        : source_(source), draft_(draft), writer_(writer) {}

    Status run(const std::vector<TextLine>& lines) {
        find_decimal_mark(lines);
        bool counting = false;
        for (const TextLine& line : lines) {
            const std::string_view text = trim(line.text);
            if (text.starts_with("Performance counter stats for")) {
                if (counting) {
                    return fail_at(source_.file, {line.number, 1},
                                   "a second run of perf stat; give each a file of its own");
                }
                counting = true;
                MANO_TRY(read_title(line, text));
                continue;
            }
            if (!counting || text.empty() || text.starts_with('#')) continue;
            MANO_TRY(read_line(line));
        }
        if (counting && !elapsed_) {
            draft_.lose({lines.size(), 1},
                        "no line \"seconds time elapsed\" at the end: the file may be cut off");
        }
        if (!counting) {
            return fail_at(
                source_.file, {1, 1},
                "no \"Performance counter stats for\" in it, expected perf stat's output");
        }
        return {};
    }

  private:
    // "1.001061436 seconds time elapsed" has nine decimals: its last mark is the decimal one. The
    // marks between thousands depend on the locale that perf ran in.
    void find_decimal_mark(const std::vector<TextLine>& lines) {
        for (const TextLine& line : lines) {
            const std::size_t title = line.text.find("seconds time elapsed");
            if (title == std::string_view::npos) continue;
            const std::vector<Word> words = split_words(line.text.substr(0, title));
            if (words.empty()) continue;
            const std::size_t mark = words.front().text.find_last_of(".,");
            if (mark != std::string_view::npos) decimal_ = words.front().text[mark];
        }
    }

    // " … for 'sleep 0.01' (3 runs):"
    Status read_title(const TextLine& line, std::string_view text) {
        const std::size_t open = text.rfind('(');
        if (open == std::string_view::npos || !text.ends_with(" runs):")) return {};
        const std::vector<Word> words = split_words(text.substr(open + 1));
        const auto runs = words.empty() ? std::nullopt : parse_whole(words.front().text);
        if (!runs || *runs == 0) {
            return fail_at(source_.file, {line.number, open + 1}, "no number of runs here");
        }
        writer_.set_runs(*runs);
        return {};
    }

    // "1.234.567", "1,234,567", "1 234,5" (a narrow blank) → a number; nullopt: it isn't one, or
    // could be two.
    std::optional<double> number(std::string_view text) const {
        std::string marked(text);
        for (const std::string_view blank : {"\xE2\x80\xAF", "\xC2\xA0"}) {
            for (std::size_t at = 0; (at = marked.find(blank)) != std::string::npos;)
                marked.replace(at, blank.size(), "'");
        }
        std::string plain;
        std::size_t digits = 0;  // since the last mark
        std::size_t groups = 0;
        bool fraction = false;
        for (const char c : marked) {
            if ((c >= '0' && c <= '9') || (c == '-' && plain.empty())) {
                plain += c;
                digits += c == '-' ? 0 : 1;
                continue;
            }
            const bool good = groups == 0
                                  ? digits >= 1 && (digits <= 3 || c == decimal_.value_or('.'))
                                  : digits == 3;
            if (fraction || !good) return std::nullopt;
            fraction = c == decimal_.value_or('.');
            if (!fraction && c != ',' && c != '.' && c != '\'') return std::nullopt;
            groups += fraction ? 0 : 1;
            if (fraction) plain += '.';
            digits = 0;
        }
        if (groups > 0 && !fraction && digits != 3) return std::nullopt;
        // Without the line that tells, "1,234" may be 1234 or 1.234; "1,234,567" may not.
        if (!decimal_ && (groups == 1 || (groups > 0 && fraction))) return std::nullopt;
        return parse_real(plain);
    }

    Status read_line(const TextLine& line) {
        const std::size_t comment = std::min(line.text.find('#'), line.text.size());
        std::vector<Word> words = split_words(line.text.substr(0, comment));
        if (words.empty()) return {};
        if (const std::size_t title = line.text.find("seconds");
            title != std::string_view::npos && is_time_line(line.text)) {
            return read_time(line, words);
        }
        Event event;
        event.place = {line.number, words.front().column};
        std::size_t next = 1;
        if (words.front().text == "<not" && words.size() > 2) {
            event.missing = fmt::format("{} {}", words[0].text, words[1].text);
            if (!is_missing(event.missing)) return unreadable(line, words.front());
            next = 2;
        } else {
            event.value = number(words.front().text);
            if (!event.value) return unreadable(line, words.front());
        }
        // The unit, where there is one, stands before the event: "msec task-clock", "Joules
        // power/…".
        if (next < words.size() && is_unit(words[next].text, words.size() - next)) {
            event.unit = words[next++].text;
        }
        if (next >= words.size()) {
            return fail_at(source_.file, {line.number, words.back().column},
                           "a count without the name of an event (is the line cut off?)");
        }
        event.name = words[next].text;
        MANO_TRY(read_rest(line, event));
        return writer_.add(event);
    }

    static bool is_time_line(std::string_view text) {
        return text.find("seconds time elapsed") != std::string_view::npos ||
               trim(text).ends_with("seconds user") || trim(text).ends_with("seconds sys");
    }

    static bool is_unit(std::string_view word, std::size_t left) {
        return left > 1 && !word.starts_with('(') &&
               (word == "msec" || word == "ns" || word == "Joules" || word == "MiB" ||
                word == "Bytes" || word == "%" || word == "C" || word == "W");
    }

    // "( +-  1.37% )" and "(45.00%)" behind the event.
    Status read_rest(const TextLine& line, Event& event) {
        std::string_view rest = line.text;
        if (const std::size_t spread = rest.find("+-"); spread != std::string_view::npos) {
            const std::vector<Word> words = split_words(rest.substr(spread + 2));
            std::string_view word = words.empty() ? "" : words.front().text;
            if (word.ends_with('%')) word.remove_suffix(1);
            event.spread_pct = number(word);
            if (!event.spread_pct) {
                return fail_at(source_.file, {line.number, spread + 1},
                               "no percentage after \"+-\"");
            }
        }
        const std::size_t open = rest.rfind('(');
        if (open == std::string_view::npos) return {};
        std::string_view word = rest.substr(open + 1);
        word = word.substr(0, word.find(')'));
        if (!word.ends_with('%') || word.find("+-") != std::string_view::npos) return {};
        word.remove_suffix(1);
        event.running_pct = number(trim(word));
        return {};
    }

    // "0.045839892 seconds time elapsed", "0.01473 +- 0.00258 seconds time elapsed  ( +- 17.48% )"
    Status read_time(const TextLine& line, const std::vector<Word>& words) {
        Event event;
        event.place = {line.number, words.front().column};
        event.unit = "s";
        const bool elapsed = line.text.find("time elapsed") != std::string_view::npos;
        elapsed_ = elapsed_ || elapsed;
        event.name = elapsed ? "elapsed_s" : trim(line.text).ends_with("user") ? "user_s" : "sys_s";
        event.value = number(words.front().text);
        if (!event.value) return unreadable(line, words.front());
        if (line.text.find('(') != std::string_view::npos) {
            const std::size_t spread = line.text.rfind("+-");
            const std::vector<Word> after = split_words(line.text.substr(spread + 2));
            if (spread != std::string_view::npos && !after.empty() &&
                after.front().text.ends_with('%')) {
                std::string_view word = after.front().text;
                word.remove_suffix(1);
                event.spread_pct = number(word);
            }
        }
        return writer_.add(event);
    }

    tl::unexpected<Error> unreadable(const TextLine& line, const Word& word) const {
        return fail_at(source_.file, {line.number, word.column}, "\"{}\" isn't a count{}",
                       word.text,
                       decimal_ ? ""
                                : "; without the line \"seconds time elapsed\" a mark between "
                                  "thousands can't be told from a decimal one");
    }

    const Source& source_;
    Draft& draft_;
    Writer& writer_;
    std::optional<char> decimal_;
    bool elapsed_ = false;
};

// The separator of -x, from the first line of counts: the sign after the value, where the fourth
// field or so is an event. A comma is what people use.
std::optional<char> find_separator(std::string_view line) {
    std::size_t at = line.find_first_not_of("0123456789.-");
    if (line.starts_with("<not")) {
        const std::size_t close = line.find('>');
        at = close == std::string_view::npos ? close : close + 1;
    }
    if (at == std::string_view::npos || at == 0) return std::nullopt;
    const char separator = line[at];
    constexpr std::string_view kUsual = ",;:|\t";
    if (kUsual.find(separator) == std::string_view::npos) return std::nullopt;
    return std::count(line.begin(), line.end(), separator) >= 4 ? std::optional(separator)
                                                                : std::nullopt;
}

}  // namespace

Status read_perf_stat(const Source& source, Draft& draft) {
    constexpr std::size_t kMaxLines = 1'000'000;
    MANO_ASSIGN(const std::vector<TextLine> lines,
                split_lines(source.text, source.file, kMaxLines));
    const auto first = std::find_if(lines.begin(), lines.end(), [](const TextLine& line) {
        const std::string_view text = trim(line.text);
        return !text.empty() && !text.starts_with('#');
    });
    if (first == lines.end()) {
        return fail_at(source.file, {1, 1}, "no count in it, expected perf stat's output");
    }
    Writer writer(source, draft);
    const auto each = [&](auto&& read) -> Status {
        for (const TextLine& line : lines) {
            const std::string_view text = trim(line.text);
            if (text.empty() || text.starts_with('#')) continue;
            MANO_TRY(read(line));
        }
        return {};
    };
    if (trim(first->text).starts_with('{')) {
        JsonReader reader(source, writer);
        MANO_TRY(each([&](const TextLine& line) { return reader.read_line(line); }));
    } else if (const auto separator = find_separator(first->text)) {
        FieldReader reader(source, writer, *separator);
        MANO_TRY(each([&](const TextLine& line) { return reader.read_line(line); }));
    } else {
        MANO_TRY(TextReader(source, draft, writer).run(lines));
    }
    if (!writer.any()) {
        return fail_at(source.file, {lines.size(), 1},
                       "no count in it, expected perf stat's output");
    }
    return {};
}

}  // namespace mano::interchange
