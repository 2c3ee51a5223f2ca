// SPDX-License-Identifier: GPL-2.0-or-later
// Widths, number formats and order are those of lkp-tests' lib/compare.rb, so that whoever reads
// the robot's mails reads this, and so that such a mail, imported, prints as it came.
// docs/formats/lkp.md says where it differs on purpose.
#include <algorithm>
#include <cmath>
#include <map>

#include "report/internal.h"
#include "report/layout.h"
#include "report/renderers.h"

namespace mano::report {
namespace {

constexpr std::size_t kAbsWidth = 10;
constexpr std::size_t kRelWidth = 10;
constexpr std::size_t kErrWidth = 6;
constexpr std::size_t kBaseWidth = kAbsWidth + kErrWidth;
constexpr std::size_t kHeadWidth = kBaseWidth + kRelWidth + 1;
constexpr double kShownStddev = 2;

struct Entry {
    const MetricRow* row = nullptr;
    std::string name;
    bool failure = false;
};

// "2.00", "1103082", "3.076e+08": below 1000 two decimals, above 1e8 four digits, else whole.
std::string value_text(double value) {
    const double size = std::fabs(value);
    if (size < 1000) return fmt::format("{:.2f}", value);
    if (size > 1e8) return fmt::format("{:.4g}", value);
    return fmt::format("{:.0f}", std::trunc(value));
}

std::optional<double> stddev_pct(const ArmValues& arm) {
    if (arm.stated) {
        if (!arm.stated->stddev_pct || arm.stated->n == 1) return std::nullopt;
        return arm.stated->stddev_pct;
    }
    const auto& mean = arm.summary.mean;
    if (arm.summary.n < 2 || !mean || !arm.summary.stddev_population) return std::nullopt;
    // At a mean of 0 LKP shows the standard deviation itself as a percentage: that is no number.
    if (*mean == 0) return std::nullopt;
    const double pct = 100 * *arm.summary.stddev_population / *mean;
    if (!(pct > kShownStddev)) return std::nullopt;
    return pct;
}

std::string value_cell(const ArmValues& arm) {
    const std::string value = arm.summary.mean ? value_text(*arm.summary.mean) : "-";
    const auto pct = stddev_pct(arm);
    return pad_left(value, kAbsWidth) +
           (pct ? fmt::format(" \u00b1{:3.0f}%", std::trunc(*pct)) : std::string(kErrWidth, ' '));
}

// Ten columns and a '%' or a blank.
std::string change_cell(const std::string& name, const ArmValues& base, const ArmValues& head) {
    const auto cell = [](std::string_view text) {
        const bool percent = text.ends_with('%');
        if (percent) text.remove_suffix(1);
        return pad_left(text, kRelWidth) + (percent ? "% " : "  ");
    };
    if (head.stated && !head.stated->change.empty()) return cell(head.stated->change);
    if (!base.summary.mean || !head.summary.mean) return cell("-");
    const double from = *base.summary.mean;
    const double to = *head.summary.mean;
    const bool absolute = lkp_is_absolute(name);
    if (!absolute && from == 0) return cell(to == 0 ? "+0.0%" : "new");
    const double change = absolute ? to - from : 100 * (to - from) / from;
    const std::string text = std::fabs(change) < 100000 ? fmt::format("{:+.1f}", change)
                                                        : fmt::format("{:+.2g}", change);
    return cell(text + (absolute ? "" : "%"));
}

std::string perf_line(const Entry& entry) {
    std::string text;
    for (std::size_t i = 0; i < entry.row->arms.size(); ++i) {
        if (i > 0) text += change_cell(entry.name, entry.row->arms[0], entry.row->arms[i]);
        text += value_cell(entry.row->arms[i]);
    }
    return text + "  " + ascii(entry.name) + '\n';
}

// Runs that failed of those that there were.
std::pair<std::uint64_t, std::uint64_t> fails(const ArmValues& arm) {
    const std::size_t runs = arm.stated ? arm.summary.n : arm.values.size();
    const double total = arm.summary.total.value_or(arm.summary.mean.value_or(0) *
                                                    static_cast<double>(arm.summary.n));
    return {static_cast<std::uint64_t>(std::max(0.0, std::round(total))), runs};
}

std::string failure_line(const Entry& entry) {
    const auto [base, base_runs] = fails(entry.row->arms[0]);
    std::string text;
    for (std::size_t i = 0; i < entry.row->arms.size(); ++i) {
        const ArmValues& arm = entry.row->arms[i];
        const auto [count, runs] = fails(arm);
        if (i > 0) {
            // The head's rate by the head's runs: LKP divides by the base's.
            const auto rate = [](std::uint64_t some, std::uint64_t all) {
                return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
            };
            const double change = 100 * (rate(count, runs) - rate(base, base_runs));
            std::string cell = fmt::format("{:.0f}%", change);
            if (arm.stated && !arm.stated->change.empty()) cell = arm.stated->change;
            text += pad_left(cell, kRelWidth + 1) + ' ';
        }
        text += pad_left(count == 0 ? "" : fmt::format("{}", count), kAbsWidth + 1);
        text += ':' + pad_right(fmt::format("{}", runs), kErrWidth - 2);
    }
    return text + "  " + ascii(entry.name) + '\n';
}

// Failures first, the tests' own numbers, then monitors by how many rows they have, then by name.
void sort_as_lkp(std::vector<Entry>& entries) {
    std::map<std::string, std::size_t> sizes;
    const auto base_of = [](const Entry& entry) {
        return entry.name.substr(0, entry.name.find('.'));
    };
    for (const Entry& entry : entries)
        ++sizes[base_of(entry)];
    std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
        const auto rank = [&](const Entry& entry) {
            const bool own = lkp_is_own(entry.name);
            return std::tuple(entry.failure ? 0 : 1, own ? 0 : sizes.at(base_of(entry)));
        };
        if (rank(a) != rank(b)) return rank(a) < rank(b);
        return a.name < b.name;
    });
}

