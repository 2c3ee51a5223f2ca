// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <set>

#include "why/why.h"

namespace mano::why {
namespace {

bool is_chosen(trace::Role role, const Options& options) {
    return options.all_tasks || role == trace::Role::probe;
}

std::optional<double> folded(const measure::TrialRecord& record, const std::string& metric) {
    const auto values = measure::fold(record.samples);
    const auto found = values.find(metric);
    return found == values.end() ? std::nullopt : found->second;
}

TrialWhy trial_of(const store::StoredTrial& trial, trace::Analysis analysis) {
    TrialWhy out;
    out.position = trial.planned.position;
    out.psi_some_us = folded(trial.record, "psi.probe.memory.some.total_us");
    out.psi_full_us = folded(trial.record, "psi.probe.memory.full.total_us");
    out.analysis = std::move(analysis);
    for (const measure::Sample& sample : trial.record.samples) {
        const bool shown = sample.metric.starts_with("buddyinfo.") ||
                           (sample.metric.starts_with("psi.") && sample.metric.ends_with("_us"));
        if (!shown || !sample.iteration || sample.moment == measure::Moment::whole) continue;
        out.counters[*sample.iteration][sample.metric][sample.moment == measure::Moment::after] =
            sample.value;
    }
    return out;
}

// Adds up one arm's trials.
class Adder {
  public:
    Adder(ArmWhy& arm, const Options& options) : arm_(arm), options_(options) {}

    void run() {
        bool some_known = true;
        bool full_known = true;
        double some = 0;
        double full = 0;
        for (std::size_t i = 0; i < arm_.trials.size(); ++i) {
            TrialWhy& trial = arm_.trials[i];
            some_known = some_known && trial.psi_some_us.has_value();
            full_known = full_known && trial.psi_full_us.has_value();
            some += trial.psi_some_us.value_or(0);
            full += trial.psi_full_us.value_or(0);
            add(trial, i);
        }
        if (some_known) arm_.psi_some_us = some;
        if (full_known) arm_.psi_full_us = full;
        finish();
    }

  private:
    void add(TrialWhy& trial, std::size_t index) {
        const trace::Analysis& analysis = trial.analysis;
        arm_.lost += analysis.lost_records;
        arm_.odd += analysis.odd_records;
        arm_.unfinished += analysis.unfinished;
        arm_.from_tracepoints = arm_.from_tracepoints || analysis.from_tracepoints;
        arm_.no_symbols = arm_.no_symbols || analysis.no_symbols;
        arm_.some_ns += static_cast<double>(analysis.probe.some_ns);
        arm_.full_ns += static_cast<double>(analysis.probe.full_ns);
        for (const trace::Stall& stall : analysis.stalls) {
            if (!is_chosen(stall.role, options_)) continue;
            ++arm_.stalls;
            arm_.stalled_ns += static_cast<double>(stall.ns());
            trial.stalled[stall.iteration] += static_cast<double>(stall.ns());
            add_stall(analysis, stall, index);
        }
        for (const trace::Span& span : analysis.spans) {
            // The kernel's own threads work for everybody.
            const bool own =
                span.kind == trace::SpanKind::kswapd || span.kind == trace::SpanKind::kcompactd;
            if (own || is_chosen(span.role, options_)) spans_[span.kind].push_back(&span);
        }
        for (const trace::Wakeup& wakeup : analysis.wakeups) {
            const auto role = trial_roles(analysis, wakeup.tid);
            if (role) add_wakeup(analysis, wakeup);
        }
    }

    // Wake-ups are recorded by priority: the kernel's own stoppers have it as well.
    static bool trial_roles(const trace::Analysis& analysis, std::int32_t tid) {
        return std::find(analysis.probe_tids.begin(), analysis.probe_tids.end(), tid) !=
               analysis.probe_tids.end();
    }

    void add_stall(const trace::Analysis& analysis, const trace::Stall& stall, std::size_t index) {
        std::map<Key, std::uint64_t> parts;
        for (const trace::Slice& slice : stall.slices) {
            const trace::Folded folded =
                trace::fold_stack(analysis.stacks[stall.stack], analysis.stacks[slice.stack]);
            const Key what{folded.asked, folded.stall, folded.stage};
            parts[what] += slice.ns;
            const auto ns = static_cast<double>(slice.ns);
            const auto how = static_cast<std::size_t>(slice.how);
            Leaf& leaf = leaves_[what][folded.leaf];
            leaf.function = folded.leaf;
            leaf.ns += ns;
            leaf.how[how] += ns;
            groups_[what].how[how] += ns;
        }
        for (const auto& [what, ns] : parts) {
            Group& group = groups_[what];
            group.what = what;
            group.per_trial.resize(arm_.trials.size());
            group.per_trial[index] += static_cast<double>(ns);
            group.ns += static_cast<double>(ns);
            ++group.count;
            group.longest = std::max(group.longest, ns);
        }
    }

