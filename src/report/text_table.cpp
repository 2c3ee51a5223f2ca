// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/internal.h"
#include "report/layout.h"

namespace mano::report {
namespace {

constexpr std::size_t kMaxOthers = 40;

std::string label(const MetricRow& row) {
    std::string text = ascii(row.metric.name);
    const std::string& unit = row.metric.unit;
    const bool said = unit.empty() || unit == "count" || text.ends_with("_" + unit) ||
                      (unit == "%" && text.ends_with("_pct")) ||
                      (unit == "bytes" && text.ends_with("_bytes"));
    if (!said) text += fmt::format(" ({})", ascii(unit));
    return row.primary ? text + " *" : text;
}

std::string value_cell(const MetricRow& row, std::size_t arm) {
    const stats::Summary& summary = row.arms[arm].summary;
    if (row.arms[arm].stated && summary.mean) {
        const std::string spread =
            summary.stddev_pct ? fmt::format(" +-{:.3g}%", *summary.stddev_pct) : "";
        return show_number(*summary.mean) + spread;
    }
    if (!summary.median) return "-";
    if (row.metric.name == kFailedMetric) {
        return fmt::format("{} of {}", *summary.total, summary.n);
    }
    std::string text = show_number(*summary.median);
    if (summary.half_range_pct) {
        const double spread = *summary.half_range_pct;
        text +=
            spread < 9.95 ? fmt::format(" +-{:.1f}%", spread) : fmt::format(" +-{:.0f}%", spread);
    }
    return text;
}

std::string change_cell(const MetricRow& row, const Change& change) {
    const stats::Comparison& comparison = change.comparison;
    if (row.metric.name == kFailedMetric) return "";
    if (comparison.from_zero) return "new";
    if (comparison.median_pct) return show_percent(*comparison.median_pct);
    if (!comparison.shift && comparison.mean_pct) return show_percent(*comparison.mean_pct);
    // A base of 0 has no percentage: the shift itself, in the unit.
    if (comparison.shift) return show_signed(comparison.shift->estimate);
    return "-";
}

std::string verdict_cell(const MetricRow& row, const Change& change, const Notes& notes) {
    const bool neutral = change.reason == stats::Reason::no_direction;
    std::string text(neutral ? "changed" : name_of(change.verdict));
    if (row.not_observable) text = "n/a here";
    for (const std::string& code : change.warnings) {
        const auto note = notes.find(code);
        if (note == notes.end() || (neutral && code == "no-direction" && !row.key)) continue;
        text += fmt::format(" [{}]", note->second);
    }
    return text;
}

std::string shift_sentence(const MetricRow& row, const stats::Comparison& comparison) {
    std::string text = "shift " + show_signed(comparison.shift->estimate);
    if (comparison.shift->ci95) {
        text += fmt::format(" [{}, {}] (95%)", show_signed(comparison.shift->ci95->first),
                            show_signed(comparison.shift->ci95->second));
    } else {
        text += " (too few for an interval)";
    }
    if (comparison.test) text += ", " + comparison.test->name;
    if (row.metric.better != measure::Better::neither) {
        text += fmt::format("; {} is better", name_of(row.metric.better));
    }
    return text;
}

// "[+75.9%, +82.4%]", or why there is none.
std::string interval_words(const stats::Bootstrap& bootstrap) {
    if (!bootstrap.ci95) return fmt::format("no interval: {}", sentence_of(bootstrap.gap));
    return fmt::format("[{}, {}] (95%, BCa)", show_percent(bootstrap.ci95->first),
                       show_percent(bootstrap.ci95->second));
}

std::string totals_sentence(const MetricRow& row, std::size_t i) {
    const stats::Comparison& comparison = row.changes[i].comparison;
    const stats::Summary& base = row.arms[0].summary;
    const stats::Summary& other = row.arms[i + 1].summary;
    std::string text =
        fmt::format("total {} -> {}", show_number(*base.total), show_number(*other.total));
    if (comparison.total_pct) {
        text += fmt::format(" ({}", show_percent(*comparison.total_pct));
        if (comparison.total_pct_ci95 && comparison.total_pct_ci95->ci95) {
            text += " " + interval_words(*comparison.total_pct_ci95);
        }
        text += ")";
    }
    text += fmt::format("; zero in {} of {} -> {} of {}", base.zeros, base.n, other.zeros, other.n);
    if (comparison.totals_test && comparison.zeros_test) {
        text += fmt::format("; p of totals {}, of zeros {}", show_p(comparison.totals_test->p),
                            show_p(comparison.zeros_test->p));
    }
    return text;
}

std::string noise_sentence(const Noise& noise) {
    const auto size = [](double value, const std::optional<double>& pct) {
        return pct ? fmt::format("{:.2g}%", *pct) : show_number(value);
    };
    std::string text =
        "A/A here: equal kernels lie up to " + size(noise.floor, noise.floor_pct) + " apart (95%)";
    if (noise.detectable) {
        text += fmt::format("; {} would be found (power 80%)",
                            size(*noise.detectable, noise.detectable_pct));
    }
    return text;
}

std::vector<std::string> below(const MetricRow& row, std::size_t i) {
    std::vector<std::string> lines;
    const Change& change = row.changes[i];
    const stats::Comparison& comparison = change.comparison;
    if (row.not_observable) {
        lines.push_back("not observable here: " + *row.not_observable);
        return lines;
    }
    if (!row.key || row.metric.name == kFailedMetric) return lines;
    if (row.primary && comparison.shift) lines.push_back(shift_sentence(row, comparison));
    if (row.primary && !comparison.zero_inflated && comparison.median_pct_ci95 &&
        comparison.median_pct_ci95->ci95 && comparison.median_pct.value_or(0) != 0) {
        lines.push_back(fmt::format("median {} {}", show_percent(*comparison.median_pct),
                                    interval_words(*comparison.median_pct_ci95)));
    }
    if (comparison.zero_inflated) lines.push_back(totals_sentence(row, i));
    if (comparison.paired) {
        lines.push_back(fmt::format(
            "{} pairs of equal seeds{}", comparison.paired->pairs,
            comparison.paired->correlation
                ? fmt::format(", correlation {:.2f} (Spearman)", *comparison.paired->correlation)
                : ""));
    }
    if (change.placebo) {
        const std::string name = ascii(change.placebo->arm);
        lines.push_back(fmt::format("{}: {} from the base",
                                    name == "placebo" ? name : "placebo " + name,
                                    change.placebo->pct ? show_percent(*change.placebo->pct)
                                                        : show_signed(change.placebo->shift)));
    }
    if (row.noise) lines.push_back(noise_sentence(*row.noise));
    if (change.verdict == stats::Verdict::inconclusive && comparison.detectable) {
        lines.push_back(fmt::format("a change of {} would have been seen (power 80%)",
                                    comparison.detectable_pct
                                        ? fmt::format("{:.2g}%", *comparison.detectable_pct)
                                        : show_number(*comparison.detectable)));
    }
    return lines;
}

Line make_line(const MetricRow& row, std::optional<std::size_t> i, const Notes& notes) {
    Line line;
    line.name = label(row);
    line.cells[base_column] = value_cell(row, 0);
    if (!i) return line;
    const Change& change = row.changes[*i];
    line.cells[arm_column] = value_cell(row, *i + 1);
    line.cells[change_column] = change_cell(row, change);
    line.cells[p_column] =
        change.comparison.p_adjusted ? show_p(*change.comparison.p_adjusted) : "-";
    line.cells[verdict_column] = verdict_cell(row, change, notes);
    line.below = below(row, *i);
    return line;
}

std::string draw(const Line& line, std::size_t name_width,
                 const std::array<std::size_t, kColumnCount>& widths) {
    std::string text;
    std::string name = line.name;
    if (name.size() > name_width) {
        text += name + '\n';  // too long to stand beside its numbers
        name.clear();
    }
    std::string row = pad_right(name, name_width);
    for (std::size_t column = 0; column < kColumnCount; ++column) {
        if (widths[column] == 0) continue;
        const std::string& cell = line.cells[column];
        row += "  ";
        row += column == verdict_column ? cell : pad_left(cell, widths[column]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
    for (const std::string& sentence : line.below)
        text += wrap(sentence, 4, 4);
    return text;
}

// The largest relative changes first; a change from 0 has no size and comes before all.
double change_size(const MetricRow& row, std::size_t i) {
    const auto& pct = row.changes[i].comparison.median_pct;
    return pct ? std::fabs(*pct) : HUGE_VAL;
}

std::string hidden_words(const CaseReport& report, std::size_t cut, std::uint64_t unchanged_here) {
    std::string text;
    const auto add = [&](std::uint64_t count, std::string_view what) {
        if (count == 0) return;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    };
    add(cut, "more changed");
    add(report.hidden_unchanged + unchanged_here, "without a change");
    add(report.hidden_undecided, "without an answer");
    add(report.hidden_below_floor, "below their floor");
    add(report.hidden_others, "that are no key metrics");
    if (!text.empty()) text += " (--all shows them)";
    add(report.hidden_unmatched, "that match no --metric");
    return text;
}

}  // namespace

Lines table_lines(const ReportData& data, const CaseReport& report,
                  std::optional<std::size_t> change, const Notes& notes) {
    Lines lines;
    if (!change) {
        lines.head.cells[base_column] = ascii(data.base);
    } else {
        lines.head.cells = {ascii(data.base), ascii(data.arms[*change + 1].name), "change", "p",
                            "verdict"};
    }
    std::vector<const MetricRow*> others;
    std::uint64_t unchanged_here = 0;  // told apart in another comparison
    for (const MetricRow& row : report.rows) {
        if (!row.shown) continue;
        if (row.key) {
            lines.keys.push_back(make_line(row, change, notes));
        } else if (change && !row.asked && !row.changes[*change].told) {
            ++unchanged_here;
        } else {
            others.push_back(&row);
        }
    }
    if (change && data.sort == Sort::table) {
        std::stable_sort(others.begin(), others.end(), [&](const MetricRow* a, const MetricRow* b) {
            return change_size(*a, *change) > change_size(*b, *change);
        });
    }
    // With --all the number is no secret: everything is shown.
    const bool all =
        report.hidden_unchanged + report.hidden_undecided + report.hidden_below_floor == 0;
    const std::size_t most = all ? others.size() : std::min(others.size(), kMaxOthers);
    for (std::size_t i = 0; i < most; ++i)
        lines.others.push_back(make_line(*others[i], change, notes));
    lines.hidden = hidden_words(report, others.size() - most, unchanged_here);
    return lines;
}

std::string render_table(const ReportData& data, const CaseReport& report,
                         std::optional<std::size_t> change, const Notes& notes) {
    const Lines lines = table_lines(data, report, change, notes);
    std::array<std::size_t, kColumnCount> widths{};
    std::size_t name_width = 0;
    const auto measure = [&](const Line& line) {
        name_width = std::max(name_width, line.name.size());
        for (std::size_t i = 0; i < kColumnCount; ++i) {
            widths[i] = std::max(widths[i], line.cells[i].size());
        }
    };
    measure(lines.head);
    std::for_each(lines.keys.begin(), lines.keys.end(), measure);
    std::for_each(lines.others.begin(), lines.others.end(), measure);
    std::size_t numbers = 0;
    for (const std::size_t width : widths)
        numbers += width == 0 ? 0 : width + 2;
    name_width = std::min(name_width, numbers + 8 < kColumns ? kColumns - numbers : 8);

    std::string text = draw(lines.head, name_width, widths);
    if (change) text += std::string(std::min(kColumns, name_width + numbers), '-') + '\n';
    for (const Line& line : lines.keys)
        text += draw(line, name_width, widths);
    if (!lines.others.empty()) text += change ? "others that changed:\n" : "others:\n";
    for (const Line& line : lines.others)
        text += draw(line, name_width, widths);
    return text + (lines.hidden.empty() ? "" : wrap("not shown: " + lines.hidden, 0, 4));
}

namespace {

std::string change_words(const MetricRow& row, std::size_t i) {
    const stats::Comparison& comparison = row.changes[i].comparison;
    const stats::Summary& base = row.arms[0].summary;
    const stats::Summary& other = row.arms[i + 1].summary;
    const std::string name = ascii(row.metric.name);
    if (!comparison.shift || !base.median || !other.median) return name + ": no values";
    std::string values =
        fmt::format("{} -> {}{}", show_number(*base.median), show_number(*other.median),
                    row.metric.unit.empty() || row.metric.unit == "count"
                        ? ""
                        : fmt::format(" {}", ascii(row.metric.unit)));
    if (comparison.zero_inflated && comparison.total_pct) {
        values += fmt::format(", total {}", show_percent(*comparison.total_pct));
    }
    if (comparison.from_zero) return fmt::format("{} is new ({})", name, values);
    if (comparison.median_pct && *comparison.median_pct != 0) {
        const std::string size = show_percent(std::fabs(*comparison.median_pct)).substr(1);
        return fmt::format("{} {} by {} ({})", name, *comparison.median_pct > 0 ? "rose" : "fell",
                           std::fabs(*comparison.median_pct) < 0.005 ? "under 0.01%" : size,
                           values);
    }
    return fmt::format("{} {}", name, values);
}

std::string p_words(const Change& change) {
    if (!change.comparison.p_adjusted) return "";
    const std::string p = show_p(*change.comparison.p_adjusted);
    return p.starts_with('<') ? ", p " + p : ", p = " + p;
}

const MetricRow* find_row(const CaseReport& report, auto&& wanted) {
    const auto found = std::find_if(report.rows.begin(), report.rows.end(), wanted);
    return found == report.rows.end() ? nullptr : &*found;
}

}  // namespace

std::string verdict_sentence(const ReportData& data, const CaseReport& report, std::size_t change) {
    const stats::Verdict verdict = report.verdicts[change];
    std::string text(name_of(verdict));
    if (report.not_comparable_arms[change + 1]) {
        return text + ": " + *report.not_comparable_arms[change + 1];
    }
    const MetricRow* failed =
        find_row(report, [](const MetricRow& row) { return row.metric.name == kFailedMetric; });
    if (failed != nullptr && failed->changes[change].verdict == stats::Verdict::worse) {
        return text +
               fmt::format(": failed trials {} -> {}", value_cell(*failed, 0),
                           value_cell(*failed, change + 1)) +
               p_words(failed->changes[change]);
    }
    const MetricRow* primary = find_row(report, [](const MetricRow& row) { return row.primary; });
    if (primary == nullptr) return text;
    const Change& of_primary = primary->changes[change];
    if (verdict == stats::Verdict::too_few) {
        const std::size_t base = primary->arms[0].summary.n;
        const std::size_t other = primary->arms[change + 1].summary.n;
        const std::size_t needed = stats::trials_needed(data.header.plan.alpha);
        text +=
            fmt::format(": {}: {} and {} trials count", ascii(primary->metric.name), base, other);
        return text + (std::min(base, other) < needed
                           ? fmt::format(", {} an arm are needed", needed)
                           : ", with too many equal values");
    }
    text += ": " + change_words(*primary, change);
    if (verdict == stats::Verdict::no_change) {
        const double floor = primary->metric.floor;
        text += fmt::format(
            ", within +-{:g}%{}", primary->metric.margin_pct,
            floor > 0 ? fmt::format(" or +-{:g} {}", floor, ascii(primary->metric.unit)) : "");
        return text;
    }
    text += p_words(of_primary);
    if (verdict == stats::Verdict::inconclusive && of_primary.comparison.detectable_pct) {
        text += fmt::format("; a change of {:.2g}% would have been seen",
                            *of_primary.comparison.detectable_pct);
    }
    return text;
}

}  // namespace mano::report
