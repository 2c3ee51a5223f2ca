// SPDX-License-Identifier: GPL-2.0-or-later
// The table of a mail of LKP's robot, as it stands in the archives: quoted or not, with its blanks
// or run together. It holds rounded means and spreads; the change is kept as printed, since rounded
// means don't give it back.
#include <algorithm>

#include "interchange/importers.h"

namespace mano::interchange {
namespace {

constexpr std::size_t kMaxLines = 1'000'000;
constexpr std::string_view kPlusMinus = "\u00b1";

using Words = std::vector<Word>;

bool all_of(std::string_view text, std::string_view signs) {
    return !text.empty() && text.find_first_not_of(signs) == std::string_view::npos;
}

// "---------------- ---------------------------": as many as there are commits.
std::size_t dashes(const Words& words) {
    constexpr std::size_t kFewest = 8;
    const bool all = std::all_of(words.begin(), words.end(), [](const Word& word) {
        return word.text.size() >= kFewest && all_of(word.text, "-");
    });
    return all && words.size() >= 2 ? words.size() : 0;
}

// Lines that stand over the columns.
bool is_heading(std::string_view text) {
    return text.find("%stddev") != std::string_view::npos ||
           text.find("fail:runs") != std::string_view::npos ||
           text.find("%reproduction") != std::string_view::npos || all_of(text, "\\|/ ");
}

class Reader {
  public:
    Reader(const Source& source, Draft& draft) : source_(source), draft_(draft) {}

    Status run() {
        MANO_ASSIGN(const std::vector<TextLine> lines,
                    split_lines(source_.text, source_.file, kMaxLines));
        for (std::size_t i = 0; i < lines.size(); ++i) {
            TextLine line = unquote(lines[i]);
            if (!in_table_) note_block(line);
            const Words words = split_words(line.text);
            if (i > 0 && dashes(words) > 0) {
                MANO_TRY(begin_table(unquote(lines[i - 1]), dashes(words)));
            } else if (in_table_) {
                MANO_TRY(table_line(line, words));
            }
        }
        if (tables_ == 0) {
            return fail_at(source_.file, {1, 1},
                           "no table of LKP in it: expected a line with two commits over a line of "
                           "dashes");
        }
        if (draft_.rows() == rows_before_) {
            return fail_at(source_.file, {lines.size(), 1}, "a table of LKP without any row");
        }
        return {};
    }

    void remember_rows() { rows_before_ = draft_.rows(); }

  private:
    // Without "> > " in front; columns are still those of the file.
    TextLine unquote(TextLine line) {
        offset_ = 0;
        while (!line.text.empty() &&
               (line.text.front() == '>' ||
                (offset_ > 0 && line.text.front() == ' ' && line.text.find('>') == 1))) {
            line.text.remove_prefix(1);
            ++offset_;
        }
        return line;
    }
    Place at(const TextLine& line, const Word& word) const {
        return {line.number, word.column + offset_};
    }

    // Over the table: "commit: " and a line each, with subjects; "axis/axis:" and its values.
    void note_block(const TextLine& line) {
        const std::string_view text = trim(line.text);
        if (text == "commit:" || text == "arm:" || text == "kernel:") {
            commits_.clear();
            in_commits_ = true;
        } else if (text.empty()) {
            in_commits_ = in_commits_ && commits_.empty();
            in_axes_ = in_axes_ && axes_.empty();
        } else if (in_commits_ && line.text.starts_with(' ')) {
            const Words words = split_words(text);
            commits_.emplace_back(words.front().text);
        } else if (in_axes_ && line.text.starts_with(' ')) {
            axes_ = text;
            in_axes_ = false;
        } else if (text.ends_with(':') && text.find('/') != std::string_view::npos &&
                   text.find(' ') == std::string_view::npos) {
            in_axes_ = true;
            axes_.clear();
        } else {
            in_commits_ = false;
            in_axes_ = false;
        }
    }

    // The table's head cuts names at 16 and 27 characters: the list above it has them whole.
    std::string whole_name(const Word& word, std::size_t position) const {
        if (position < commits_.size() && commits_[position].starts_with(word.text)) {
            return commits_[position];
        }
        return std::string(word.text);
    }

    Status begin_table(const TextLine& head, std::size_t columns) {
        const Words words = split_words(head.text);
        if (words.size() != columns) {
            return fail_at(source_.file, {head.number, 1},
                           "{} names over {} columns of dashes, expected as many commits",
                           words.size(), columns);
        }
        arms_.clear();
        std::vector<std::string> taken;
        for (std::size_t i = 0; i < words.size(); ++i) {
            std::string name = whole_name(words[i], i);
            if (std::find(taken.begin(), taken.end(), name) != taken.end()) {
                name += fmt::format("#{}", i + 1);
            }
            taken.push_back(name);
            MANO_ASSIGN(const std::uint32_t arm, draft_.arm(name, at(head, words[i])));
            arms_.push_back(arm);
        }
        ++tables_;
        in_table_ = true;
        std::string name = axes_;
        if (source_.case_) name = *source_.case_;
        MANO_ASSIGN(case_, draft_.case_(name, {head.number, 1}));
        return {};
    }

