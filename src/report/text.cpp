// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel developer pastes into a mail. The order is that of a reader's questions: what came
// out, how large, what else, can I trust it, what was it run on, how do I run it.
#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "report/internal.h"
#include "report/layout.h"
#include "report/published.h"
#include "report/text.h"

namespace mano::report {
namespace {

constexpr std::size_t kMaxListed = 10;

std::string or_unknown(const std::string& text) {
    return text.empty() ? "unknown" : text;
}

std::string identity(const ReportData& data, const std::string& key) {
    const auto found = data.header.identity.find(key);
    return found == data.header.identity.end() ? "unknown" : found->second;
}

// "layout (placebo)".
std::string role(const ReportData& data, std::size_t arm) {
    return data.arms[arm].name + (data.arms[arm].placebo ? " (placebo)" : "");
}

std::string headline(const ReportData& data) {
    std::string arms;
    for (std::size_t i = 1; i < data.arms.size(); ++i) {
        arms += (i == 1 ? " -> " : ", ") + data.arms[i].name;
    }
    const std::string head = data.header.plan.experiment + ", " + data.base + arms + ": ";
    if (data.arms.size() < 2) return wrap(head + "one arm, nothing to compare", 0, 4);
    if (data.cases.size() == 1 && data.arms.size() == 2) {
        return wrap(head + verdict_sentence(data, data.cases[0], 0), 0, 4);
    }
    std::string text = wrap(head + std::string(stats::name_of(data.verdict)), 0, 4);
    for (const CaseReport& report : data.cases) {
        for (std::size_t i = 0; i < report.verdicts.size(); ++i) {
            std::string where = report.name;
            if (data.arms.size() > 2) where += (where.empty() ? "" : ", ") + role(data, i + 1);
            text += wrap(where + ": " + verdict_sentence(data, report, i), 2, 6);
        }
    }
    return text;
}

std::string render_notes(const ReportData& data, const Notes& notes) {
    std::vector<std::pair<std::size_t, const Warning*>> ordered;
    for (const Warning& warning : data.warnings) {
        if (const auto note = notes.find(warning.code); note != notes.end()) {
            ordered.emplace_back(note->second, &warning);
        }
    }
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    std::size_t last = 0;
    for (const auto& [number, warning] : ordered) {
        // Several texts of one code share its number.
        const std::string mark = number == last ? "    " : fmt::format("[{}] ", number);
        text += wrap(mark + warning->text + ": " + warning->what_to_do, number == last ? 4 : 0, 4);
        last = number;
    }
    return text;
}

std::string render_cases(const ReportData& data, const Notes& notes) {
    std::string text;
    const bool single = data.cases.size() == 1 && data.arms.size() <= 2;
    for (const CaseReport& report : data.cases) {
        if (data.arms.size() < 2) {
            text += '\n' + (report.name.empty() ? "" : wrap(report.name + ":", 0, 4));
            text += render_table(data, report, std::nullopt, notes);
        }
        for (std::size_t i = 0; i < report.verdicts.size(); ++i) {
            text += '\n';
            if (!single || !report.name.empty()) {
                text += wrap(
                    fmt::format("{}{}{} -> {}: {}", report.name, report.name.empty() ? "" : ": ",
                                data.base, role(data, i + 1), stats::name_of(report.verdicts[i])),
                    0, 4);
            }
            text += render_table(data, report, i, notes);
        }
    }
    return text;
}

std::string render_mishaps(const std::vector<Mishap>& mishaps, std::string_view title) {
    if (mishaps.empty()) return "";
    std::string text = fmt::format("{}\n", title);
    for (std::size_t i = 0; i < mishaps.size() && i < kMaxListed; ++i) {
        const Mishap& each = mishaps[i];
        const std::string line =
            fmt::format("{}{}{}, trial {}: {}: {}", each.arm, each.case_.empty() ? "" : ", ",
                        each.case_, each.trial, each.how, excerpt(each.evidence, 160));
        text += wrap(line, 2, 6);
    }
    if (mishaps.size() > kMaxListed) {
        text += fmt::format("  and {} more\n", mishaps.size() - kMaxListed);
    }
    return text;
}

std::string render_losses(const ReportData& data) {
    struct Sum {
        std::uint64_t count = 0;
        std::set<std::uint32_t> trials;
        std::set<std::string> arms;
    };
    std::map<std::pair<std::string, std::string>, Sum> sums;
    for (const LossRow& row : data.losses) {
        Sum& sum = sums[{row.loss.source, row.loss.meaning}];
        sum.count += row.loss.count;
        sum.trials.insert(row.trial);
        sum.arms.insert(row.arm);
    }
    if (sums.empty()) return "";
    std::string text = "lost data:\n";
    std::size_t listed = 0;
    for (const auto& [what, sum] : sums) {
        if (++listed > kMaxListed) continue;
        std::string arms;
        for (const std::string& arm : sum.arms)
            arms += (arms.empty() ? "" : ", ") + arm;
        text += wrap(fmt::format("{}: {} in {} trials ({}): {}", what.first, sum.count,
                                 sum.trials.size(), arms, excerpt(what.second, 200)),
                     2, 6);
    }
    if (sums.size() > kMaxListed) text += fmt::format("  and {} more\n", sums.size() - kMaxListed);
    return text;
}

std::string slashes(const std::vector<std::string>& values) {
    std::string text;
    for (const std::string& value : values) {
        text += (text.empty() ? "" : " / ") + (value.empty() ? "none" : excerpt(value, 120));
    }
    return text;
}

std::string render_differences(const ReportData& data) {
    std::string text;
    std::set<std::string> said;
    for (const CaseReport& report : data.cases) {
        for (const Equivalence& check : report.equivalence) {
            if (check.same || check.gate || !said.insert(check.check).second) continue;
            text += wrap(fmt::format("{}: {}", check.check, slashes(check.values)), 2, 6);
        }
    }
    std::size_t listed = 0;
    for (const Confounder& each : data.confounders) {
        if (said.contains(each.what) || ++listed > kMaxListed) continue;
        text += wrap(fmt::format("{}: {}", each.what, slashes(each.values)), 2, 6);
    }
    if (listed > kMaxListed) {
        text += fmt::format("  and {} more (--format json)\n", listed - kMaxListed);
    }
    return text.empty() ? "" : "also different, as part of what is compared:\n" + text;
}

std::string shape_words(const plan::GuestShape& shape) {
    std::string text = fmt::format("{} CPU{}, {}", shape.cpus, shape.cpus == 1 ? "" : "s",
                                   show_bytes(shape.memory_bytes));
    text += shape.zram_bytes == 0
                ? ", no swap"
                : fmt::format(", zram {} {}", show_bytes(shape.zram_bytes), shape.zram_compressor);
    text += ", thp " + shape.thp;
    if (shape.lru_gen) text += *shape.lru_gen ? ", lru_gen on" : ", lru_gen off";
    return text;
}

// A live host is what it is: its own thp and swap are among the facts.
std::string host_words(const ReportData& data) {
    const std::string memory = identity(data, "memory_bytes");
    const auto bytes = parse_bytes(memory);
    const plan::GuestShape& shape = data.header.plan.shape;
    return fmt::format("{} CPU{}, {}{}", identity(data, "cpus"), shape.cpus == 1 ? "" : "s",
                       bytes ? show_bytes(bytes->value) : memory,
                       shape.memory_bytes == 0
                           ? std::string()
                           : ", loads in " + show_bytes(shape.memory_bytes) + " of it");
}

// The rule by which the run stopped, and what that did to the p-values.
std::string sequential_words(const plan::Plan& plan) {
    std::string looks;
    for (const std::uint32_t look : plan.looks)
        looks += fmt::format("{}{}", looks.empty() ? "" : ", ", look);
    return fmt::format(
        "stopping rule: the key metrics' 95% intervals within +-{:g}% of the base, looked at after "
        "{} trials an arm and case; p-values are times {} for that, so alpha holds",
        plan.until_pct, looks, plan.looks.size());
}

std::string render_environment(const ReportData& data) {
    const plan::Plan& plan = data.header.plan;
    const bool model = plan.substrate == "model";
    const bool live = plan.substrate == "live";
    const std::string ground = model ? fmt::format("model {}", identity(data, "model"))
                               : live
                                   ? fmt::format("this host, {}", identity(data, "cpu"))
                                   : fmt::format("{}, {}, QEMU {}", plan.substrate,
                                                 identity(data, "accel"), identity(data, "qemu"));
    std::string text =
        wrap(fmt::format("manometer {}: {}; {}", or_unknown(data.header.version), ground,
                         live                           ? host_words(data)
                         : plan.shape.memory_bytes == 0 ? "machine unknown"
                                                        : shape_words(plan.shape)),
             0, 4);
    if (plan.exact) {
        text += wrap("exact: times are virtual (instructions), comparable between these arms only",
                     0, 4);
    }
    for (const ArmReport& arm : data.arms) {
        if (model) {
            text += wrap(fmt::format("{}: {}", arm.name, or_unknown(arm.spec)), 0, 4);
            continue;
        }
        text += wrap(fmt::format("{}: {} ({}), {}{}", arm.name, or_unknown(arm.release),
                                 or_unknown(arm.spec), or_unknown(arm.compiler),
                                 arm.cmdline.empty() ? "" : ", cmdline " + arm.cmdline),
                     0, 4);
    }
    std::string counts = "trials that count:";
    for (const ArmReport& arm : data.arms) {
        counts += arm.stated && arm.trials == 0 ? fmt::format(" {} unknown", arm.name)
                                                : fmt::format(" {} {}", arm.name, arm.trials);
        if (arm.failed > 0) counts += fmt::format(" ({} failed)", arm.failed);
        if (arm.spoiled > 0) counts += fmt::format(" and {} spoiled", arm.spoiled);
        counts += &arm == &data.arms.back() ? "" : ",";
    }
    if (!data.seeds.empty()) {
        counts += fmt::format("; seeds {} to {}", data.seeds.front(), data.seeds.back());
    }
    text += wrap(counts, 0, 4);
    if (plan.paired) text += wrap("pairs of equal seeds: " + plan.paired_because, 0, 4);
    if (!plan.looks.empty()) text += wrap(sequential_words(plan), 0, 4);
    if (data.noise) {
        text += wrap(
            fmt::format("A/A run set {} of {} ({} trials of one kernel here)", data.noise->runset,
                        data.noise->started.substr(0, 10), data.noise->trials),
            0, 4);
    }
    for (const std::string& remark : data.header.remarks)
        text += wrap("note: " + remark, 0, 4);
    text += wrap("run set " + data.header.id, 0, 4);
    if (!data.header.command_line.empty()) {
        text += wrap_command("reproduce: ", data.header.command_line);
    }
    return text;
}

constexpr std::string_view kLegend =
    "Median +-half the range over trials (boots); change of the median, + is more.\n"
    "p: exact rank test, two-sided; * primary alone, key: Holm, others: BH adjusted.\n";

}  // namespace

Notes number_notes(const ReportData& data) {
    std::set<std::string> of_rows;
    std::set<std::string> of_shown;
    for (const CaseReport& report : data.cases) {
        for (const MetricRow& row : report.rows) {
            for (const Change& change : row.changes) {
                of_rows.insert(change.warnings.begin(), change.warnings.end());
                const bool plain = !row.key && change.reason == stats::Reason::no_direction;
                if (row.shown && !plain) {
                    of_shown.insert(change.warnings.begin(), change.warnings.end());
                }
            }
        }
    }
    Notes notes;
    for (const Warning& warning : data.warnings) {
        const bool printed = of_shown.contains(warning.code) || !of_rows.contains(warning.code);
        // The row itself says why.
        if (printed && warning.code != "not-observable") {
            notes.emplace(warning.code, notes.size() + 1);
        }
    }
    return notes;
}

std::string render_after_tables(const ReportData& data, const Notes& notes) {
    std::string text(kLegend);
    if (const std::string lines = render_notes(data, notes); !lines.empty()) text += '\n' + lines;
    std::string mishaps =
        render_mishaps(data.failed, "failed trials (an outcome of the kernel, counted):") +
        render_mishaps(data.spoiled, "spoiled trials (not counted):") + render_losses(data) +
        render_differences(data);
    if (!mishaps.empty()) text += '\n' + mishaps;
    return text + '\n' + render_environment(data);
}

std::string render_text(const ReportData& data) {
    const Notes notes = number_notes(data);
    std::string text = headline(data);
    if (!data.header.plan.question.empty()) text += wrap(data.header.plan.question, 2, 2);
    text += render_cases(data, notes);
    if (const std::string block = render_published(data); !block.empty()) text += '\n' + block;
    return text + '\n' + render_after_tables(data, notes);
}

}  // namespace mano::report