std::vector<Entry> choose_entries(const ReportData& data, const CaseReport& report) {
    std::vector<Entry> entries;
    for (const MetricRow& row : report.rows) {
        const bool stated = std::any_of(row.arms.begin(), row.arms.end(), [](const ArmValues& arm) {
            return arm.stated.has_value();
        });
        bool chosen = row.shown;
        if (data.rule == Rule::lkp && !stated) {
            chosen = std::any_of(row.changes.begin(), row.changes.end(), [](const Change& change) {
                return change.lkp && change.lkp->changed;
            });
        }
        if (!chosen) continue;
        Entry entry{&row, lkp_name(row.metric.name, data.foreign), false};
        entry.failure = lkp_is_failure(entry.name) || row.metric.name == kFailedMetric;
        entries.push_back(std::move(entry));
    }
    if (data.sort == Sort::table) sort_as_lkp(entries);
    return entries;
}

std::string header(const ReportData& data, const CaseReport& report) {
    std::string text;
    const std::string& experiment = data.header.plan.experiment;
    if (!report.name.empty() || experiment != "imported") {
        text += std::string(89, '=') + '\n';
        text += fmt::format("experiment{}:\n  {}{}\n\n", report.name.empty() ? "" : "/case",
                            ascii(experiment), report.name.empty() ? "" : "/" + ascii(report.name));
    }
    text += data.foreign ? "commit: \n" : "arm: \n";
    for (const ArmReport& arm : data.arms) {
        text += "  " + ascii(arm.name);
        if (!arm.release.empty()) text += " (" + ascii(arm.release) + ")";
        text += '\n';
    }
    text += '\n' + pad_left(ascii(data.arms[0].name).substr(0, kBaseWidth), kBaseWidth) + ' ';
    for (std::size_t i = 1; i < data.arms.size(); ++i) {
        text += pad_left(ascii(data.arms[i].name).substr(0, kHeadWidth), kHeadWidth) + ' ';
    }
    text += '\n' + std::string(kBaseWidth, '-') + ' ';
    for (std::size_t i = 1; i < data.arms.size(); ++i)
        text += std::string(kHeadWidth, '-') + ' ';
    return text + '\n';
}

std::string repeat(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

std::string hidden(const CaseReport& report, std::size_t printed) {
    const std::size_t all = report.rows.size();
    std::string text;
    const auto add = [&](std::uint64_t count, std::string_view what) {
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    };
    add(report.hidden_unchanged, "without a change");
    add(report.hidden_undecided, "without an answer");
    add(report.hidden_below_floor, "below their floor");
    if (!text.empty()) text += " (--all shows them)";
    add(report.hidden_unmatched, "that match no --metric");
    if (printed >= all && report.hidden_unmatched == 0) return "";
    return text.empty() ? "" : wrap("not shown: " + text, 0, 4);
}

std::string hidden_by_rule(const CaseReport& report, std::size_t printed) {
    std::string text =
        fmt::format("not shown: {} that LKP's rule calls unchanged", report.rows.size() - printed);
    if (report.hidden_unmatched > 0) {
        text += fmt::format(", {} that match no --metric", report.hidden_unmatched);
    }
    return wrap(text, 0, 4);
}

std::string render_case(const ReportData& data, const CaseReport& report) {
    const std::vector<Entry> entries = choose_entries(data, report);
    const std::size_t heads = data.arms.size() - 1;
    std::string text = header(data, report);
    std::string failures;
    std::string perf;
    for (const Entry& entry : entries)
        (entry.failure ? failures : perf) += entry.failure ? failure_line(entry) : perf_line(entry);
    if (!failures.empty()) {
        text += "       fail:runs" + repeat("  %reproduction    fail:runs", heads) + '\n';
        text += "           |    " + repeat("         |             |    ", heads) + '\n';
        text += failures;
    }
    if (!perf.empty()) {
        text += "         %stddev" + repeat("     %change         %stddev", heads) + '\n';
        text += "             \\  " + repeat("        |                \\  ", heads) + '\n';
        text += perf;
    }
    if (entries.empty()) text += "no row to show\n";
    const std::string rest = data.rule == Rule::lkp ? hidden_by_rule(report, entries.size())
                                                    : hidden(report, entries.size());
    return text + (rest.empty() ? "" : '\n' + rest) + '\n';
}

}  // namespace

std::string render_lkp(const ReportData& data) {
    std::string text;
    for (const CaseReport& report : data.cases)
        text += render_case(data, report);
    const bool stated = std::any_of(data.arms.begin(), data.arms.end(),
                                    [](const ArmReport& arm) { return arm.stated; });
    if (stated) {
        for (const Warning& warning : data.warnings) {
            if (warning.code == "means-only") {
                text += wrap("note: " + warning.text + ": " + warning.what_to_do, 0, 4);
            }
        }
    }
    return text + render_rules(data);
}

}  // namespace mano::report
