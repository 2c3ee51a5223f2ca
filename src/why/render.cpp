// SPDX-License-Identifier: GPL-2.0-or-later
// Why → text of 80 columns, and lines for flame graphs.
#include <algorithm>

#include "report/layout.h"
#include "why/why.h"

namespace mano::why {
namespace {

std::string ms(double ns) {
    return fmt::format("{:.3f}", ns / 1e6);
}

std::string case_text(const std::string& name) {
    return name.empty() ? "" : ", " + report::ascii(name);
}

// "running 70%, blocked 30%": what is at least a tenth.
std::string how_text(const std::array<double, 3>& of, double ns) {
    std::string text;
    for (std::size_t how = 0; how < of.size(); ++how) {
        const double share = ns > 0 ? of[how] / ns : 0;
        if (share < 0.1) continue;
        text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ",
                            trace::name_of(static_cast<trace::How>(how)), share * 100);
    }
    return text;
}

std::string chain(const Key& what) {
    std::string text = what.asked;
    if (what.stall != what.asked) text += " <- " + what.stall;
    return report::ascii(text + " <- " + (what.stage.empty() ? "(not sampled)" : what.stage));
}

// "in: planted_sleep 12.500 ms blocked, memcpy_orig 4.2 ms running": the first of them.
std::string leaves_text(const Group& group) {
    constexpr std::size_t kShown = 4;
    std::string text;
    for (std::size_t i = 0; i < group.leaves.size() && i < kShown; ++i) {
        const Leaf& leaf = group.leaves[i];
        if (leaf.ns < group.ns / 50) break;
        const auto most = std::max_element(leaf.how.begin(), leaf.how.end()) - leaf.how.begin();
        text += fmt::format("{}{} {} ms {}", text.empty() ? "in: " : ", ", leaf.function,
                            ms(leaf.ns), trace::name_of(static_cast<trace::How>(most)));
    }
    return report::ascii(text);
}

std::string head_text(const ArmWhy& arm, bool all_tasks) {
    std::string text =
        fmt::format("{}{}: {} stall{} of {}, {} ms in all, in {} attribution trial{}",
                    report::ascii(arm.name), case_text(arm.case_), arm.stalls,
                    arm.stalls == 1 ? "" : "s", all_tasks ? "all tasks" : "the probe",
                    ms(arm.stalled_ns), arm.trials.size(), arm.trials.size() == 1 ? "" : "s");
    std::string out = report::wrap(text, 0, 2);
    text = fmt::format("the probe: true some {} ms, full {} ms; PSI some {}, full {}",
                       ms(arm.some_ns), ms(arm.full_ns),
                       arm.psi_some_us ? ms(*arm.psi_some_us * 1000) + " ms" : "not known",
                       arm.psi_full_us ? ms(*arm.psi_full_us * 1000) + " ms" : "not known");
    if (const auto pct = arm.explained_pct())
        text += fmt::format("; stalls explain {:.1f}% of PSI's total", *pct);
    else if (arm.psi_some_us)
        text += "; too little of PSI (under 10 ms) to set against it";
    return out + report::wrap(text, 2, 4);
}

std::string losses_text(const ArmWhy& arm) {
    std::string out;
    const auto say = [&](const std::string& text) { out += report::wrap(text, 2, 4); };
    if (arm.from_tracepoints)
        say("no kprobes here: stalls are the spans of direct reclaim and compaction");
    if (arm.lost > 0)
        say(fmt::format("lost: {} records didn't fit into the rings: times are lower bounds",
                        arm.lost));
    if (arm.odd > 0) say(fmt::format("lost: {} records weren't understood", arm.odd));
    if (arm.unfinished > 0)
        say(fmt::format("{} began before or ended after the recording: left out", arm.unfinished));
    if (arm.no_symbols) say("lost: the kernel's symbols: stacks are addresses");
    return out;
}

std::string groups_text(const ArmWhy& arm, std::size_t top) {
    if (arm.groups.empty()) return "  nothing stalled\n";
    std::string out = fmt::format("\n  {:>10} {:>6} {:>7} {:>10}  asked <- stalled <- stage\n",
                                  "ms", "share", "count", "longest ms");
    for (std::size_t i = 0; i < arm.groups.size() && i < top; ++i) {
        const Group& group = arm.groups[i];
        out += fmt::format("  {:>10} {:>5.1f}% {:>7} {:>10}  {}\n", ms(group.ns),
                           arm.stalled_ns > 0 ? group.ns / arm.stalled_ns * 100 : 0, group.count,
                           ms(static_cast<double>(group.longest)), how_text(group.how, group.ns));
        out += report::wrap(chain(group.what), 12, 16);
        if (!group.what.stage.empty()) out += report::wrap(leaves_text(group), 14, 18);
    }
    if (arm.groups.size() > top)
        out += fmt::format("  and {} more (--top)\n", arm.groups.size() - top);
    return out;
}

std::string spans_text(const ArmWhy& arm) {
    if (arm.spans.empty()) return "";
    std::string out = fmt::format("\n  {:<16}{:>8} {:>10} {:>10} {:>10} {:>10}\n", "span", "count",
                                  "ms", "median ms", "p99 ms", "longest ms");
    for (const SpanSum& sum : arm.spans) {
        out += fmt::format("  {:<16}{:>8} {:>10} {:>10} {:>10} {:>10}\n", trace::name_of(sum.kind),
                           sum.count, ms(sum.ns), ms(static_cast<double>(sum.median)),
                           sum.p99 > 0 ? ms(static_cast<double>(sum.p99)) : "-",
                           ms(static_cast<double>(sum.longest)));
    }
    return out;
}

std::string culprits_text(const ArmWhy& arm, std::size_t top) {
    if (arm.culprits.empty()) return "";
    std::string out = fmt::format(
        "\n  {} wake-ups of the probe's real-time threads; who ran until the switch:\n"
        "  {:>10} {:>7}  function\n",
        arm.wakeups, "longest us", "count");
    for (std::size_t i = 0; i < arm.culprits.size() && i < top; ++i) {
        const Culprit& culprit = arm.culprits[i];
        out += fmt::format(
            "  {:>10.1f} {:>7}  {}\n", static_cast<double>(culprit.longest) / 1e3, culprit.count,
            culprit.function.empty() ? "(nobody named)" : report::ascii(culprit.function));
    }
    return out;
}

std::string diff_text(const Diff& diff, std::size_t top) {
    std::string out =
        fmt::format("{} -> {}{}: stalled time a trial\n\n  {:>10} {:>10} {:>10}  {}\n",
                    report::ascii(diff.before), report::ascii(diff.after), case_text(diff.case_),
                    "before ms", "after ms", "change ms", "95% interval of the shift, ms");
    for (std::size_t i = 0; i < diff.changes.size() && i < top; ++i) {
        const Change& change = diff.changes[i];
        const std::string interval =
            change.ci95_ns
                ? fmt::format("[{}, {}]", ms(change.ci95_ns->first), ms(change.ci95_ns->second))
                : "-";
        out += fmt::format("  {:>10} {:>10} {:>+10.3f}  {} {}\n", ms(change.before_ns),
                           ms(change.after_ns), (change.after_ns - change.before_ns) / 1e6,
                           interval, change.verdict);
        out += report::wrap(chain(change.what), 12, 16);
    }
    if (diff.changes.size() > top)
        out += fmt::format("  and {} more (--top)\n", diff.changes.size() - top);
    return out;
}

// Frames for flame graphs: no ';' and no blank inside.
std::string frame(std::string_view name) {
    std::string text = report::ascii(name);
    std::replace(text.begin(), text.end(), ';', ':');
    std::replace(text.begin(), text.end(), ' ', '_');
    return text;
}

using Stacks = std::map<std::string, double>;  // "a;b;c" → ns
Stacks stacks_of(const ArmWhy& arm, bool all_tasks) {
    Stacks out;
    for (const TrialWhy& trial : arm.trials) {
        for (const trace::Stall& stall : trial.analysis.stalls) {
            if (!all_tasks && stall.role != trace::Role::probe) continue;
            for (const trace::Slice& slice : stall.slices) {
                std::string key;
                for (const std::string& name :
                     trace::tidy_stack(trial.analysis.stacks[slice.stack]))
                    key += (key.empty() ? "" : ";") + frame(name);
                out[key + ";(" + std::string(trace::name_of(slice.how)) + ")"] +=
                    static_cast<double>(slice.ns);
            }
        }
    }
    return out;
}

}  // namespace

