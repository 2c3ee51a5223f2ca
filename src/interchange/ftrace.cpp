// SPDX-License-Identifier: GPL-2.0-or-later
// The text of ftrace's latency tracers: a trace is a trial, its latency a metric, its culprit and
// stack are facts of the trial. The arm is the kernel's release.
#include "interchange/importers.h"
#include "trace/latency_text.h"

namespace mano::interchange {
namespace {

using measure::Better;
using measure::Kind;

const ForeignMetric kLatency{"us", Kind::max, Better::lower,
                             "the longest latency that the tracer caught", true};

std::string joined(const std::vector<std::string>& stack) {
    std::string text;
    for (const std::string& function : stack)
        text += (text.empty() ? "" : " <- ") + function;
    return text;
}

Status add(const Source& source, Draft& draft, const trace::LatencyTrace& trace) {
    const Place place{trace.line, 1};
    const std::string arm = source.arm.value_or(trace.kernel.empty() ? source.stem : trace.kernel);
    MANO_ASSIGN(const std::uint32_t in_arm, draft.arm(arm, place));
    MANO_ASSIGN(const std::uint32_t in_case, draft.case_("", place));
    MANO_ASSIGN(const std::uint32_t trial, draft.trial(in_arm, in_case, std::nullopt, place));
    const std::string name = fmt::format("ftrace.{}.latency_us", trace.tracer);
    MANO_ASSIGN(const std::uint32_t metric, draft.metric(name, kLatency, place));
    MANO_TRY(draft.value(trial, metric, trace.latency_us, place));
    const std::pair<const char*, std::string> facts[] = {
        {"kernel.release", trace.kernel},
        {"ftrace.task", trace.task},
        {"ftrace.culprit", trace.culprit.value_or("")},
        {"ftrace.culprit_task", trace.culprit_task},
        {"ftrace.flags", trace.flags},
        {"ftrace.stack", joined(trace.stack)}};
    for (const auto& [key, value] : facts) {
        if (!value.empty()) draft.fact(trial, key, value);
    }
    if (!trace.culprit) {
        draft.lose(place, trace.stack.empty()
                              ? "the trace has no stack and no function lines: its culprit isn't "
                                "known (tracefs: options/stacktrace or options/function-trace)"
                              : "the stack holds nothing but tracing, scheduling and the release "
                                "of locks: it names no culprit");
    }
    if (trace.odd_lines > 0) {
        draft.lose(place, fmt::format("{} lines of the trace weren't understood", trace.odd_lines));
    }
    return {};
}

}  // namespace

Status read_ftrace(const Source& source, Draft& draft) {
    MANO_ASSIGN(std::vector<trace::LatencyTrace> traces,
                trace::read_latency_text(source.text, source.file));
    for (trace::LatencyTrace& trace : traces) {
        MANO_TRY(add(source, draft, trace));
        draft.add_trace(std::move(trace));
    }
    return {};
}

}  // namespace mano::interchange
