// SPDX-License-Identifier: GPL-2.0-or-later
#include "procfs/procfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"

namespace mano::procfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::map<std::string, double> as_map(const Parsed& parsed) {
    std::map<std::string, double> out;
    for (const Value& value : parsed.values)
        out[value.name] = value.value;
    return out;
}

using Map = std::map<std::string, double>;

TEST(Vmstat, KeepsEveryKeyUnderItsOwnName) {
    const Parsed parsed = parse_vmstat("nr_free_pages 1290273\npgscan_direct 0\nnew_in_9.9 7\n");
    EXPECT_EQ(as_map(parsed), (Map{{"vmstat.nr_free_pages", 1290273},
                                   {"vmstat.pgscan_direct", 0},
                                   {"vmstat.new_in_9.9", 7}}));
    EXPECT_THAT(parsed.losses, IsEmpty());
}

TEST(Vmstat, EveryFaultIsCountedUnderItsKind) {
    const Parsed parsed = parse_vmstat(
        "good 1\n"
        "good 2\n"                  // duplicate: the first stays
        "minus -3\n"                // negative
        "large 9007199254740993\n"  // 2^53 + 1
        "huge 99999999999999999999999\n"
        "word abc\n"
        "hex 0x10\n"
        "plus +5\n"
        "fraction 1.5\n"
        "bad/key 4\n"
        "three words 5\n"
        "lonely\n"
        "most 9007199254740992\n");
    EXPECT_EQ(as_map(parsed), (Map{{"vmstat.good", 1}, {"vmstat.most", 9007199254740992.0}}));
    std::map<std::string, std::uint64_t> losses;
    for (const auto& loss : parsed.losses) {
        EXPECT_EQ(loss.source, "vmstat");
        losses[loss.meaning] = loss.count;
    }
    EXPECT_EQ(losses, (std::map<std::string, std::uint64_t>{
                          {"lines of a form that is not known, first: \"three words 5\"", 2},
                          {"keys that can't be metric names, first: \"bad/key\"", 1},
                          {"values that are not whole numbers, first: \"abc\"", 4},
                          {"values below zero, first: \"-3\"", 1},
                          {"values above 2^53, which can't be kept exactly, first: "
                           "\"9007199254740993\"",
                           2},
                          {"names that had a value already; the first value is kept, first: "
                           "\"vmstat.good\"",
                           1}}));
}

TEST(Vmstat, ALineThatWasCutOffIsNotBelieved) {
    const Parsed parsed = parse_vmstat("pgfault 5\npgscan_direct 12");
    EXPECT_EQ(as_map(parsed), (Map{{"vmstat.pgfault", 5}}));
    ASSERT_THAT(parsed.losses, SizeIs(1));
    EXPECT_THAT(parsed.losses[0].meaning, HasSubstr("ends inside a line"));
}

TEST(Vmstat, NoTextIsALoss) {
    EXPECT_THAT(parse_vmstat("").losses, SizeIs(1));
    EXPECT_THAT(parse_vmstat("").values, IsEmpty());
}

TEST(Vmstat, QuotesAGuestsBytesHarmlessly) {
    const Parsed parsed = parse_vmstat(std::string("\x1b[2J\0\xff 5\n", 9));
    ASSERT_THAT(parsed.losses, SizeIs(1));
    EXPECT_THAT(parsed.losses[0].meaning, HasSubstr("\"?[2J??\""));
}

TEST(Vmstat, KeysAndLinesAreBounded) {
    const std::string long_key(kMaxKeyBytes + 1, 'a');
    EXPECT_THAT(parse_vmstat(long_key + " 1\n").values, IsEmpty());
    EXPECT_THAT(parse_vmstat(long_key.substr(1) + " 1\n").values, SizeIs(1));
    const Parsed parsed = parse_vmstat("a " + std::string(kMaxLineBytes, '1') + "\nb 2\n");
    EXPECT_EQ(as_map(parsed), (Map{{"vmstat.b", 2}}));
    ASSERT_THAT(parsed.losses, SizeIs(1));
    EXPECT_THAT(parsed.losses[0].meaning, HasSubstr("too long"));
}

TEST(Psi, TotalsOfBothLines) {
    const Parsed parsed = parse_psi("probe", "memory",
                                    "some avg10=1.36 avg60=0.77 avg300=0.72 total=10340603\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n");
    EXPECT_EQ(as_map(parsed), (Map{{"psi.probe.memory.some.total_us", 10340603},
                                   {"psi.probe.memory.full.total_us", 17}}));
    EXPECT_THAT(parsed.losses, IsEmpty());
}