std::string render_text(const Why& why, const Options& options) {
    std::string out =
        report::wrap(fmt::format("why {}: {}{}", why.runset, why.experiment,
                                 why.exact ? ", exact mode: times are virtual (instructions)" : ""),
                     0, 4);
    out += report::wrap(
        "Attribution trials are slower than timed ones: read shares, and compare arms with each "
        "other, not with the table.",
        0, 0);
    for (const Diff& diff : why.diffs) {
        out += "\n" + diff_text(diff, options.top);
        const auto arm = std::find_if(why.arms.begin(), why.arms.end(), [&](const ArmWhy& one) {
            return one.name == diff.before && one.case_ == diff.case_;
        });
        if (arm->trials.size() < diff.trials_needed) {
            out += report::wrap(
                fmt::format("no intervals from {} attribution trial{} an arm: --attribute {}",
                            arm->trials.size(), arm->trials.size() == 1 ? "" : "s",
                            diff.trials_needed),
                2, 4);
        }
    }
    for (const ArmWhy& arm : why.arms) {
        out += "\n" + head_text(arm, why.all_tasks) + losses_text(arm);
        if (!why.diffs.empty()) continue;
        out += groups_text(arm, options.top) + spans_text(arm) + culprits_text(arm, options.top);
    }
    return out;
}

std::string render_folded(const Why& why) {
    std::string out;
    const auto us = [](double ns) { return static_cast<std::uint64_t>(ns / 1000 + 0.5); };
    if (why.diffs.empty()) {
        for (const ArmWhy& arm : why.arms) {
            const std::string root =
                frame(arm.name) + (arm.case_.empty() ? "" : ";" + frame(arm.case_));
            for (const auto& [key, ns] : stacks_of(arm, why.all_tasks)) {
                if (us(ns) > 0) out += fmt::format("{};{} {}\n", root, key, us(ns));
            }
        }
        return out;
    }
    // Two columns, as difference flame graphs take them.
    std::map<std::string, std::array<double, 2>> both;
    for (const Diff& diff : why.diffs) {
        for (const ArmWhy& arm : why.arms) {
            if (arm.case_ != diff.case_) continue;
            const std::string root = arm.case_.empty() ? "" : frame(arm.case_) + ";";
            const std::size_t side = arm.name == diff.before ? 0 : 1;
            for (const auto& [key, ns] : stacks_of(arm, why.all_tasks))
                both[root + key][side] += ns / static_cast<double>(arm.trials.size());
        }
    }
    for (const auto& [key, ns] : both) {
        if (us(ns[0]) + us(ns[1]) > 0) out += fmt::format("{} {} {}\n", key, us(ns[0]), us(ns[1]));
    }
    return out;
}

}  // namespace mano::why
