// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "report/layout.h"

namespace mano::report {
namespace {

constexpr std::size_t kMaxLabel = 16;
constexpr std::size_t kMaxStack = 5;     // lines of dots above each other
constexpr std::size_t kMostOthers = 20;  // plots, beyond which rows that aren't judged have none
constexpr double kLogFrom = 100;         // greatest / least
constexpr std::array<std::string_view, 8> kAsciiLevels{"_", ".", ":", "-", "=", "+", "*", "#"};
constexpr std::array<std::string_view, 8> kUtf8Levels{"\u2581", "\u2582", "\u2583", "\u2584",
                                                      "\u2585", "\u2586", "\u2587", "\u2588"};

// The characters of a strip.
struct Marks {
    std::string_view dot, line, left, right, median, axis, tick;
};
constexpr Marks kAscii{"o", "-", "[", "]", "|", "-", "+"};
constexpr Marks kUtf8{"\u2022", "\u2500", "\u251c", "\u2524", "\u253c", "\u2500", "\u2534"};

const Marks& marks_of(Charset charset) {
    return charset == Charset::utf8 ? kUtf8 : kAscii;
}

// A line of cells, each one column wide whatever its bytes.
using Cells = std::vector<std::string_view>;

std::string joined(const Cells& cells) {
    std::size_t last = cells.size();
    while (last > 0 && cells[last - 1] == " ")
        --last;
    std::string text;
    for (std::size_t i = 0; i < last; ++i)
        text += cells[i];
    return text;
}

// From values to columns.
struct Scale {
    double low = 0, high = 0;
    bool logarithmic = false;
    std::size_t width = 0;

