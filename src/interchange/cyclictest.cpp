// SPDX-License-Identifier: GPL-2.0-or-later
// cyclictest's three outputs: JSON, histogram (-h) and the lines of -q. One file is one trial; the
// threads' histograms are added up, since a latency anywhere is a latency.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "interchange/document.h"
#include "interchange/importers.h"

namespace mano::interchange {
namespace {

using measure::Better;
using measure::Kind;

constexpr double kUsPerNs = 1e-3;

// What one file says of all its threads, in µs.
struct Latencies {
    std::optional<double> minimum, maximum;
    double weighted = 0;  // average times cycles, summed
    double cycles = 0;
    bool average = true;  // every thread gave its average and cycles
    bool any_thread = false;
    std::map<double, double> histogram;
    double overflows = 0;  // latencies too long for the histogram
    Place histogram_place;

    void thread(std::optional<double> least, std::optional<double> avg, std::optional<double> most,
                std::optional<double> count) {
        any_thread = true;
        if (least) minimum = std::min(minimum.value_or(*least), *least);
        if (most) maximum = std::max(maximum.value_or(*most), *most);
        if (avg && count && *count > 0) {
            weighted += *avg * *count;
            cycles += *count;
        } else {
            average = false;
        }
    }
};

struct Quantile {
    std::string_view name;
    double share;
};
constexpr std::array<Quantile, 4> kQuantiles{
    {{"p50_us", 0.5}, {"p99_us", 0.99}, {"p99.9_us", 0.999}, {"p99.99_us", 0.9999}}};

// The bucket that holds the quantile; nullopt: it lies among the overflows, whose size isn't known.
std::optional<double> quantile(const Latencies& all, double share) {
    double total = all.overflows;
    for (const auto& [bucket, count] : all.histogram)
        total += count;
    const double wanted = std::max(1.0, std::ceil(share * total));
    double seen = 0;
    for (const auto& [bucket, count] : all.histogram) {
        seen += count;
        if (seen >= wanted) return bucket;
    }
    return std::nullopt;
}

class Writer {
  public:
    Writer(Draft& draft, std::uint32_t trial, Place place)
        : draft_(draft), trial_(trial), place_(place) {}

    Status write(const Latencies& all) {
        MANO_TRY(value("max_us", "us", Kind::max, Better::lower, true,
                       "the longest wake-up latency of any thread", all.maximum));
        std::optional<double> average;
        if (all.average && all.cycles > 0) average = all.weighted / all.cycles;
        MANO_TRY(value("avg_us", "us", Kind::gauge, Better::lower, false,
                       "mean wake-up latency over all threads", average));
        MANO_TRY(value("min_us", "us", Kind::gauge, Better::neither, false,
                       "the shortest wake-up latency of any thread", all.minimum));
        if (all.cycles > 0) {
            MANO_TRY(value("cycles", "count", Kind::counter, Better::neither, false,
                           "wake-ups measured", all.cycles));
        }
        if (all.histogram.empty()) return {};
        place_ = all.histogram_place;
        for (const Quantile& each : kQuantiles) {
            MANO_TRY(value(each.name, "us", Kind::gauge, Better::lower, false,
                           "quantile of all threads' histograms, in their buckets",
                           quantile(all, each.share)));
        }
        if (all.overflows > 0) {
            draft_.lose(place_,
                        fmt::format("{:.0f} latencies were longer than the histogram: their sizes "
                                    "aren't known (max is)",
                                    all.overflows));
        }
        return {};
    }

  private:
    Status value(std::string_view name, std::string_view unit, Kind kind, Better better, bool key,
                 std::string_view meaning, std::optional<double> number) {
        const ForeignMetric what{std::string(unit), kind, better, std::string(meaning), key};
        MANO_ASSIGN(const std::uint32_t metric,
                    draft_.metric("cyclictest." + std::string(name), what, place_));
        if (!number) {
            draft_.lose(place_, fmt::format("cyclictest.{} can't be known from this file", name));
        }
        return draft_.value(trial_, metric, number, place_);
    }

