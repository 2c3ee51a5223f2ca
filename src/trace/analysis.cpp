// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/analysis.h"

#include <algorithm>
#include <array>
#include <set>

#include "trace/records.h"
#include "trace/symbols.h"

namespace mano::trace {
namespace {

constexpr std::size_t kMaxEach = 4'000'000;  // stalls, spans, wake-ups of one trial

// A task as the records come by.
struct Task {
    Role role = Role::other;
    // The stall that it is in.
    unsigned depth = 0;
    Stall stall;
    std::vector<std::uint32_t> samples;
    std::optional<std::uint64_t> off_ns;  // since when it isn't on a CPU
    std::uint32_t off_stack = 0;
    How off_how = How::blocked;
    bool on_cpu = false;
    // Begun spans, by kind, and what was asked for.
    std::array<std::optional<Span>, kSpanKinds> open;
    std::optional<std::int64_t> order;
    // A wake-up that waits for its switch.
    std::optional<std::uint64_t> woken_ns;
};

class Analyser {
  public:
    Analyser(const std::vector<Part>& parts, const Records& records)
        : parts_(parts), records_(records) {}

    Analysis run() {
        read_parts();
        out_.records = records_.all().size();
        out_.lost_records = records_.lost().records;
        out_.odd_records = records_.lost().odd;
        out_.from_tracepoints = !records_.has(EventKind::stall_enter);
        for (const Record& record : records_.all())
            take(record);
        for (const auto& [tid, task] : tasks_) {
            out_.unfinished += task.depth > 0 ? 1 : 0;
            if (task.role == Role::probe) out_.probe_tids.push_back(tid);
        }
        return std::move(out_);
    }

  private:
    void read_parts() {
        std::string symbols;
        for (const Part& part : parts_) {
            if (part.head.kind == PartKind::symbols) symbols += part.bytes;
            if (part.head.kind == PartKind::text) out_.wakeup_rt += part.bytes;
            if (part.head.kind == PartKind::window && part.bytes.size() >= 16) {
                out_.windows[part.head.number] = {number_in<std::uint64_t>(part.bytes, 0),
                                                  number_in<std::uint64_t>(part.bytes, 8)};
            }
            if (part.head.kind != PartKind::crew || part.head.number > 2) continue;
            for (std::size_t at = 0; at + 4 <= part.bytes.size(); at += 4) {
                const auto pid = number_in<std::int32_t>(part.bytes, at);
                if (pid > 0) tasks_[pid].role = static_cast<Role>(part.head.number);
            }
        }
        symbols_ = Symbols::read(symbols);
        out_.no_symbols = symbols_.empty();
    }

    std::uint32_t stack_of(const Record& record) {
        const auto known = stacks_.find(record.stack);
        if (known != stacks_.end()) return known->second;
        const auto number = static_cast<std::uint32_t>(out_.stacks.size());
        std::vector<std::string> names;
        for (std::size_t i = 0; i < record.stack_size(); ++i) {
            // Return addresses lie behind the call, which may be the function's last instruction.
            const std::uint64_t at = record.stack_at(i) - (i == 0 ? 0 : 1);
            names.push_back(symbols_.name_of(at));
        }
        out_.stacks.push_back(std::move(names));
        stacks_.emplace(record.stack, number);
        return number;
    }

    void take(const Record& record) {
        if (record.kind == RecordKind::fork) {
            // Threads and children belong to whoever made them.
            const auto parent = tasks_.find(record.parent);
            tasks_[record.tid] = {};
            if (parent != tasks_.end()) tasks_[record.tid].role = parent->second.role;
            return;
        }
        if (record.kind == RecordKind::name) {
            out_.names[record.tid] = std::string(record.raw.substr(0, 15));
            return;
        }
        if (record.kind == RecordKind::exit) return;
        advance(record.time_ns);
        switch (record.event) {
            case EventKind::stall_enter:
                return enter(record);
            case EventKind::stall_leave:
                return leave(record);
            case EventKind::sched_switch:
                return switched(record);
            case EventKind::clock:
                return sampled(record);
            case EventKind::waking:
                if (const auto tid = records_.field(record, "pid"))
                    tasks_[static_cast<std::int32_t>(*tid)].woken_ns = record.time_ns;
                return;
            default:
                return span(record);
        }
    }

