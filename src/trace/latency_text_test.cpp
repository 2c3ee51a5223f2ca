// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/latency_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace mano::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
    auto text = read_file(std::string(MANO_SOURCE_DIR "/tests/fixtures/trace/") + name);
    EXPECT_TRUE(text) << name;
    return text ? *text : std::string();
}

LatencyTrace one(const std::string& text) {
    auto traces = read_latency_text(text, "file");
    EXPECT_TRUE(traces) << (traces ? "" : traces.error().text());
    if (!traces || traces->size() != 1) {
        ADD_FAILURE() << "not one trace";
        return {};
    }
    return traces->front();
}

TEST(LatencyText, TheLoopThatHoldsItsLock) {
    const LatencyTrace trace = one(fixture("wakeup_rt-before.trace"));
    EXPECT_EQ(trace.tracer, "wakeup_rt");
    EXPECT_EQ(trace.kernel, "6.5.0-rt6-r1208-00003-g999d221864bf");
    EXPECT_EQ(trace.latency_us, 2552);
    EXPECT_EQ(trace.cpu, 3U);
    EXPECT_EQ(trace.model, "preempt_rt");
    EXPECT_EQ(trace.task, "cyclictest-196");
    EXPECT_EQ(trace.pid, 196);
    EXPECT_EQ(trace.rt_priority, 99);
    EXPECT_EQ(trace.culprit, "madvise_cold_or_pageout_pte_range");
    EXPECT_EQ(trace.culprit_task, "stress-n-206");
    EXPECT_EQ(trace.flags, "d...3..");
    ASSERT_EQ(trace.stack.size(), 17U);
    EXPECT_EQ(trace.stack.back(), "ret_from_exception");
    EXPECT_EQ(trace.odd_lines, 0U);
}

TEST(LatencyText, TheSameWithTheBreak) {
    const LatencyTrace trace = one(fixture("wakeup_rt-after.trace"));
    EXPECT_EQ(trace.latency_us, 1689);
    EXPECT_EQ(trace.cpu, 0U);
    EXPECT_EQ(trace.culprit, "free_unref_page_list");
    EXPECT_EQ(trace.culprit_task, "stress-n-232");
}

TEST(LatencyText, SeveralTracesInOneText) {
    const auto both = read_latency_text(
        fixture("wakeup_rt-before.trace") + "\n" + fixture("wakeup_rt-after.trace"), "file");
    ASSERT_TRUE(both);
    ASSERT_EQ(both->size(), 2U);
    EXPECT_EQ(both->at(0).latency_us, 2552);
    EXPECT_EQ(both->at(1).latency_us, 1689);
}

// The header as kernels of the 2.6 age print it, without '#', with older columns and a function
// trace in place of stacks.
TEST(LatencyText, OldHeaderAndFunctionLines) {
    const LatencyTrace trace = one(R"(# tracer: irqsoff
#
irqsoff latency trace v1.1.5 on 2.6.26-rc8-tip
--------------------------------------------------------------------
 latency: 97 us, #4/4, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)
    -----------------
    | task: swapper-0 (uid:0 nice:0 policy:0 rt_prio:0)
    -----------------
 => started at: apic_timer_interrupt
 => ended at:   do_softirq

#                _------=> CPU#
#  cmd     pid   ||||| time  |   caller
#     \   /      |||||   \   |   /
  <idle>-0     0d..1    0us+: trace_hardirqs_off_thunk (apic_timer_interrupt)
  <idle>-0     0d.s.   97us : __do_softirq <-do_softirq
  <idle>-0     0d.s1   98us : trace_hardirqs_on <-_raw_spin_unlock_irq
)");
    EXPECT_EQ(trace.tracer, "irqsoff");
    EXPECT_EQ(trace.kernel, "2.6.26-rc8-tip");
    EXPECT_EQ(trace.latency_us, 97);
    EXPECT_EQ(trace.task, "swapper-0");
    EXPECT_EQ(trace.rt_priority, 0);
    EXPECT_EQ(trace.culprit, "__do_softirq");
    EXPECT_EQ(trace.culprit_task, "<idle>-0");
}

TEST(LatencyText, NamesWithOffsetsAddressesAndModules) {
    EXPECT_EQ(function_name(" rt_spin_unlock+0x1c/0x60"), "rt_spin_unlock");
    EXPECT_EQ(function_name("[<ffffffff810b1234>] shrink_node+0x1/0x2"), "shrink_node");
    EXPECT_EQ(function_name("shrink_node <ffffffff810b1234>"), "shrink_node");
    EXPECT_EQ(function_name("zram_submit_bio [zram]"), "zram_submit_bio");
    EXPECT_EQ(function_name("do_vmi_align_munmap.constprop.0"), "do_vmi_align_munmap.constprop.0");
    EXPECT_EQ(function_name(""), "");
}

TEST(LatencyText, AStackOfMachineryNamesNobody) {
    EXPECT_EQ(culprit_of({"__schedule", "preempt_schedule", "_raw_spin_unlock_irqrestore"}),
              std::nullopt);
    EXPECT_EQ(culprit_of({"__schedule", "preempt_schedule_irq", "irqentry_exit",
                          "asm_sysvec_apic_timer_interrupt", "clear_page_erms"}),
              "clear_page_erms");
    // Not every unlock is the release of a lock that keeps others out.
    EXPECT_EQ(culprit_of({"__schedule", "folio_unlock"}), "folio_unlock");
}

TEST(LatencyText, WhatItRefuses) {
    const auto nothing = read_latency_text("hello\nworld\n", "x.trace");
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().code, Code::hostile);
    EXPECT_THAT(nothing.error().text(), HasSubstr("x.trace:1:1: no latency trace"));
    const auto bare =
        read_latency_text("\n# tracer: function\n  a-1  0d..1 1us : foo\n", "x.trace");
    ASSERT_FALSE(bare);
    EXPECT_THAT(bare.error().text(), HasSubstr("x.trace:2:1: the trace of \"function\" has no"));
    const auto odd = read_latency_text("# tracer: wakeup\n# latency: many us\n", "x.trace");
    ASSERT_FALSE(odd);
    EXPECT_THAT(odd.error().text(), HasSubstr("x.trace:2:1: no number"));
}

// A cut anywhere is a smaller trace or an error, and never anything else.
TEST(LatencyText, CutAnywhere) {
    const std::string whole = fixture("wakeup_rt-before.trace");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto got = read_latency_text(std::string_view(whole).substr(0, size), "x");
        if (!got) {
            EXPECT_EQ(got.error().code, Code::hostile) << size;
        } else {
            EXPECT_EQ(got->size(), 1U) << size;
        }
    }
}

}  // namespace
}  // namespace mano::trace