    double place(double value) const {
        if (!(high > low)) return 0.5;
        if (logarithmic) return std::log(value / low) / std::log(high / low);
        // Halves: the difference of two huge values of different sign isn't finite.
        return (value / 2 - low / 2) / (high / 2 - low / 2);
    }
    std::size_t column(double value) const {
        const double at = std::clamp(place(value), 0.0, 1.0);
        return static_cast<std::size_t>(std::lround(at * static_cast<double>(width - 1)));
    }
    double middle() const {
        return logarithmic ? std::sqrt(low) * std::sqrt(high) : low / 2 + high / 2;
    }
};

std::vector<double> known(const std::vector<std::optional<double>>& values) {
    std::vector<double> out;
    for (const auto& value : values) {
        if (value) out.push_back(*value);
    }
    return out;
}

std::optional<Scale> scale_of(const MetricRow& row, std::size_t width) {
    std::vector<double> all;
    for (const ArmValues& arm : row.arms) {
        const std::vector<double> values = known(arm.values);
        all.insert(all.end(), values.begin(), values.end());
        if (!values.empty() && arm.summary.ci95) {
            all.push_back(arm.summary.ci95->first);
            all.push_back(arm.summary.ci95->second);
        }
    }
    if (all.empty()) return std::nullopt;
    const auto [least, greatest] = std::minmax_element(all.begin(), all.end());
    Scale scale{*least, *greatest, false, width};
    scale.logarithmic = scale.low > 0 && scale.high / scale.low > kLogFrom;
    return scale;
}

std::size_t label_width(const ReportData& data) {
    std::size_t width = 0;
    for (const ArmReport& arm : data.arms)
        width = std::max(width, excerpt(arm.name, kMaxLabel).size());
    return width;
}

// The trials of one arm: a mark for each `each` of them in a column, rounded up.
std::vector<Cells> stack(const std::vector<double>& values, const Scale& scale, std::size_t each,
                         std::string_view dot) {
    std::vector<std::size_t> counts(scale.width, 0);
    for (const double value : values)
        ++counts[scale.column(value)];
    const std::size_t most = *std::max_element(counts.begin(), counts.end());
    std::vector<Cells> lines;
    for (std::size_t level = (most + each - 1) / each; level > 0; --level) {
        Cells line(scale.width, " ");
        for (std::size_t i = 0; i < scale.width; ++i) {
            if (counts[i] > (level - 1) * each) line[i] = dot;
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

Cells interval_line(const stats::Summary& summary, const Scale& scale, const Marks& marks) {
    Cells line(scale.width, " ");
    if (summary.ci95) {
        const std::size_t left = scale.column(summary.ci95->first);
        const std::size_t right = scale.column(summary.ci95->second);
        for (std::size_t i = left; i <= right; ++i)
            line[i] = marks.line;
        line[left] = marks.left;
        line[right] = marks.right;
    }
    if (summary.median) line[scale.column(*summary.median)] = marks.median;
    return line;
}

// How many trials one dot stands for, so that no stack is higher than kMaxStack.
std::size_t trials_per_dot(const MetricRow& row, const Scale& scale) {
    std::size_t most = 1;
    for (const ArmValues& arm : row.arms) {
        std::vector<std::size_t> counts(scale.width, 0);
        for (const double value : known(arm.values))
            most = std::max(most, ++counts[scale.column(value)]);
    }
    return (most + kMaxStack - 1) / kMaxStack;
}

// "+----+----+" and the numbers under its ends and its middle.
std::string axis(const Scale& scale, std::size_t margin, const Marks& marks) {
    Cells line(scale.width, marks.axis);
    std::string numbers(scale.width, ' ');
    // Ends that are nearly the same need more digits to be told apart.
    const bool close = scale.high > scale.low && show_number(scale.low) == show_number(scale.high);
    const auto put = [&](double value, std::size_t column) {
        const std::string text = close ? fmt::format("{:.12g}", value) : show_number(value);
        line[column] = marks.tick;
        std::size_t at = column < text.size() / 2 ? 0 : column - text.size() / 2;
        at = std::min(at, scale.width - std::min(scale.width, text.size()));
        numbers.replace(at, text.size(), text);
    };
    if (scale.high > scale.low) {
        put(scale.low, 0);
        put(scale.high, scale.width - 1);
    }
    put(scale.middle(), scale.column(scale.middle()));
    numbers.erase(numbers.find_last_not_of(' ') + 1);
    const std::string indent(margin, ' ');
    return indent + joined(line) + '\n' + indent + numbers + '\n';
}

std::string plot_head(const ReportData& data, const CaseReport& report, const MetricRow& row,
                      const Scale& scale, std::size_t each) {
    std::string text = ascii(row.metric.name);
    if (!row.metric.unit.empty()) text += fmt::format(" ({})", ascii(row.metric.unit));
    if (row.primary) text += " *";
    if (data.cases.size() > 1) text += ", " + ascii(report.name);
    for (const Change& change : row.changes) {
        text +=
            fmt::format("{} {}: {}", &change == &row.changes.front() ? ";" : ",", ascii(change.arm),
                        row.not_observable ? "n/a here" : stats::name_of(change.verdict));
    }
    if (scale.logarithmic) text += "; log axis";
    if (each > 1) text += fmt::format("; a mark is up to {} trials", each);
    return wrap(text, 0, 4);
}

std::string plot_arm(const std::string& name, const ArmValues& arm, const Scale& scale,
                     std::size_t label, std::size_t each, const Marks& marks) {
    const std::vector<double> values = known(arm.values);
    const std::string indent(label + 4, ' ');
    const std::string named = "  " + pad_right(excerpt(name, kMaxLabel), label) + "  ";
    if (values.empty()) {
        return named + (arm.stated ? "its trials aren't here\n" : "no known value\n");
    }
    std::string text;
    const std::vector<Cells> lines = stack(values, scale, each, marks.dot);
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += (i + 1 == lines.size() ? named : indent) + joined(lines[i]) + '\n';
    text += indent + joined(interval_line(arm.summary, scale, marks)) + '\n';
    if (const std::size_t unknown = arm.values.size() - values.size(); unknown > 0) {
        text += indent + fmt::format("({} of {} unknown)\n", unknown, arm.values.size());
    }
    return text;
}

std::string plot_row(const ReportData& data, const CaseReport& report, const MetricRow& row,
                     Charset charset) {
    const std::size_t label = label_width(data);
    const std::size_t margin = label + 4;
    const auto scale = scale_of(row, kColumns - margin);
    if (!scale) {
        return wrap(fmt::format("{}: no known value", row.metric.name), 0, 4);
    }
    const std::size_t each = trials_per_dot(row, *scale);
    std::string text = plot_head(data, report, row, *scale, each);
    for (std::size_t i = 0; i < data.arms.size(); ++i) {
        const std::string name = data.arms[i].name + (data.arms[i].placebo ? " (placebo)" : "");
        text += plot_arm(name, row.arms[i], *scale, label, each, marks_of(charset));
    }
    return text + axis(*scale, margin, marks_of(charset));
}

}  // namespace

std::string render_plots(const ReportData& data, Charset charset, bool others) {
    const Marks& marks = marks_of(charset);
    std::string text;
    std::size_t drawn = 0;
    std::size_t left_out = 0;
    for (const CaseReport& report : data.cases) {
        for (const MetricRow& row : report.rows) {
            if (!row.shown || !(row.key || others)) continue;
            if (!row.key && drawn >= kMostOthers) {
                ++left_out;
                continue;
            }
            ++drawn;
            text += '\n' + plot_row(data, report, row, charset);
        }
    }
    if (text.empty()) return text;
    if (left_out > 0) text += fmt::format("\nnot drawn: {} more (--metric chooses)\n", left_out);
    return text +
           fmt::format("\n{} a trial; {} the median, {}{} its 95% interval (none below 6 trials)\n",
                       marks.dot, marks.median, marks.left, marks.right);
}

std::string sparkline(std::span<const std::optional<double>> values, Charset charset,
                      std::optional<std::pair<double, double>> range, std::size_t width) {
    if (width == 0) return "";
    const auto& levels = charset == Charset::utf8 ? kUtf8Levels : kAsciiLevels;
    std::vector<std::optional<double>> cells;
    const std::size_t groups = std::min(width, values.size());
    for (std::size_t i = 0; i < groups; ++i) {
        const std::size_t from = i * values.size() / groups;
        const std::size_t to = (i + 1) * values.size() / groups;
        double mean = 0;
        double count = 0;
        for (std::size_t k = from; k < to; ++k) {
            if (values[k]) mean += (*values[k] - mean) / ++count;
        }
        cells.push_back(count > 0 ? std::optional(mean) : std::nullopt);
    }
    const std::vector<double> all = known(cells);
    if (all.empty()) return std::string(cells.size(), '?');
    const auto [least, greatest] = std::minmax_element(all.begin(), all.end());
    const auto [low, high] = range.value_or(std::pair(*least, *greatest));
    const Scale scale{low, high, false, levels.size()};
    std::string text;
    for (const auto& cell : cells)
        text += cell ? levels.at(scale.column(*cell)) : "?";
    return text;
}

std::string bars(const std::vector<std::pair<std::string, std::optional<double>>>& values,
                 Charset charset, std::size_t width) {
    std::size_t label = 0;
    std::size_t digits = 0;
    double most = 0;
    for (const auto& [name, value] : values) {
        label = std::max(label, ascii(name).size());
        digits = std::max(digits, value ? show_number(*value).size() : 1);
        most = std::max(most, value.value_or(0));
    }
    std::string text;
    for (const auto& [name, value] : values) {
        text += pad_right(ascii(name), label) + "  " +
                pad_left(value ? show_number(*value) : "?", digits);
        if (value && *value > 0 && most > 0) {
            const double length = *value / most * static_cast<double>(width);
            text += "  ";
            for (std::size_t i = 0; i < std::max<std::size_t>(1, static_cast<std::size_t>(length));
                 ++i)
                text += charset == Charset::utf8 ? "\u2588" : "#";
        }
        text += '\n';
    }
    return text;
}

}  // namespace mano::report
