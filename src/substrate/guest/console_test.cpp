// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/console.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace mano::substrate::guest {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Consoles of Linux 7.3.4 in a guest of 256 MiB, shortened.
constexpr std::string_view kBoot =
    "[    0.056000] tsc: Unable to calibrate against PIT\n"
    "[    1.653306] acpi PNP0A03:00: fail to add MMCONFIG information\n";
constexpr std::string_view kPanic =
    "[    4.551610] Kernel panic - not syncing: sysrq triggered crash\n"
    "[    4.552771] CPU: 0 UID: 0 PID: 91 Comm: trigger Not tainted 7.3.4+deb13-cloud-amd64\n"
    "[    4.553595] Call Trace:\n"
    "[    4.554326]  <TASK>\n"
    "[    4.555207]  panic+0x6b/0x70\n"
    "[    4.555291]  sysrq_handle_crash+0x1a/0x20\n"
    "[    4.559776]  </TASK>\n"
    "[    4.560392] Kernel Offset: disabled\n";
constexpr std::string_view kOomReport =
    "[    3.340000] eat invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), "
    "order=0, oom_score_adj=-1000\n"
    "[    3.340726] Call Trace:\n"
    "[    3.342262]  oom_kill_process.cold+0x8/0xb9\n"
    "[    3.349185] Mem-Info:\n"
    "[    3.364340] Out of memory: Killed process 89 (init) total-vm:35052kB\n";
constexpr std::string_view kNothingToKill =
    "[    3.370000] Out of memory and no killable processes...\n"
    "[    3.370100] Kernel panic - not syncing: System is deadlocked on memory\n"
    "[    3.370200] Call Trace:\n"
    "[    3.370300]  out_of_memory.cold+0x10/0x20\n";
constexpr std::string_view kOops =
    "[    5.100000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n"
    "[    5.100100] #PF: supervisor read access in kernel mode\n"
    "[    5.100200] Oops: Oops: 0000 [#1] SMP PTI\n"
    "[    5.100300] RIP: 0010:shrink_folio_list+0x10/0x20\n"
    "[    5.100400] Kernel panic - not syncing: Fatal exception\n"
    "[    5.100500] Kernel Offset: disabled\n";

std::string text_of(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts)
        text += part;
    return text;
}

TEST(Console, CleanKeepsWhatCanBeRead) {
    EXPECT_EQ(clean("one\r\ntwo\t3\n"), "one\ntwo\t3\n");
    EXPECT_EQ(clean("\033[1;31mred\033[0m and \033cback"), "red and back");
    EXPECT_EQ(clean(std::string_view("a\0b\x80\xff\x7f", 6)), "a?b???");
    EXPECT_EQ(clean(""), "");
    // A sequence that the end cuts off.
    EXPECT_EQ(clean("x\033"), "x");
    EXPECT_EQ(clean("x\033["), "x");
    EXPECT_EQ(clean("x\033[12"), "x");
}

TEST(Console, CleanLeavesOutTheMiddleOfAFloodAndSaysSo) {
    std::string flood = "first line\n";
    flood += std::string(3 * kMaxConsole, 'x');
    flood += "\nlast line\n";
    const std::string text = clean(flood);
    EXPECT_LE(text.size(), kMaxConsole + 100);
    EXPECT_THAT(text, StartsWith("first line\n"));
    EXPECT_THAT(text, EndsWith("\nlast line\n"));
    EXPECT_THAT(text, HasSubstr(fmt::format("{} bytes left out", flood.size() - kMaxConsole)));
}

TEST(Console, CleanTakesAnything) {
    Rng rng(42);
    for (int round = 0; round < 200; ++round) {
        std::string bytes(rng.below(2000), '\0');
        for (char& c : bytes)
            c = static_cast<char>(rng.below(4) == 0 ? '\033' : rng.below(256));
        for (const char c : clean(bytes)) {
            EXPECT_TRUE(c == '\n' || c == '\t' || (c >= ' ' && c <= '~'));
        }
    }
}

TEST(Console, NoPanicIsNoTrace) {
    EXPECT_FALSE(panic_trace(""));
    EXPECT_FALSE(panic_trace(kBoot));
    EXPECT_FALSE(panic_trace(text_of({kBoot, kOomReport}))) << "an OOM kill is no panic";
}

TEST(Console, PanicTraceBeginsAtThePanic) {
    const auto trace = panic_trace(text_of({kBoot, kPanic}));
    ASSERT_TRUE(trace);
    EXPECT_EQ(*trace, kPanic);
}

TEST(Console, PanicTraceBeginsAtTheOopsBeforeIt) {
    const auto trace = panic_trace(text_of({kBoot, kOops}));
    ASSERT_TRUE(trace);
    EXPECT_EQ(*trace, kOops);
}

TEST(Console, NothingToKillIsAPanicWithItsOomReport) {
    const auto trace = panic_trace(text_of({kBoot, kOomReport, kNothingToKill}));
    ASSERT_TRUE(trace);
    EXPECT_THAT(*trace, StartsWith("[    3.340000] eat invoked oom-killer"));
    EXPECT_THAT(*trace, HasSubstr("no killable processes"));
    EXPECT_THAT(*trace, HasSubstr("System is deadlocked on memory"));
}

TEST(Console, ALongHistoryDoesNotPushThePanicOut) {
    std::string text(kBoot);
    while (text.size() < 3 * kMaxEvidence)
        text += kOomReport;
    text += kNothingToKill;
    const auto trace = panic_trace(text);
    ASSERT_TRUE(trace);
    EXPECT_LE(trace->size(), kMaxEvidence);
    EXPECT_THAT(*trace, HasSubstr("System is deadlocked on memory"));
    EXPECT_THAT(*trace, HasSubstr("no killable processes")) << "the lines just before it stay";
}

TEST(Console, PanicTraceIsBounded) {
    std::string text(kPanic);
    text += std::string(4 * kMaxEvidence, 'y');
    const auto trace = panic_trace(text);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->size(), kMaxEvidence);
    EXPECT_THAT(*trace, StartsWith(std::string(kPanic)));
}

TEST(Console, TailStartsAtALine) {
    EXPECT_EQ(tail("short", 100), "short");
    EXPECT_EQ(tail("one\ntwo\nthree\n", 9), "three\n");
    EXPECT_EQ(tail("no line end at all", 5), "t all");
    EXPECT_THAT(tail(kBoot, 60), Not(HasSubstr("tsc")));
    EXPECT_EQ(tail("", 5), "");
}

}  // namespace
}  // namespace mano::substrate::guest