    Draft& draft_;
    std::uint32_t trial_;
    Place place_;
};

Result<std::uint32_t> new_trial(const Source& source, Draft& draft, const std::string& arm) {
    const Place place{1, 1};
    MANO_ASSIGN(const std::uint32_t in_arm, draft.arm(source.arm.value_or(arm), place));
    MANO_ASSIGN(const std::uint32_t in_case, draft.case_("", place));
    return draft.trial(in_arm, in_case, std::nullopt, place);
}

// --- JSON ---

class JsonReader {
  public:
    JsonReader(const Source& source, Draft& draft) : source_(source), draft_(draft) {}

    Status run() {
        MANO_ASSIGN(const Node root, parse_json(source_.text, source_.file));
        MANO_ASSIGN(const Node* const threads,
                    expect(root, "thread", Node::Kind::map, source_.file));
        if (threads->members.empty()) {
            return fail_at(source_.file, threads->place,
                           "\"thread\" is empty: nothing was measured");
        }
        const Node* const resolution = root.find("resolution_in_ns");
        if (resolution != nullptr && resolution->is(Node::Kind::number) &&
            resolution->number != 0) {
            scale_ = kUsPerNs;
        }
        const Node* const info = root.find("sysinfo");
        const Node* const release = info == nullptr ? nullptr : info->find("release");
        const bool known = release != nullptr && !release->text.empty();
        MANO_ASSIGN(trial_, new_trial(source_, draft_, known ? release->text : source_.stem));
        if (known) draft_.fact(trial_, "kernel.release", release->text);
        note_realtime(info);
        Latencies all;
        for (const auto& [name, thread] : threads->members)
            MANO_TRY(read_thread(thread, all));
        const Node* const code = root.find("return_code");
        if (code != nullptr && code->is(Node::Kind::number) && code->number != 0) {
            draft_.at(trial_).record.ending = measure::Ending::probe_failed;
            draft_.at(trial_).record.evidence = "cyclictest ended with code " + code->text;
        }
        return Writer(draft_, trial_, threads->place).write(all);
    }

  private:
    void note_realtime(const Node* info) {
        const Node* const realtime = info == nullptr ? nullptr : info->find("realtime");
        if (realtime != nullptr && realtime->is(Node::Kind::number)) {
            draft_.fact(trial_, "cyclictest.realtime", realtime->number != 0 ? "yes" : "no");
        }
    }

    std::optional<double> number(const Node& thread, std::string_view key) {
        const Node* const found = thread.find(key);
        if (found == nullptr) return std::nullopt;
        if (found->is(Node::Kind::number) && found->number >= 0) return found->number;
        draft_.lose(found->place,
                    fmt::format("\"{}\" is {}, expected a number from 0", key,
                                found->text.empty() ? name_of(found->kind) : found->text));
        return std::nullopt;
    }

    std::optional<double> scaled(std::optional<double> value) const {
        if (value) *value *= scale_;
        return value;
    }

    Status read_thread(const Node& thread, Latencies& all) {
        if (!thread.is(Node::Kind::map)) {
            return fail_at(source_.file, thread.place, "a thread is {}, expected a map",
                           name_of(thread.kind));
        }
        const auto cycles = number(thread, "cycles");
        all.thread(scaled(number(thread, "min")), scaled(number(thread, "avg")),
                   scaled(number(thread, "max")), cycles);
        const Node* const histogram = thread.find("histogram");
        if (histogram == nullptr || histogram->members.empty()) return {};
        if (all.histogram_place.line == 0) all.histogram_place = histogram->place;
        double counted = 0;
        for (const auto& [bucket, count] : histogram->members) {
            const auto latency = parse_whole(bucket);
            const bool good = latency && count.is(Node::Kind::number) && count.number >= 0 &&
                              count.number == std::floor(count.number);
            if (!good) {
                return fail_at(
                    source_.file, count.place,
                    "bucket \"{}\" of the histogram holds \"{}\", expected whole numbers "
                    "from 0",
                    bucket, count.text);
            }
            all.histogram[static_cast<double>(*latency) * scale_] += count.number;
            counted += count.number;
        }
        // What isn't in a bucket was longer than the last one.
        if (cycles && *cycles > counted) all.overflows += *cycles - counted;
        if (cycles && *cycles < counted) {
            return fail_at(source_.file, histogram->place,
                           "the histogram holds {:.0f} latencies of {:.0f} cycles", counted,
                           *cycles);
        }
        return {};
    }