    // Time goes on: what the probe as a whole did since the last record counts.
    void advance(std::uint64_t now) {
        if (last_ns_ != 0 && now > last_ns_ && stalled_ > 0) {
            out_.probe.some_ns += now - last_ns_;
            if (busy_ == 0) out_.probe.full_ns += now - last_ns_;
        }
        last_ns_ = std::max(last_ns_, now);
    }
    bool is_busy(const Task& task) const { return task.on_cpu && task.depth == 0; }
    template <typename Change>
    void change(Task& task, Change apply) {
        if (task.role != Role::probe) return apply();
        stalled_ -= task.depth > 0 ? 1 : 0;
        busy_ -= is_busy(task) ? 1 : 0;
        apply();
        stalled_ += task.depth > 0 ? 1 : 0;
        busy_ += is_busy(task) ? 1 : 0;
    }

    void enter(const Record& record) {
        Task& task = tasks_[record.tid];
        change(task, [&] {
            task.on_cpu = true;
            if (task.depth++ > 0) return;
            task.stall = {};
            task.stall.tid = record.tid;
            task.stall.role = task.role;
            task.stall.iteration = record.iteration;
            task.stall.begin_ns = record.time_ns;
            task.stall.stack = stack_of(record);
            task.samples.clear();
            task.off_ns.reset();
        });
    }

    void leave(const Record& record) {
        Task& task = tasks_[record.tid];
        if (task.depth == 0) {
            ++out_.unfinished;
            return;
        }
        change(task, [&] {
            if (--task.depth > 0) return;
            close(task, record.time_ns);
        });
    }

    void close(Task& task, std::uint64_t now) {
        Stall& stall = task.stall;
        stall.end_ns = std::max(now, stall.begin_ns);
        std::uint64_t off = 0;
        for (const Slice& slice : stall.slices)
            off += slice.ns;
        const std::uint64_t on = stall.ns() - std::min(off, stall.ns());
        // What ran in between is spread over the samples of it.
        std::uint64_t left = on;
        for (std::size_t i = 0; i < task.samples.size(); ++i) {
            const std::uint64_t part =
                i + 1 == task.samples.size() ? left : on / task.samples.size();
            stall.slices.push_back({task.samples[i], How::running, part});
            left -= part;
        }
        if (task.samples.empty() && on > 0) stall.slices.push_back({stall.stack, How::running, on});
        if (out_.stalls.size() < kMaxEach) out_.stalls.push_back(stall);
    }

    void switched(const Record& record) {
        const auto state = records_.field(record, "prev_state");
        Task& off = tasks_[record.tid];
        const std::uint32_t stack = stack_of(record);
        change(off, [&] { off.on_cpu = false; });
        if (off.depth > 0) {
            off.off_ns = record.time_ns;
            off.off_stack = stack;
            // TASK_REPORT_MAX marks who was preempted (include/trace/events/sched.h).
            constexpr std::int64_t kAwake = 0xff;
            off.off_how = state && (*state & kAwake) == 0 ? How::runnable : How::blocked;
        }
        const auto next = records_.field(record, "next_pid");
        if (!next) return;
        Task& on = tasks_[static_cast<std::int32_t>(*next)];
        change(on, [&] { on.on_cpu = true; });
        if (on.depth > 0 && on.off_ns) {
            on.stall.slices.push_back(
                {on.off_stack, on.off_how, record.time_ns - std::min(*on.off_ns, record.time_ns)});
            on.off_ns.reset();
        }
        if (on.woken_ns && record.time_ns >= *on.woken_ns && out_.wakeups.size() < kMaxEach) {
            Wakeup wakeup;
            wakeup.tid = static_cast<std::int32_t>(*next);
            wakeup.cpu = record.cpu;
            wakeup.iteration = record.iteration;
            wakeup.woken_ns = *on.woken_ns;
            wakeup.running_ns = record.time_ns;
            wakeup.culprit_tid = record.tid;
            wakeup.stack = stack;
            wakeup.culprit_state = state;
            out_.wakeups.push_back(wakeup);
        }
        on.woken_ns.reset();
    }

    void sampled(const Record& record) {
        Task& task = tasks_[record.tid];
        constexpr std::size_t kMost = 1'000'000;
        if (task.depth > 0 && task.samples.size() < kMost) task.samples.push_back(stack_of(record));
    }

