// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/parts.h"
#include "trace/symbols.h"

namespace mano::trace {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kBase = 0xffffffff81000000;
constexpr const char* kSymbols =
    "ffffffff81000000 T psi_memstall_enter\n"
    "ffffffff81000100 T __alloc_pages_slowpath\n"
    "ffffffff81000200 T rb_alloc_aux\n"
    "ffffffff81000300 T entry_SYSCALL_64_after_hwframe\n"
    "ffffffff81000400 T __schedule\n"
    "ffffffff81000500 T planted_sleep\t[planted]\n"
    "ffffffff81000600 T compact_zone\n"
    "ffffffff81000700 D some_data\n";
constexpr std::uint64_t kEnter = kBase, kSlow = kBase + 0x110, kAux = kBase + 0x210,
                        kEntry = kBase + 0x310, kSchedule = kBase + 0x410, kPlanted = kBase + 0x510,
                        kCompact = kBase + 0x610;
constexpr const char* kSwitchFormat =
    "name: sched_switch\nID: 1\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield:pid_t next_pid;\toffset:16;\tsize:4;\tsigned:1;\n";

template <typename T>
void put(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Writes a trace as the agent would.
class Writer {
  public:
    Writer() {
        event(EventKind::stall_enter, kSampleBase | kSampleCallchain, "");
        event(EventKind::stall_leave, kSampleBase, "");
        event(EventKind::sched_switch, kSampleBase | kSampleCallchain | kSampleRaw, kSwitchFormat);
        event(EventKind::clock, kSampleBase | kSampleCallchain, "");
        crew(Role::probe, {42});
    }
    void event(EventKind kind, std::uint64_t type, const std::string& format) {
        std::string bytes;
        put(bytes, type);
        put(bytes, std::uint32_t{1});
        put(bytes, std::uint32_t{0});
        put(bytes, id(kind));
        add_part(trace_, {PartKind::event, 0, static_cast<std::uint32_t>(kind), 0}, bytes + format);
    }
    void crew(Role role, const std::vector<std::int32_t>& pids) {
        std::string bytes;
        for (const std::int32_t pid : pids)
            put(bytes, pid);
        add_part(trace_, {PartKind::crew, 0, static_cast<std::uint32_t>(role), 0}, bytes);
    }
    void sample(EventKind kind, std::int32_t tid, std::uint64_t ns,
                const std::vector<std::uint64_t>& stack = {}, const std::string& raw = {}) {
        std::string bytes;
        put(bytes, id(kind));
        put(bytes, tid);
        put(bytes, tid);
        put(bytes, ns);
        put(bytes, std::uint64_t{0});  // CPU
        if (kind != EventKind::stall_leave) {
            put(bytes, std::uint64_t{stack.size() + 1});
            put(bytes, ~std::uint64_t{127});  // PERF_CONTEXT_KERNEL
            for (const std::uint64_t address : stack)
                put(bytes, address);
        }
        if (kind == EventKind::sched_switch) {
            put(bytes, static_cast<std::uint32_t>(raw.size()));
            bytes += raw;
        }
        record(9, bytes);
    }
    void switched(std::int32_t from, std::int64_t state, std::int32_t to, std::uint64_t ns,
                  const std::vector<std::uint64_t>& stack) {
        std::string raw(8, '\0');
        put(raw, state);
        put(raw, to);
        sample(EventKind::sched_switch, from, ns, stack, raw);
    }
    void record(std::uint32_t type, std::string bytes) {
        bytes.append((8 - bytes.size() % 8) % 8, '\0');
        put(ring_, type);
        put(ring_, std::uint16_t{0});
        put(ring_, static_cast<std::uint16_t>(8 + bytes.size()));
        ring_ += bytes;
    }
    std::string take() {
        add_part(trace_, {PartKind::ring, 0, 3, 0}, ring_);
        add_part(trace_, {PartKind::symbols, 0, 0, 0}, kSymbols);
        return trace_;
    }

  private:
    static std::uint64_t id(EventKind kind) { return 100 + static_cast<std::uint64_t>(kind); }
    std::string trace_, ring_;
};

// 1 ms on the CPU with two samples, 3 ms asleep in planted_sleep, half a ms on the CPU.
Writer one_stall() {
    Writer writer;
    writer.switched(0, 0, 42, 500'000, {kSchedule});
    writer.sample(EventKind::stall_enter, 42, 1'000'000, {kEnter, kSlow, kAux, kEntry});
    writer.sample(EventKind::clock, 42, 1'300'000, {kCompact, kSlow, kAux, kEntry});
    writer.sample(EventKind::clock, 42, 1'600'000, {kCompact, kSlow, kAux, kEntry});
    writer.switched(42, 2, 0, 2'000'000, {kSchedule, kPlanted, kSlow, kAux, kEntry});
    writer.switched(0, 0, 42, 5'000'000, {kSchedule});
    writer.sample(EventKind::stall_leave, 42, 5'500'000);
    return writer;
}

TEST(Analysis, AStallIsSpentWhereItsPiecesWere) {
    const auto got = analyse(one_stall().take());
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_EQ(got->stalls.size(), 1U);
    const Stall& stall = got->stalls[0];
    EXPECT_EQ(stall.ns(), 4'500'000U);
    EXPECT_EQ(stall.role, Role::probe);
    EXPECT_EQ(stall.iteration, 3U);
    std::uint64_t all = 0;
    std::map<std::string, std::uint64_t> inside;
    for (const Slice& slice : stall.slices) {
        all += slice.ns;
        const Folded folded = fold_stack(got->stacks[stall.stack], got->stacks[slice.stack]);
        EXPECT_EQ(folded.asked, "rb_alloc_aux");
        EXPECT_EQ(folded.stall, "__alloc_pages_slowpath");
        inside[folded.leaf + "/" + std::string(name_of(slice.how))] += slice.ns;
    }
    EXPECT_EQ(all, stall.ns());
    EXPECT_EQ(inside.at("planted_sleep/blocked"), 3'000'000U);
    EXPECT_EQ(inside.at("compact_zone/running"), 1'500'000U);
    EXPECT_EQ(fold_stack({"psi_memstall_enter", "a", "b"}, {"x", "y", "a", "b"}).stage, "y");
    EXPECT_EQ(fold_stack({"psi_memstall_enter", "a", "b"}, {"psi_memstall_enter", "a", "b"}).stage,
              "");
    // A sample that hit the recording.
    EXPECT_EQ(fold_stack({"psi_memstall_enter", "a", "b"},
                         {"kprobe_handler", "psi_memstall_leave", "a", "b"})
                  .leaf,
              "a");
    EXPECT_EQ(got->probe.some_ns, 4'500'000U);
    EXPECT_EQ(got->probe.full_ns, 4'500'000U);
    EXPECT_EQ(got->unfinished, 0U);
    EXPECT_THAT(tidy_stack(got->stacks[stall.stack]),
                ElementsAre("rb_alloc_aux", "__alloc_pages_slowpath"));
}

// psi_memstall_enter is called again within a stall, and does nothing then.
TEST(Analysis, NestedStallsAreOne) {
    Writer writer;
    writer.sample(EventKind::stall_enter, 42, 1000, {kEnter, kSlow});
    writer.sample(EventKind::stall_enter, 42, 2000, {kEnter, kCompact});
    writer.sample(EventKind::stall_leave, 42, 3000);
    writer.sample(EventKind::stall_leave, 42, 4000);
    writer.sample(EventKind::stall_leave, 42, 5000);  // of one that began before
    const auto got = analyse(writer.take());
    ASSERT_TRUE(got);
    ASSERT_EQ(got->stalls.size(), 1U);
    EXPECT_EQ(got->stalls[0].ns(), 3000U);
    EXPECT_EQ(got->unfinished, 1U);
}

// "full" ends while another task of the probe runs outside a stall; others don't count.
TEST(Analysis, SomeAndFull) {
    Writer writer;
    writer.crew(Role::probe, {42, 43});
    writer.switched(0, 0, 42, 500, {kSchedule});
    writer.sample(EventKind::stall_enter, 42, 1000, {kEnter, kSlow});
    writer.sample(EventKind::stall_enter, 7, 1000, {kEnter, kSlow});
    writer.switched(9, 0, 43, 2000, {kSchedule});
    writer.switched(43, 1, 9, 2500, {kSchedule});
    writer.sample(EventKind::stall_leave, 42, 4000);
    writer.sample(EventKind::stall_leave, 7, 9000);
    const auto got = analyse(writer.take());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->probe.some_ns, 3000U);
    EXPECT_EQ(got->probe.full_ns, 2500U);
    EXPECT_EQ(got->stalls.size(), 2U);
}

TEST(Analysis, ChildrenOfTheProbeAreTheProbe) {
    Writer writer;
    std::string fork;
    for (const std::int32_t number : {50, 42, 50, 42})
        put(fork, number);
    put(fork, std::uint64_t{900});
    for (const std::uint64_t word :
         {std::uint64_t{42}, std::uint64_t{900}, std::uint64_t{0}, std::uint64_t{1}})
        put(fork, word);
    writer.record(7, fork);
    writer.sample(EventKind::stall_enter, 50, 1000, {kEnter, kSlow});
    writer.sample(EventKind::stall_leave, 50, 4000);
    const auto got = analyse(writer.take());
    ASSERT_TRUE(got);
    ASSERT_EQ(got->stalls.size(), 1U);
    EXPECT_EQ(got->stalls[0].role, Role::probe);
    EXPECT_THAT(got->probe_tids, ElementsAre(42, 50));
}

TEST(Analysis, LossesAreCounted) {
    Writer writer = one_stall();
    std::string lost;
    put(lost, std::uint64_t{100});
    put(lost, std::uint64_t{17});
    writer.record(2, lost);
    std::string unknown(40, '\0');
    writer.record(9, unknown);  // a sample of no event
    const auto got = analyse(writer.take());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->lost_records, 17U);
    EXPECT_EQ(got->odd_records, 1U);
    EXPECT_EQ(got->stalls.size(), 1U);
}

TEST(Analysis, OnlyTheSymbolsThatStacksNeedAreKept) {
    const std::string all = one_stall().take();
    const std::string kept = without_needless_symbols(all);
    EXPECT_LT(kept.size(), all.size());
    const auto a = analyse(all);
    const auto b = analyse(kept);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->stacks, b->stacks);
}

TEST(Analysis, CutAnywhere) {
    const std::string whole = one_stall().take();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto got = analyse(std::string_view(whole).substr(0, size));
        if (!got) {
            EXPECT_EQ(got.error().code, Code::hostile);
        }
    }
    // And every byte changed.
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string odd = whole;
        odd[at] = static_cast<char>(odd[at] ^ 0x5a);
        const auto got = analyse(odd);
        if (!got) {
            EXPECT_EQ(got.error().code, Code::hostile);
        }
    }
}

TEST(Symbols, NamesByAddress) {
    const Symbols symbols = Symbols::read(kSymbols);
    EXPECT_EQ(symbols.name_of(kBase), "psi_memstall_enter");
    EXPECT_EQ(symbols.name_of(kPlanted), "planted_sleep");
    EXPECT_EQ(symbols.name_of(0x1000), "0x1000");
    EXPECT_EQ(symbols.name_of(kBase + (2 << 20)), "0xffffffff81200000");
}

}  // namespace
}  // namespace mano::trace
