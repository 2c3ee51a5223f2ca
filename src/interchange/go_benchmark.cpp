// SPDX-License-Identifier: GPL-2.0-or-later
// Go's benchmark text: a line is a trial, a benchmark a case, the key "arm" (as --format gobench
// writes it) or the file's name the arm.
#include <algorithm>

#include "interchange/importers.h"

namespace mano::interchange {
namespace {

constexpr std::size_t kMaxLines = 4'000'000;

class Reader {
  public:
    Reader(const Source& source, Draft& draft)
        : source_(source), draft_(draft), arm_(source.arm.value_or(source.stem)) {}

    Status run() {
        MANO_ASSIGN(const std::vector<TextLine> lines,
                    split_lines(source_.text, source_.file, kMaxLines));
        bool any = false;
        for (const TextLine& line : lines) {
            if (line.text.starts_with("Benchmark")) {
                const std::vector<Word> words = split_words(line.text);
                // A name alone is printed when a benchmark begins.
                if (words.size() == 1) continue;
                MANO_TRY(read_line(line, words));
                any = true;
            } else if (line.text.starts_with("arm: ") && !source_.arm) {
                arm_ = trim(line.text.substr(4));
            } else if (line.text.starts_with("Unit ")) {
                read_unit(line);
            }
        }
        if (!any) {
            return fail_at(source_.file, {1, 1},
                           "no line \"BenchmarkName N value unit\" in it, expected Go's benchmark "
                           "text");
        }
        return {};
    }

  private:
    // "Unit ns/op better=lower assume=exact"
    void read_unit(const TextLine& line) {
        const std::vector<Word> words = split_words(line.text);
        for (std::size_t i = 2; i < words.size(); ++i) {
            if (words[i].text == "better=lower")
                better_[std::string(words[1].text)] = Better::lower;
            if (words[i].text == "better=higher") {
                better_[std::string(words[1].text)] = Better::higher;
            }
        }
    }

    // "BenchmarkEncode/format=json-48": the number of CPUs isn't part of the name.
    static std::string_view case_name(std::string_view name) {
        name.remove_prefix(std::string_view("Benchmark").size());
        const std::size_t dash = name.rfind('-');
        if (dash != std::string_view::npos && dash > 0 && parse_whole(name.substr(dash + 1))) {
            name = name.substr(0, dash);
        }
        return name;
    }

    ForeignMetric describe(std::string_view unit) const {
        ForeignMetric what;
        what.key = true;
        what.meaning = "a unit of Go's benchmarks";
        if (const auto said = better_.find(std::string(unit)); said != better_.end()) {
            what.better = said->second;
        } else if (unit == "ns/op" || unit == "B/op" || unit == "allocs/op") {
            what.better = Better::lower;
        } else if (unit.ends_with("/s")) {
            what.better = Better::higher;
        }
        return what;
    }

    Status read_line(const TextLine& line, const std::vector<Word>& words) {
        const auto iterations = parse_whole(words[1].text);
        if (!iterations) {
            return fail_at(source_.file, {line.number, words[1].column},
                           "\"{}\" isn't a number of iterations", words[1].text);
        }
        if (words.size() < 4 || words.size() % 2 != 0) {
            return fail_at(source_.file, {line.number, words.back().column},
                           "expected pairs of value and unit (is the line cut off?)");
        }
        MANO_ASSIGN(const std::uint32_t arm, draft_.arm(arm_, {line.number, 1}));
        MANO_ASSIGN(const std::uint32_t in_case,
                    draft_.case_(case_name(words[0].text), {line.number, 1}));
        MANO_ASSIGN(const std::uint32_t trial,
                    draft_.trial(arm, in_case, std::nullopt, {line.number, 1}));
        for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
            const Place place{line.number, words[i].column};
            const auto value = parse_real(words[i].text);
            if (!value) {
                return fail_at(source_.file, place, "\"{}\" isn't a finite number", words[i].text);
            }
            MANO_ASSIGN(const std::uint32_t metric,
                        draft_.metric(words[i + 1].text, describe(words[i + 1].text), place));
            MANO_TRY(draft_.value(trial, metric, value, place));
        }
        return {};
    }

    using Better = measure::Better;
    const Source& source_;
    Draft& draft_;
    std::string arm_;
    std::map<std::string, Better> better_;
};

}  // namespace

Status read_go_benchmark(const Source& source, Draft& draft) {
    return Reader(source, draft).run();
}

}  // namespace mano::interchange