    const Source& source_;
    Draft& draft_;
    std::uint32_t trial_ = 0;
    double scale_ = 1;
};

// --- text ---

class TextReader {
  public:
    TextReader(const Source& source, Draft& draft) : source_(source), draft_(draft) {}

    Status run() {
        constexpr std::size_t kMaxLines = 10'000'000;
        MANO_ASSIGN(const std::vector<TextLine> lines,
                    split_lines(source_.text, source_.file, kMaxLines));
        for (const TextLine& line : lines) {
            last_ = line.number;
            if (line.text.starts_with('#')) {
                MANO_TRY(read_comment(line));
            } else if (line.text.starts_with("T:")) {
                MANO_TRY(read_thread(line));
            } else if (in_histogram_ && !trim(line.text).empty()) {
                MANO_TRY(read_bucket(line));
            }
        }
        return finish();
    }

  private:
    Status read_comment(const TextLine& line) {
        const std::string_view text = trim(line.text.substr(1));
        if (text == "Histogram") {
            in_histogram_ = true;
            all_.histogram_place = {line.number, 1};
            return {};
        }
        const auto row = [&](std::string_view title, std::vector<double>& into) -> Status {
            if (!text.starts_with(title)) return {};
            in_histogram_ = false;
            return read_row(line, title, into);
        };
        MANO_TRY(row("Total:", totals_));
        MANO_TRY(row("Min Latencies:", minima_));
        MANO_TRY(row("Avg Latencies:", averages_));
        MANO_TRY(row("Max Latencies:", maxima_));
        return row("Histogram Overflows:", overflows_);
    }

    Status read_row(const TextLine& line, std::string_view title, std::vector<double>& into) {
        if (!into.empty()) {
            return fail_at(source_.file, {line.number, 1}, "a second line \"# {}\"", title);
        }
        const std::size_t start = line.text.find(':') + 1;
        for (const Word& word : split_words(line.text.substr(start))) {
            const auto number = parse_whole(word.text);
            if (!number) {
                return fail_at(source_.file, {line.number, start + word.column},
                               "\"{}\" isn't a whole number from 0", word.text);
            }
            into.push_back(static_cast<double>(*number));
        }
        if (into.empty()) {
            return fail_at(source_.file, {line.number, start}, "no number after \"{}\"", title);
        }
        return {};
    }

    // "000057 000006	000004": the latency in µs, then each thread's count.
    Status read_bucket(const TextLine& line) {
        const std::vector<Word> words = split_words(line.text);
        std::vector<double> numbers;
        for (const Word& word : words) {
            const auto number = parse_whole(word.text);
            if (!number) {
                return fail_at(source_.file, {line.number, word.column},
                               "\"{}\" in the histogram isn't a whole number from 0", word.text);
            }
            numbers.push_back(static_cast<double>(*number));
        }
        if (threads_ == 0) threads_ = numbers.size() - 1;
        if (numbers.size() < 2 || numbers.size() - 1 != threads_) {
            return fail_at(source_.file, {line.number, 1},
                           "{} numbers in this line of the histogram, expected a latency and {} "
                           "counts",
                           numbers.size(), std::max<std::size_t>(threads_, 1));
        }
        if (!latencies_.emplace(numbers[0], line.number).second) {
            return fail_at(source_.file, {line.number, 1},
                           "the latency {:.0f} stands here again, first on line {}", numbers[0],
                           latencies_[numbers[0]]);
        }
        for (std::size_t i = 1; i < numbers.size(); ++i) {
            if (numbers[i] > 0) all_.histogram[numbers[0]] += numbers[i];
        }
        return {};
    }