TEST(Psi, AMissingFullLineIsAbsentNotZero) {
    const Parsed parsed =
        parse_psi("system", "cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
    EXPECT_EQ(as_map(parsed), (Map{{"psi.system.cpu.some.total_us", 5}}));
    EXPECT_THAT(parsed.losses, IsEmpty());
}

TEST(Psi, ALineWithoutTotalIsALoss) {
    const Parsed parsed = parse_psi("system", "cpu", "some avg10=0.00\n");
    EXPECT_THAT(parsed.values, IsEmpty());
    EXPECT_THAT(parsed.losses, SizeIs(1));
}

TEST(MemoryStat, NamesWhoseItIs) {
    const Parsed parsed = parse_memory_stat("probe", "anon 4096\npgscan_direct 3\n");
    EXPECT_EQ(as_map(parsed), (Map{{"memcg.probe.anon", 4096}, {"memcg.probe.pgscan_direct", 3}}));
}

TEST(NumberFile, NumberOrNoLimit) {
    EXPECT_EQ(as_map(parse_number_file("memcg.probe.current", "8192\n")),
              (Map{{"memcg.probe.current", 8192}}));
    const Parsed parsed = parse_number_file("memcg.probe.max", "max\n");
    EXPECT_THAT(parsed.values, IsEmpty());
    EXPECT_THAT(parsed.losses, IsEmpty());
    EXPECT_THAT(parse_number_file("x", "1 2\n").losses, SizeIs(1));
}

TEST(Meminfo, KilobytesBecomeBytesAndCountsStay) {
    const Parsed parsed = parse_meminfo(
        "MemTotal:       24684084 kB\nActive(anon):       1556 kB\nHugePages_Total:       3\n"
        "Strange:  5 MB\nHuge: 9007199254740992 kB\nnocolon 5\n");
    EXPECT_EQ(as_map(parsed), (Map{{"meminfo.MemTotal", 24684084.0 * 1024},
                                   {"meminfo.Active_anon", 1556.0 * 1024},
                                   {"meminfo.HugePages_Total", 3}}));
    ASSERT_THAT(parsed.losses, SizeIs(2));
    EXPECT_EQ(parsed.losses[0].count, 2U);  // MB, no colon
    EXPECT_EQ(parsed.losses[1].count, 1U);  // overflow
}

TEST(Buddyinfo, ByZoneAndInTotal) {
    const Parsed parsed = parse_buddyinfo(
        "Node 0, zone      DMA      0      1      2 \nNode 1, zone   Normal   10     20     30 \n");
    EXPECT_EQ(as_map(parsed), (Map{{"buddy.node0.DMA.order0", 0},
                                   {"buddy.node0.DMA.order1", 1},
                                   {"buddy.node0.DMA.order2", 2},
                                   {"buddy.node1.Normal.order0", 10},
                                   {"buddy.node1.Normal.order1", 20},
                                   {"buddy.node1.Normal.order2", 30},
                                   {"buddy.total.order0", 10},
                                   {"buddy.total.order1", 21},
                                   {"buddy.total.order2", 32}}));
    EXPECT_THAT(parsed.losses, IsEmpty());
}

TEST(Buddyinfo, NoTotalFromAPartialReading) {
    for (const char* broken : {"Node 1, zone Normal 10 x 30\n", "Node 1, zone Normal 10 20",
                               "Node x, zone Normal 10\n", "Node 0, zone DMA 9\n"}) {
        const Parsed parsed = parse_buddyinfo(std::string("Node 0, zone DMA 1 2\n") + broken);
        EXPECT_EQ(as_map(parsed).count("buddy.total.order0"), 0U) << broken;
        EXPECT_EQ(as_map(parsed).at("buddy.node0.DMA.order0"), 1) << broken;
        EXPECT_THAT(parsed.losses, SizeIs(1)) << broken;
    }
}

constexpr const char* kPageTypes =
    "Page block order: 9\n"
    "Pages per block:  512\n"
    "\n"
    "Free pages count per migrate type at order       0      1 \n"
    "Node    0, zone      DMA, type    Unmovable      4      5 \n"
    "Node    0, zone      DMA, type      Movable >100000      7 \n"
    "\n"
    "Number of blocks type     Unmovable      Movable \n"
    "Node 0, zone      DMA            1            7 \n";

TEST(Pagetypeinfo, OrdersTypesAndBlocksByTheirHeadings) {
    const Parsed parsed = parse_pagetypeinfo(kPageTypes);
    EXPECT_EQ(as_map(parsed), (Map{{"pagetype.page_block_order", 9},
                                   {"pagetype.pages_per_block", 512},
                                   {"pagetype.node0.DMA.Unmovable.order0", 4},
                                   {"pagetype.node0.DMA.Unmovable.order1", 5},
                                   {"pagetype.node0.DMA.Movable.order0", 100000},
                                   {"pagetype.node0.DMA.Movable.order1", 7},
                                   {"pagetype.node0.DMA.Unmovable.blocks", 1},
                                   {"pagetype.node0.DMA.Movable.blocks", 7}}));
    ASSERT_THAT(parsed.losses, SizeIs(1));
    EXPECT_THAT(parsed.losses[0].meaning, HasSubstr("lower bound"));
    EXPECT_EQ(parsed.losses[0].count, 1U);
}

TEST(Pagetypeinfo, ARowThatDoesNotFitItsHeadingIsALoss) {
    const Parsed parsed = parse_pagetypeinfo(
        "Node    0, zone      DMA, type      Movable      1      2 \n"
        "Free pages count per migrate type at order       0      1 \n"
        "Node    0, zone      DMA, type    Unmovable      4      5      6 \n"
        "Node    0, zone      DMA, type      Isolate      4 \n");
    EXPECT_THAT(parsed.values, IsEmpty());
    ASSERT_THAT(parsed.losses, SizeIs(1));
    EXPECT_EQ(parsed.losses[0].count, 3U);
}

constexpr const char* kZones =
    "Node 0, zone      DMA\n"
    "  per-node stats\n"
    "      nr_mapped    2767\n"
    "  pages free     3840\n"
    "        min      46\n"
    "        high     68\n"
    "        protection: (0, 3019)\n"
    "      nr_mlock     2\n"
    "  pagesets\n"
    "    cpu: 0\n"
    "              count:    1\n"
    "              high:     28\n"
    "              high_min: 29\n"
    "  vm stats threshold: 4\n"
    "    cpu: 1024\n"
    "              count:    5\n"
    "  vm stats threshold: 6\n"
    "  node_unreclaimable:  0\n"
    "  start_pfn:           1\n"
    "Node 0, zone  Movable\n"
    "  pages free     0\n"
    "        min      32\n"
    "        protection: (0, 0)\n";

TEST(Zoneinfo, NodesZonesAndPerCpuLists) {
    const Parsed parsed = parse_zoneinfo(kZones);
    EXPECT_EQ(as_map(parsed), (Map{{"zoneinfo.node0.nr_mapped", 2767},
                                   {"zoneinfo.node0.DMA.free", 3840},
                                   {"zoneinfo.node0.DMA.min", 46},
                                   {"zoneinfo.node0.DMA.high", 68},
                                   {"zoneinfo.node0.DMA.protection.0", 0},
                                   {"zoneinfo.node0.DMA.protection.1", 3019},
                                   {"zoneinfo.node0.DMA.nr_mlock", 2},
                                   {"zoneinfo.node0.DMA.cpu0.count", 1},
                                   {"zoneinfo.node0.DMA.cpu0.high", 28},
                                   {"zoneinfo.node0.DMA.cpu0.high_min", 29},
                                   {"zoneinfo.node0.DMA.cpu0.vm_stats_threshold", 4},
                                   {"zoneinfo.node0.DMA.cpu1024.count", 5},
                                   {"zoneinfo.node0.DMA.cpu1024.vm_stats_threshold", 6},
                                   {"zoneinfo.node0.DMA.node_unreclaimable", 0},
                                   {"zoneinfo.node0.DMA.start_pfn", 1},
                                   {"zoneinfo.node0.Movable.free", 0},
                                   {"zoneinfo.node0.Movable.min", 32},
                                   {"zoneinfo.node0.Movable.protection.0", 0},
                                   {"zoneinfo.node0.Movable.protection.1", 0}}));
    EXPECT_THAT(parsed.losses, IsEmpty());
}

TEST(Zoneinfo, NothingOfABrokenZoneIsGivenToItsPredecessor) {
    const Parsed parsed = parse_zoneinfo(
        "Node 0, zone DMA\n  pages free 1\nNode zero, zone Normal\n  pages free 2\n        min "
        "3\n");
    EXPECT_EQ(as_map(parsed), (Map{{"zoneinfo.node0.DMA.free", 1}}));
    ASSERT_THAT(parsed.losses, SizeIs(1));
    EXPECT_EQ(parsed.losses[0].count, 3U);
}

TEST(Stat, TotalsOnly) {
    const Parsed parsed = parse_stat(
        "cpu  8617 0 2967 151752 613 0 77 22 1 2\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
        "intr 245745 0 0 1\nctxt 476322\nbtime 1796053437\nprocesses 6638\nprocs_running 3\n"
        "softirq 177850 0 15626\n");
    EXPECT_EQ(as_map(parsed), (Map{{"stat.cpu.user_ticks", 8617},
                                   {"stat.cpu.nice_ticks", 0},
                                   {"stat.cpu.system_ticks", 2967},
                                   {"stat.cpu.idle_ticks", 151752},
                                   {"stat.cpu.iowait_ticks", 613},
                                   {"stat.cpu.irq_ticks", 0},
                                   {"stat.cpu.softirq_ticks", 77},
                                   {"stat.cpu.steal_ticks", 22},
                                   {"stat.cpu.guest_ticks", 1},
                                   {"stat.cpu.guest_nice_ticks", 2},
                                   {"stat.intr", 245745},
                                   {"stat.ctxt", 476322},
                                   {"stat.btime", 1796053437},
                                   {"stat.processes", 6638},
                                   {"stat.procs_running", 3},
                                   {"stat.softirq", 177850}}));
    EXPECT_THAT(parsed.losses, IsEmpty());
    EXPECT_THAT(parse_stat("cpu  1 2 3 4 5 6 7 8 9 10 11\n").losses, SizeIs(1));
    EXPECT_EQ(as_map(parse_stat("cpu  1 2\n")).count("stat.cpu.system_ticks"), 0U);
}

TEST(Mthp, SizesAndTheirStatistics) {
    const Parsed parsed = parse_mthp_stats(
        "hugepages-64kB anon_fault_alloc 12\nhugepages-2048kB swpout 3\nother 1\n");
    EXPECT_EQ(as_map(parsed), (Map{{"mthp.64kB.anon_fault_alloc", 12}, {"mthp.2048kB.swpout", 3}}));
    EXPECT_THAT(parsed.losses, SizeIs(1));
    EXPECT_THAT(parse_mthp_stats("").losses, IsEmpty());
}

TEST(Swaps, ColumnsByHeading) {
    const Swaps parsed = parse_swaps(
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
        "/dev/zram0                              partition\t524284\t\t1024\t\t-2\n");
    EXPECT_EQ(parsed.swaps,
              (std::vector<Swap>{{"/dev/zram0", "partition", 524284ULL * 1024, 1024ULL * 1024}}));
    EXPECT_THAT(parsed.losses, IsEmpty());
    const Swaps moved = parse_swaps("Type Used Filename Size\nfile 1 /s 2\nfile 1 /t\n");
    EXPECT_EQ(moved.swaps, (std::vector<Swap>{{"/s", "file", 2048, 1024}}));
    EXPECT_THAT(moved.losses, SizeIs(1));
    EXPECT_THAT(parse_swaps("Filename Type Size Used Priority\n").losses, IsEmpty());
}

// Cuts and damages a good text in many ways: what is still read must be what the good text says, or
// be another number because a digit was damaged; never a name that the damage didn't make.
TEST(AllParsers, CuttingATextNeverInventsAValue) {
    const std::string zones = kZones;
    const Map whole = as_map(parse_zoneinfo(zones));
    for (std::size_t length = 0; length < zones.size(); ++length) {
        const Parsed cut = parse_zoneinfo(zones.substr(0, length));
        for (const Value& value : cut.values) {
            const auto found = whole.find(value.name);
            ASSERT_NE(found, whole.end()) << value.name << " at " << length;
            ASSERT_EQ(found->second, value.value) << value.name << " at " << length;
        }
        if (zones[length == 0 ? 0 : length - 1] != '\n') {
            ASSERT_THAT(cut.losses, SizeIs(1)) << length;
        }
    }
}

TEST(AllParsers, SeededDamageLeavesNamesUnique) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        std::string text = std::string(kPageTypes) + kZones;
        for (int hits = 0; hits < 8; ++hits) {
            text[rng.below(text.size())] = static_cast<char>(rng.below(256));
        }
        for (const Parsed& parsed : {parse_zoneinfo(text), parse_pagetypeinfo(text),
                                     parse_buddyinfo(text), parse_vmstat(text)}) {
            EXPECT_EQ(as_map(parsed).size(), parsed.values.size());
            for (const Value& value : parsed.values)
                EXPECT_LE(value.value, kMaxNumber);
        }
    }
}

}  // namespace
}  // namespace mano::procfs