    Status table_line(const TextLine& line, const Words& words) {
        if (words.empty() || line.text.starts_with("====")) {
            in_table_ = false;
            note_block(line);
            return {};
        }
        if (is_heading(line.text)) return {};
        return read_row(line, words);
    }

    struct Cell {
        std::optional<double> value;
        std::optional<double> stddev_pct;
        std::optional<std::uint64_t> fails, runs;
    };

    Status read_row(const TextLine& line, const Words& words) {
        std::size_t next = 0;
        std::vector<Cell> cells;
        std::vector<std::string> changes;
        for (std::size_t i = 0; i < arms_.size(); ++i) {
            if (i > 0) {
                const auto change = read_change(words, next);
                if (!change) return not_a_row(line, words, next, "a change as \"+1.5%\"");
                changes.push_back(*change);
            }
            auto cell = read_cell(words, next);
            if (!cell) return not_a_row(line, words, next, "a value, or failures as \"1:5\"");
            cells.push_back(*cell);
        }
        if (next >= words.size()) return not_a_row(line, words, next, "the metric's name");
        const std::string_view name = trim(line.text.substr(words[next].column - 1));
        return keep(line, words[next], name, cells, changes);
    }

    // A line inside the table that is none of its rows costs that line only.
    Status not_a_row(const TextLine& line, const Words& words, std::size_t next,
                     std::string_view wanted) {
        const Place place = next < words.size()
                                ? at(line, words[next])
                                : Place{line.number, offset_ + line.text.size() + 1};
        draft_.lose(place, fmt::format("not a row of the table: expected {} here{}", wanted,
                                       next < words.size()
                                           ? fmt::format(" and not \"{}\"", words[next].text)
                                           : std::string(", and the line ends")));
        return {};
    }

    // "-7.2%", "+3.2" (of metrics in %), "+1.5e+05%", "new", "20%" (of failures).
    static std::optional<std::string> read_change(const Words& words, std::size_t& next) {
        if (next >= words.size()) return std::nullopt;
        std::string_view text = words[next].text;
        std::string_view digits = text;
        if (digits.ends_with('%')) digits.remove_suffix(1);
        if (text != "new" && text != "-" && !parse_real(digits)) return std::nullopt;
        ++next;
        return std::string(text);
    }

    // "1103082", "1602693 ± 3%", "1.654e+12 ±112%", "1:5", ":5" (none failed; or " 3:5").
    static std::optional<Cell> read_cell(const Words& words, std::size_t& next) {
        if (next >= words.size()) return std::nullopt;
        Cell cell;
        const std::string_view text = words[next].text;
        if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
            cell.fails = colon == 0 ? 0 : parse_whole(text.substr(0, colon));
            cell.runs = parse_whole(text.substr(colon + 1));
            if (!cell.fails || !cell.runs || *cell.fails > *cell.runs) return std::nullopt;
            ++next;
            return cell;
        }
        if (text != "-") {
            cell.value = parse_real(text);
            if (!cell.value) return std::nullopt;
        }
        std::size_t at = next + 1;
        if (at >= words.size() || !words[at].text.starts_with(kPlusMinus)) {
            next = at;
            return cell;
        }
        std::string_view spread = words[at].text.substr(kPlusMinus.size());
        if (spread.empty() && at + 1 < words.size()) spread = words[++at].text;
        if (!spread.ends_with('%')) return std::nullopt;
        spread.remove_suffix(1);
        cell.stddev_pct = parse_real(spread);
        if (!cell.stddev_pct || *cell.stddev_pct < 0) return std::nullopt;
        next = at + 1;
        return cell;
    }

    Status keep(const TextLine& line, const Word& word, std::string_view name,
                const std::vector<Cell>& cells, const std::vector<std::string>& changes) {
        ForeignMetric what;
        what.unit = name.ends_with('%') ? "%" : "";
        what.meaning = "a metric of LKP";
        MANO_ASSIGN(const std::uint32_t metric, draft_.metric(name, what, at(line, word)));
        const std::uint64_t before = draft_.rows();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            measure::Stated stated;
            stated.mean = cells[i].value;
            stated.stddev_pct = cells[i].stddev_pct;
            if (cells[i].runs && *cells[i].runs > 0) {
                stated.n = cells[i].runs;
                stated.mean =
                    static_cast<double>(*cells[i].fails) / static_cast<double>(*cells[i].runs);
            }
            if (i > 0) stated.change = changes[i - 1];
            MANO_TRY(draft_.stated(arms_[i], case_, metric, stated, at(line, word)));
        }
        draft_.set_rows(before + 1);
        return {};
    }

    const Source& source_;
    Draft& draft_;
    std::vector<std::uint32_t> arms_;
    std::uint32_t case_ = 0;
    std::vector<std::string> commits_;
    std::string axes_;
    bool in_commits_ = false, in_axes_ = false, in_table_ = false;
    std::size_t tables_ = 0;
    std::uint64_t rows_before_ = 0;
    std::uint64_t offset_ = 0;
};

}  // namespace

Status read_lkp_mail(const Source& source, Draft& draft) {
    Reader reader(source, draft);
    reader.remember_rows();
    return reader.run();
}

}  // namespace mano::interchange