    // "T: 0 (25919) P: 3 I:2000 C:    200 Min:     30 Act:   36 Avg:   53 Max:     693"
    Status read_thread(const TextLine& line) {
        const auto after = [&](std::string_view title) -> std::optional<double> {
            const std::size_t at = line.text.find(title);
            if (at == std::string_view::npos) return std::nullopt;
            const std::vector<Word> words = split_words(line.text.substr(at + title.size()));
            if (words.empty()) return std::nullopt;
            const auto number = parse_whole(words.front().text);
            if (!number) return std::nullopt;
            return static_cast<double>(*number);
        };
        const auto most = after("Max:");
        if (!most) {
            return fail_at(source_.file, {line.number, 1},
                           "no number after \"Max:\", expected a thread's line of cyclictest -q");
        }
        // Without -q the same thread is printed again and again: the last line is the result.
        const auto thread = after("T:");
        if (!thread) return fail_at(source_.file, {line.number, 1}, "no number after \"T:\"");
        of_thread_[*thread] = {after("Min:"), after("Avg:"), most, after("C:")};
        return {};
    }

    Status check_lengths() const {
        for (const auto* row : {&totals_, &minima_, &averages_, &maxima_, &overflows_}) {
            if (row->empty() || maxima_.empty() || row->size() == maxima_.size()) continue;
            return fail_at(source_.file, {last_, 1},
                           "the lines below the histogram are of {} and of {} threads", row->size(),
                           maxima_.size());
        }
        return {};
    }

    Status finish() {
        MANO_TRY(check_lengths());
        if (of_thread_.empty() && maxima_.empty()) {
            return fail_at(
                source_.file, {std::max<std::uint64_t>(last_, 1), 1},
                "neither \"# Max Latencies:\" nor a line \"T: …\" of cyclictest in it; is "
                "the file cut off?");
        }
        if (in_histogram_) {
            return fail_at(source_.file, {last_, 1}, "the histogram ends without its totals");
        }
        for (std::size_t i = 0; i < maxima_.size(); ++i) {
            const auto get = [&](const std::vector<double>& row) {
                return row.empty() ? std::nullopt : std::optional(row[i]);
            };
            // "# Total" doesn't count the overflows.
            auto cycles = get(totals_);
            if (const auto more = get(overflows_); cycles && more) *cycles += *more;
            all_.thread(get(minima_), get(averages_), get(maxima_), cycles);
            all_.overflows += get(overflows_).value_or(0);
        }
        if (maxima_.empty()) {
            for (const auto& [thread, of] : of_thread_)
                all_.thread(of[0], of[1], of[2], of[3]);
        }
        MANO_ASSIGN(const std::uint32_t trial, new_trial(source_, draft_, source_.stem));
        return Writer(draft_, trial, {last_, 1}).write(all_);
    }

    const Source& source_;
    Draft& draft_;
    Latencies all_;
    bool in_histogram_ = false;
    std::size_t threads_ = 0;
    std::uint64_t last_ = 0;
    std::map<double, std::uint64_t> latencies_;
    std::vector<double> totals_, minima_, averages_, maxima_, overflows_;
    std::map<double, std::array<std::optional<double>, 4>> of_thread_;
};

}  // namespace

Status read_cyclictest(const Source& source, Draft& draft) {
    std::string_view text = source.text;
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), text.size()));
    if (text.starts_with('{')) return JsonReader(source, draft).run();
    return TextReader(source, draft).run();
}

}  // namespace mano::interchange
