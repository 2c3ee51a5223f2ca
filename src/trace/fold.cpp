// SPDX-License-Identifier: GPL-2.0-or-later
// Which functions of a stack matter. (Interface: analysis.h.)
#include <algorithm>
#include <array>

#include "trace/analysis.h"
#include "trace/latency_text.h"

namespace mano::trace {
namespace {

bool starts_with_any(std::string_view name, auto const& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Between user space (or a kernel thread's start) and the first function that says something.
bool is_entry(std::string_view name) {
    constexpr std::array<std::string_view, 13> kPrefixes{
        "entry_SYSCALL", "do_syscall_64",  "x64_sys_call",       "__x64_sys_",    "__do_sys_",
        "asm_exc_",      "exc_page_fault", "do_user_addr_fault", "ret_from_fork", "kthread",
        "entry_INT80",   "do_int80",       "__se_sys_"};
    return starts_with_any(name, kPrefixes);
}

// The page allocator and what it does to get memory: who calls these is who asked.
bool is_memory(std::string_view name) {
    constexpr std::array<std::string_view, 46> kPrefixes{"__alloc_pages",
                                                         "alloc_pages",
                                                         "__alloc_frozen_pages",
                                                         "alloc_frozen_pages",
                                                         "get_page_from_freelist",
                                                         "__folio_alloc",
                                                         "folio_alloc",
                                                         "vma_alloc_",
                                                         "alloc_page_vma",
                                                         "__get_free_pages",
                                                         "get_free_pages",
                                                         "get_zeroed_page",
                                                         "try_to_free_pages",
                                                         "do_try_to_free_pages",
                                                         "try_to_free_mem_cgroup_pages",
                                                         "shrink_",
                                                         "do_shrink_slab",
                                                         "try_to_shrink_lruvec",
                                                         "evict_folios",
                                                         "try_to_compact_pages",
                                                         "compact_zone",
                                                         "__compact_",
                                                         "isolate_",
                                                         "migrate_pages",
                                                         "__alloc_contig",
                                                         "kmalloc",
                                                         "__kmalloc",
                                                         "kmem_cache_alloc",
                                                         "___slab_alloc",
                                                         "__slab_alloc",
                                                         "new_slab",
                                                         "allocate_slab",
                                                         "__mem_cgroup_charge",
                                                         "mem_cgroup_charge",
                                                         "charge_memcg",
                                                         "try_charge",
                                                         "obj_cgroup_charge",
                                                         "mem_cgroup_swapin",
                                                         "__node_reclaim",
                                                         "node_reclaim",
                                                         "alloc_slab_page",
                                                         "__kvmalloc",
                                                         "kvmalloc",
                                                         "vmalloc",
                                                         "__vmalloc",
                                                         "alloc_anon_folio"};
    return starts_with_any(name, kPrefixes);
}

bool is_recording(std::string_view name) {
    return name.starts_with("psi_memstall_") || name == "mm_compaction_begin";
}

bool is_waiting(std::string_view name) {
    constexpr std::array<std::string_view, 17> kNames{"schedule_timeout",
                                                      "io_schedule",
                                                      "io_schedule_timeout",
                                                      "schedule_timeout_uninterruptible",
                                                      "schedule_timeout_killable",
                                                      "schedule_timeout_interruptible",
                                                      "schedule_timeout_idle",
                                                      "wait_for_completion",
                                                      "__wait_for_common",
                                                      "wait_for_completion_timeout",
                                                      "schedule_hrtimeout_range",
                                                      "schedule_hrtimeout_range_clock",
                                                      "schedule_hrtimeout",
                                                      "usleep_range_state",
                                                      "usleep_range",
                                                      "msleep",
                                                      "msleep_interruptible"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool says_nothing(std::string_view name) {
    return is_machinery(name) || is_recording(name) || is_waiting(name);
}

// A sample may have hit the recording itself: what ran for it is inside of psi_memstall_*.
std::size_t own_begin(const std::vector<std::string>& stack) {
    for (std::size_t i = stack.size(); i > 0; --i) {
        if (is_recording(stack[i - 1])) return i;
    }
    return 0;
}

}  // namespace

std::vector<std::string> tidy_stack(const std::vector<std::string>& stack) {
    std::vector<std::string> out(stack.rbegin(),
                                 stack.rend() - static_cast<std::ptrdiff_t>(own_begin(stack)));
    std::size_t first = 0;
    while (first < out.size() && is_entry(out[first]))
        ++first;
    // Nothing but the entry: the innermost of it is better than nothing.
    if (first == out.size() && first > 0) --first;
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first));
    while (out.size() > 1 && says_nothing(out.back()) && !is_waiting(out.back()))
        out.pop_back();
    return out;
}

Folded fold_stack(const std::vector<std::string>& at_entry, const std::vector<std::string>& stack) {
    Folded folded;
    // The last function of the memory management on the way out; who asked is behind it.
    std::size_t outermost = at_entry.size();
    for (std::size_t i = 0; i < at_entry.size(); ++i) {
        if (is_memory(at_entry[i])) outermost = i;
        if (folded.stall.empty() && !is_recording(at_entry[i]) && !is_machinery(at_entry[i]))
            folded.stall = at_entry[i];
    }
    const std::size_t asked = outermost == at_entry.size() ? 0 : outermost + 1;
    for (std::size_t i = asked; i < at_entry.size() && folded.asked.empty(); ++i) {
        const bool plain = !is_entry(at_entry[i]) && !says_nothing(at_entry[i]);
        if (plain && (outermost != at_entry.size() || at_entry[i] != folded.stall))
            folded.asked = at_entry[i];
    }
    if (folded.asked.empty())
        folded.asked = asked < at_entry.size() ? at_entry[asked] : folded.stall;
    const std::size_t inner = own_begin(stack);
    const auto leaf = std::find_if(stack.begin() + static_cast<std::ptrdiff_t>(inner), stack.end(),
                                   [](const std::string& name) { return !says_nothing(name); });
    folded.leaf = leaf == stack.end() ? folded.stall : *leaf;
    // The frames that both stacks have are those outside: the stage is the first that only the
    // piece's own stack has.
    const auto at =
        std::find(stack.begin() + static_cast<std::ptrdiff_t>(inner), stack.end(), folded.stall);
    if (at != stack.end() && at != stack.begin() + static_cast<std::ptrdiff_t>(inner)) {
        const std::string& stage = *std::prev(at);
        if (!says_nothing(stage) || is_waiting(stage)) folded.stage = stage;
    }
    return folded;
}

}  // namespace mano::trace