    void add_wakeup(const trace::Analysis& analysis, const trace::Wakeup& wakeup) {
        ++arm_.wakeups;
        // The idle task holds nobody up.
        const std::string function =
            wakeup.culprit_tid == 0 ? "(idle)"
                                    : trace::fold_stack({}, analysis.stacks[wakeup.stack]).leaf;
        Culprit& culprit = culprits_[function];
        culprit.function = function;
        ++culprit.count;
        culprit.longest = std::max(culprit.longest, wakeup.ns());
    }

    void add_spans(trace::SpanKind kind, const std::vector<const trace::Span*>& spans) {
        SpanSum sum;
        sum.kind = kind;
        sum.count = spans.size();
        std::vector<std::uint64_t> times;
        for (const trace::Span* span : spans) {
            times.push_back(span->ns());
            sum.ns += static_cast<double>(span->ns());
            ++sum.histogram[span->ns() == 0
                                ? 0
                                : static_cast<int>(std::log2(static_cast<double>(span->ns())))];
            if (span->order) ++sum.orders[*span->order];
            if (span->result) ++sum.results[*span->result];
        }
        std::sort(times.begin(), times.end());
        sum.longest = times.back();
        sum.median = times[times.size() / 2];
        constexpr std::size_t kForP99 = 1000;
        if (times.size() >= kForP99) sum.p99 = times[times.size() * 99 / 100];
        arm_.spans.push_back(std::move(sum));
    }

    void finish() {
        for (auto& [what, group] : groups_) {
            for (auto& [function, leaf] : leaves_[what])
                group.leaves.push_back(std::move(leaf));
            std::stable_sort(group.leaves.begin(), group.leaves.end(),
                             [](const Leaf& a, const Leaf& b) { return a.ns > b.ns; });
            arm_.groups.push_back(std::move(group));
        }
        std::stable_sort(arm_.groups.begin(), arm_.groups.end(),
                         [](const Group& a, const Group& b) { return a.ns > b.ns; });
        for (const auto& [kind, spans] : spans_)
            add_spans(kind, spans);
        for (auto& [function, culprit] : culprits_)
            arm_.culprits.push_back(std::move(culprit));
        std::stable_sort(arm_.culprits.begin(), arm_.culprits.end(),
                         [](const Culprit& a, const Culprit& b) { return a.longest > b.longest; });
    }

