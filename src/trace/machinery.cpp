// SPDX-License-Identifier: GPL-2.0-or-later
// Which kernel functions say nothing about who was at fault. (Interface: latency_text.h.)
#include <algorithm>
#include <array>

#include "trace/latency_text.h"

namespace mano::trace {
namespace {

// Whole names. Kernels 4.x to 7.3; a name that a kernel doesn't have does no harm.
constexpr std::array<std::string_view, 58> kNames{
    // scheduling
    "schedule", "__schedule", "__schedule_loop", "schedule_rtlock", "schedule_idle",
    "schedule_preempt_disabled", "preempt_schedule", "preempt_schedule_common",
    "preempt_schedule_irq", "preempt_schedule_notrace", "preempt_schedule_thunk",
    "preempt_schedule_notrace_thunk", "__cond_resched", "_cond_resched", "dynamic_cond_resched",
    "dynamic_preempt_schedule", "dynamic_preempt_schedule_notrace", "__cond_resched_lock",
    "context_switch", "finish_task_switch", "migrate_enable", "migrate_disable", "__migrate_enable",
    "preempt_count_add", "preempt_count_sub", "rt_mutex_schedule", "do_sched_yield",
    // leaving an interrupt, a system call, or for user space
    "irqentry_exit", "irqentry_exit_cond_resched", "raw_irqentry_exit_cond_resched",
    "irqentry_exit_to_user_mode", "exit_to_user_mode_loop", "exit_to_user_mode_prepare",
    "syscall_exit_to_user_mode", "do_notify_resume", "ret_from_exception", "ret_from_intr",
    "ret_from_fork", "ret_from_fork_asm", "retint_kernel", "common_interrupt_return",
    "prepare_exit_to_usermode", "el1_preempt", "work_pending",
    // releasing a lock
    "mutex_unlock", "__mutex_unlock_slowpath", "up", "up_read", "up_write", "rt_spin_unlock",
    "rt_read_unlock", "rt_write_unlock", "rt_mutex_unlock", "rt_mutex_slowunlock",
    "__rcu_read_unlock", "rcu_read_unlock_special", "rcu_read_unlock_strict", "local_bh_enable"};

constexpr std::array<std::string_view, 31> kPrefixes{
    // tracing
    "ftrace_", "__ftrace_", "__trace_", "trace_", "tracing_", "tracer_", "probe_wakeup",
    "wakeup_tracer_", "stop_critical_timing", "check_critical_timing", "start_critical_timing",
    "__traceiter_", "perf_trace_", "perf_tp_", "perf_event_", "__perf_event_", "perf_callchain",
    "get_perf_callchain", "perf_prepare_sample", "perf_swevent", "perf_output_", "stack_trace_",
    "arch_stack_walk", "bpf_trace_run",
    // interrupts' entries, which stand between the interrupted function and the scheduler
    "asm_sysvec_", "sysvec_", "asm_common_interrupt", "common_interrupt", "__local_bh_enable",
    "rcu_note_", "__bpf_trace_"};

// "_raw_spin_unlock_irqrestore", "__raw_read_unlock", "rt_spin_unlock", "queued_spin_unlock" …
bool releases_spinlock(std::string_view name) {
    if (name.find("unlock") == std::string_view::npos) return false;
    return name.find("spin_") != std::string_view::npos ||
           name.find("raw_read_") != std::string_view::npos ||
           name.find("raw_write_") != std::string_view::npos ||
           name.find("rt_mutex") != std::string_view::npos;
}

bool is_hex(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
}

}  // namespace

bool is_machinery(std::string_view function) {
    // A compiler's copy is as much machinery as the function.
    const std::string_view name = function.substr(0, function.find('.'));
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
    return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
           releases_spinlock(name);
}

std::optional<std::string> culprit_of(const std::vector<std::string>& stack) {
    const auto found = std::find_if(stack.begin(), stack.end(), [](const std::string& function) {
        return !is_machinery(function);
    });
    if (found == stack.end()) return std::nullopt;
    return *found;
}

std::string_view function_name(std::string_view word) {
    const auto trim = [](std::string_view text) {
        const std::size_t first = text.find_first_not_of(" \t");
        if (first == std::string_view::npos) return std::string_view();
        return text.substr(first, text.find_last_not_of(" \t") - first + 1);
    };
    word = trim(word);
    // "[<ffffffff8100>] name" and "name <ffffffff8100>": options of older and newer kernels.
    if (word.starts_with("[<")) {
        const std::size_t end = word.find(">]");
        word = trim(end == std::string_view::npos ? word : word.substr(end + 2));
    }
    if (const std::size_t open = word.find(" <"); open != std::string_view::npos) {
        const std::size_t close = word.find('>', open);
        if (close != std::string_view::npos && is_hex(word.substr(open + 2, close - open - 2)))
            word = trim(word.substr(0, open));
    }
    if (const std::size_t plus = word.find("+0x"); plus != std::string_view::npos && plus > 0)
        word = word.substr(0, plus);
    // "name [module]"
    if (const std::size_t blank = word.find(' '); blank != std::string_view::npos)
        word = word.substr(0, blank);
    return word;
}

}  // namespace mano::trace