    // Spans whose begin and end are events of the same task.
    void span(const Record& record) {
        Task& task = tasks_[record.tid];
        switch (record.event) {
            case EventKind::direct_reclaim_begin:
                return begin(task, record, SpanKind::direct_reclaim, "order");
            case EventKind::direct_reclaim_end:
                return end(task, record, SpanKind::direct_reclaim, "nr_reclaimed");
            case EventKind::memcg_reclaim_begin:
                return begin(task, record, SpanKind::memcg_reclaim, "order");
            case EventKind::memcg_reclaim_end:
                return end(task, record, SpanKind::memcg_reclaim, "nr_reclaimed");
            case EventKind::try_to_compact:
                task.order = records_.field(record, "order");
                return;
            case EventKind::compaction_begin:
                begin(task, record, SpanKind::compaction, "order");
                if (auto& open = task.open[static_cast<std::size_t>(SpanKind::compaction)])
                    open->order = task.order;
                return;
            case EventKind::compaction_end:
                return end(task, record, SpanKind::compaction, "status");
            case EventKind::kswapd_wake:
                return begin(task, record, SpanKind::kswapd, "order");
            case EventKind::kswapd_sleep:
                return end(task, record, SpanKind::kswapd, "");
            case EventKind::kcompactd_wake:
                return begin(task, record, SpanKind::kcompactd, "order");
            case EventKind::kcompactd_sleep:
                return end(task, record, SpanKind::kcompactd, "");
            case EventKind::contention_begin:
                return begin(task, record, SpanKind::contention, "");
            case EventKind::contention_end:
                return end(task, record, SpanKind::contention, "ret");
            case EventKind::throttled:
                return throttled(task, record);
            default:
                return;
        }
    }

    void begin(Task& task, const Record& record, SpanKind kind, std::string_view order) {
        auto& open = task.open[static_cast<std::size_t>(kind)];
        // kswapd may be woken while it is awake: the span goes on.
        if (open && (kind == SpanKind::kswapd || kind == SpanKind::kcompactd)) return;
        open.emplace();
        open->kind = kind;
        open->tid = record.tid;
        open->role = task.role;
        open->iteration = record.iteration;
        open->begin_ns = record.time_ns;
        if (record.stack_size() > 0) open->stack = stack_of(record);
        if (!order.empty()) open->order = records_.field(record, order);
        if (!out_.from_tracepoints || !is_stall(kind)) return;
        enter(record);
    }

    // Without kprobes these stand for the stalls.
    static bool is_stall(SpanKind kind) {
        return kind == SpanKind::direct_reclaim || kind == SpanKind::memcg_reclaim ||
               kind == SpanKind::compaction;
    }

    void end(Task& task, const Record& record, SpanKind kind, std::string_view result) {
        auto& open = task.open[static_cast<std::size_t>(kind)];
        if (!open) return;
        open->end_ns = std::max(record.time_ns, open->begin_ns);
        if (!result.empty()) open->result = records_.field(record, result);
        if (out_.spans.size() < kMaxEach) out_.spans.push_back(*open);
        open.reset();
        if (out_.from_tracepoints && is_stall(kind)) leave(record);
    }

    void throttled(Task& task, const Record& record) {
        const auto delayed = records_.field(record, "usec_delayed");
        if (!delayed || *delayed < 0 || out_.spans.size() >= kMaxEach) return;
        const std::uint64_t ns =
            std::min<std::uint64_t>(static_cast<std::uint64_t>(*delayed) * 1000, record.time_ns);
        Span span;
        span.kind = SpanKind::throttled;
        span.tid = record.tid;
        span.role = task.role;
        span.iteration = record.iteration;
        span.begin_ns = record.time_ns - ns;
        span.end_ns = record.time_ns;
        span.stack = stack_of(record);
        span.result = records_.field(record, "reason");
        out_.spans.push_back(span);
    }

    const std::vector<Part>& parts_;
    const Records& records_;
    Symbols symbols_;
    Analysis out_;
    std::map<std::int32_t, Task> tasks_;
    std::map<std::string_view, std::uint32_t> stacks_;
    std::uint64_t last_ns_ = 0;
    int stalled_ = 0, busy_ = 0;  // tasks of the probe
};

}  // namespace

std::string_view name_of(How how) {
    constexpr std::array<std::string_view, 3> kNames{"blocked", "runnable", "running"};
    return kNames[static_cast<std::size_t>(how)];
}

std::string_view name_of(SpanKind kind) {
    constexpr std::array<std::string_view, kSpanKinds> kNames{
        "direct reclaim", "memcg reclaim", "compaction",     "kswapd",
        "kcompactd",      "throttled",     "lock contention"};
    return kNames[static_cast<std::size_t>(kind)];
}

Result<Analysis> analyse(std::string_view trace) {
    MANO_ASSIGN(const std::vector<Part> parts, read_parts(trace));
    const Records records = Records::read(parts);
    return Analyser(parts, records).run();
}

}  // namespace mano::trace