    ArmWhy& arm_;
    const Options& options_;
    std::map<Key, Group> groups_;
    std::map<Key, std::map<std::string, Leaf>> leaves_;
    std::map<trace::SpanKind, std::vector<const trace::Span*>> spans_;
    std::map<std::string, Culprit> culprits_;
};

Status check_arms(const store::RunSet& runset, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        std::string known;
        bool found = false;
        for (const plan::Arm& arm : runset.plan.arms) {
            found = found || arm.name == name;
            known += (known.empty() ? "" : ", ") + arm.name;
        }
        if (!found)
            return fail(Code::invalid, "run set {} has no arm '{}', expected one of {}", runset.id,
                        name, known);
    }
    return {};
}

Status check_case(const store::RunSet& runset, const std::optional<std::string>& name) {
    if (!name) return {};
    std::string known;
    for (const plan::Case& one : runset.plan.cases) {
        if (one.name == *name) return {};
        known += (known.empty() ? "" : ", ") + (one.name.empty() ? "-" : one.name);
    }
    return fail(Code::invalid, "run set {} has no case '{}', expected one of {}", runset.id, *name,
                known);
}

Result<ArmWhy> build_arm(store::Store& store, const store::RunSet& runset, std::uint32_t arm,
                         std::uint32_t case_, const Options& options) {
    ArmWhy out;
    out.name = runset.plan.arms[arm].name;
    out.case_ = runset.plan.cases[case_].name;
    for (const store::StoredTrial& trial : runset.trials) {
        if (!trial.planned.traced || !trial.done || trial.planned.arm != arm ||
            trial.planned.case_ != case_ || trial.standing == measure::Standing::spoiled) {
            continue;
        }
        MANO_ASSIGN(const std::string text, store.trace(runset.id, trial.planned.position));
        if (text.empty()) continue;
        auto analysis = trace::analyse(text);
        if (!analysis) {
            return wrap(analysis.error(), "the trace of trial {} of run set {}",
                        trial.planned.position, runset.id);
        }
        out.trials.push_back(trial_of(trial, std::move(*analysis)));
    }
    Adder(out, options).run();
    return out;
}

std::string verdict_of(const Change& change) {
    if (change.before_ns == 0) return "appeared";
    if (change.after_ns == 0) return "vanished";
    if (!change.ci95_ns) return "not told apart";
    if (change.ci95_ns->first > 0) return "grew";
    if (change.ci95_ns->second < 0) return "shrank";
    return "not told apart";
}

Diff diff_of(const ArmWhy& before, const ArmWhy& after) {
    Diff diff{before.name, after.name, before.case_, {}, stats::trials_needed(0.05)};
    std::map<Key, std::pair<const Group*, const Group*>> both;
    for (const Group& group : before.groups)
        both[group.what].first = &group;
    for (const Group& group : after.groups)
        both[group.what].second = &group;
    const auto values = [](const Group* group, const ArmWhy& arm) {
        std::vector<double> all = group == nullptr ? std::vector<double>() : group->per_trial;
        all.resize(arm.trials.size());
        return all;
    };
    for (const auto& [what, pair] : both) {
        const std::vector<double> a = values(pair.first, before);
        const std::vector<double> b = values(pair.second, after);
        Change change;
        change.what = what;
        for (const double ns : a)
            change.before_ns += ns / static_cast<double>(a.size());
        for (const double ns : b)
            change.after_ns += ns / static_cast<double>(b.size());
        if (const auto shift = stats::hodges_lehmann(a, b)) change.ci95_ns = shift->ci95;
        change.verdict = verdict_of(change);
        diff.changes.push_back(std::move(change));
    }
    std::stable_sort(
        diff.changes.begin(), diff.changes.end(), [](const Change& a, const Change& b) {
            return std::abs(a.after_ns - a.before_ns) > std::abs(b.after_ns - b.before_ns);
        });
    return diff;
}

}  // namespace

std::optional<double> ArmWhy::explained_pct() const {
    constexpr double kLeastUs = 10'000;
    if (!psi_some_us || *psi_some_us < kLeastUs) return std::nullopt;
    return some_ns / 1000 / *psi_some_us * 100;
}

Result<Why> build(store::Store& store, const store::RunSet& runset, const Options& options,
                  const std::optional<std::pair<std::string, std::string>>& diff) {
    MANO_TRY(check_arms(runset, options.arms));
    if (diff) MANO_TRY(check_arms(runset, {diff->first, diff->second}));
    MANO_TRY(check_case(runset, options.case_));
    Why why;
    why.runset = runset.id;
    why.experiment = runset.plan.experiment;
    why.exact = runset.plan.exact;
    why.all_tasks = options.all_tasks;
    const auto wanted = [&](const std::string& name) {
        if (diff) return name == diff->first || name == diff->second;
        return options.arms.empty() ||
               std::find(options.arms.begin(), options.arms.end(), name) != options.arms.end();
    };
    for (std::uint32_t case_ = 0; case_ < runset.plan.cases.size(); ++case_) {
        if (options.case_ && runset.plan.cases[case_].name != *options.case_) continue;
        for (std::uint32_t arm = 0; arm < runset.plan.arms.size(); ++arm) {
            if (!wanted(runset.plan.arms[arm].name)) continue;
            MANO_ASSIGN(ArmWhy one, build_arm(store, runset, arm, case_, options));
            if (!one.trials.empty()) why.arms.push_back(std::move(one));
        }
    }
    if (why.arms.empty()) {
        return fail(Code::invalid,
                    "run set {} has no attribution trial{}: run the experiment with --attribute N",
                    runset.id, options.case_ || !options.arms.empty() ? " there" : "");
    }
    if (!diff) return why;
    for (const ArmWhy& before : why.arms) {
        if (before.name != diff->first) continue;
        for (const ArmWhy& after : why.arms) {
            if (after.name == diff->second && after.case_ == before.case_)
                why.diffs.push_back(diff_of(before, after));
        }
    }
    if (why.diffs.empty()) {
        return fail(Code::invalid,
                    "run set {}: arms '{}' and '{}' have no attribution trials in the same case",
                    runset.id, diff->first, diff->second);
    }
    return why;
}

}  // namespace mano::why
