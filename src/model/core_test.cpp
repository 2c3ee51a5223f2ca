// SPDX-License-Identifier: GPL-2.0-or-later
// The mechanism core: invariants after every operation of random runs, a naive allocator beside it,
// and the sizes of refills and drains by the kernel's rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"
#include "model/memory.h"
#include "model/policy/policy.h"

namespace mano::model {
namespace {

const KernelVariant& v73() {
    return *find_variant("7.3");
}

struct Block {
    Pfn head;
    unsigned order;
};

// A naive allocator: which frames are taken, as a set. Says whether the model's answers are
// possible.
class Naive {
  public:
    void take(const Block& block) {
        for (Pfn pfn = block.head; pfn < block.head + (1U << block.order); ++pfn)
            ASSERT_TRUE(taken_.insert(pfn).second) << "page " << pfn << " was given out twice";
        ASSERT_EQ(block.head % (1U << block.order), 0U);
    }
    void give(const Block& block) {
        for (Pfn pfn = block.head; pfn < block.head + (1U << block.order); ++pfn)
            ASSERT_EQ(taken_.erase(pfn), 1U);
    }
    std::size_t size() const { return taken_.size(); }

  private:
    std::set<Pfn> taken_;
};

class RandomRun : public testing::TestWithParam<int> {};

TEST_P(RandomRun, KeepsEveryInvariantAndAgreesWithANaiveAllocator) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const auto& variant = variants()[rng.below(variants().size())];
    const std::uint64_t pages = 9000 + rng.below(9000);
    Machine machine(MachineShape::plain(pages, 1 + static_cast<unsigned>(rng.below(4))), variant);
    Naive naive;
    std::vector<Block> held;
    Cpu cpu;
    for (int i = 0; i < 4000; ++i) {
        cpu.id = static_cast<unsigned>(rng.below(machine.cpus()));
        const std::uint64_t dice = rng.below(100);
        if (dice < 55) {
            Request request;
            const Gfp types[] = {0, gfp::kMovable | gfp::kHighmem, gfp::kReclaimable};
            request.flags = gfp::kKernel | types[rng.below(3)];
            request.order = rng.below(4) != 0 ? static_cast<unsigned>(rng.below(4))
                                              : static_cast<unsigned>(rng.below(11));
            const Pfn head = machine.try_alloc(cpu, request);
            if (head == kNoPage) continue;
            held.push_back({head, request.order});
            naive.take(held.back());
        } else if (dice < 98 && !held.empty()) {
            const std::size_t which = rng.below(held.size());
            naive.give(held[which]);
            machine.free_pages(cpu, held[which].head, held[which].order);
            held[which] = held.back();
            held.pop_back();
        } else if (dice == 98) {
            machine.drain_all(cpu);
        } else {
            machine.decay(cpu);
        }
        const std::uint64_t known =
            naive.size() + machine.free_pages_total() + machine.pcp_pages_total();
        ASSERT_EQ(known, pages) << "after operation " << i;
        if (i % 16 == 0) {
            ASSERT_EQ(machine.validate(), "") << "after operation " << i;
        }
    }
    // Everything back: the zones are whole again, as at boot.
    for (const Block& block : held)
        machine.free_pages(cpu, block.head, block.order);
    machine.drain_all(cpu);
    ASSERT_EQ(machine.validate(), "");
    EXPECT_EQ(machine.free_pages_total(), pages);
    const Machine fresh(MachineShape::plain(pages, machine.cpus()), variant);
    for (std::size_t zone = 0; zone < machine.zone_count(); ++zone) {
        Machine& untouched = const_cast<Machine&>(fresh);
        for (unsigned order = 0; order < kOrders; ++order)
            EXPECT_EQ(machine.zone(zone).nr_free(order), untouched.zone(zone).nr_free(order));
    }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomRun, testing::Range(1, 13));

// A machine of one zone and one CPU, so that sizes follow from a few numbers.
struct OneZone {
    OneZone() : machine(shape(), v73()) {}
    static MachineShape shape() {
        MachineShape one;
        NodeShape node;
        node.managed[kDma32] = 253801;  // the lab kernel's guest of 1 GiB
        node.cpus = 1;
        one.nodes.push_back(node);
        return one;
    }
    Pfn alloc(unsigned order = 0) {
        Request request;
        request.flags = gfp::kKernel;
        request.order = order;
        return machine.try_alloc(cpu, request);
    }
    PerCpuPages& lists() { return machine.lists(0, 0); }
    Machine machine;
    Cpu cpu;
};

// nr_pcp_alloc(): 63, then twice as much each time as nothing is freed, up to 32 times, bounded by
// high - count - batch.
TEST(PerCpu, RefillsDoubleWhileNothingIsFreed) {
    OneZone one;
    std::vector<int> refills;
    for (int i = 0; i < 6000; ++i) {
        const int before = one.lists().count();
        ASSERT_NE(one.alloc(), kNoPage);
        const int got = one.lists().count() + 1 - before;
        if (got > 1) refills.push_back(got);
    }
    ASSERT_GE(refills.size(), 6U);
    const std::vector<int> first(refills.begin(), refills.begin() + 6);
    EXPECT_EQ(first, (std::vector<int>{63, 126, 252, 504, 1008, 2016}));
}

// batch >> order, at least 2.
TEST(PerCpu, RefillsOfHigherOrdersAreOneBatchOfPages) {
    for (const auto& [order, blocks] : std::map<unsigned, int>{{1, 31}, {2, 15}, {3, 7}, {9, 2}}) {
        OneZone one;
        ASSERT_NE(one.alloc(order), kNoPage);
        EXPECT_EQ(one.lists().count(), (blocks - 1) << order) << "order " << order;
    }
}

TEST(PerCpu, AnAllocationHalvesTheFreeCountAndAFreeTheFactor) {
    OneZone one;
    std::vector<Pfn> pages;
    for (int i = 0; i < 400; ++i)
        pages.push_back(one.alloc());
    EXPECT_EQ(one.lists().alloc_factor(), 3U);
    one.machine.free_pages(one.cpu, pages[0], 0);
    EXPECT_EQ(one.lists().alloc_factor(), 1U);
    for (int i = 1; i < 9; ++i)
        one.machine.free_pages(one.cpu, pages[static_cast<std::size_t>(i)], 0);
    EXPECT_EQ(one.lists().free_count(), 9);
    ASSERT_NE(one.alloc(), kNoPage);
    EXPECT_EQ(one.lists().free_count(), 4);
}

// free_high: order-2 frees in a row empty the whole list, single pages included; the threshold is
// batch + high_min/2 from 7.2 on and batch before.
TEST(PerCpu, OrderTwoFreesEmptyTheListsAndSinglePagesDoNot) {
    for (const char* name : {"6.12", "7.3"}) {
        SCOPED_TRACE(name);
        OneZone one;
        Machine machine(OneZone::shape(), *find_variant(name));
        Cpu cpu;
        std::vector<Pfn> blocks;
        for (int i = 0; i < 800; ++i) {
            Request request;
            request.order = 2;
            blocks.push_back(machine.try_alloc(cpu, request));
        }
        machine.drain_all(cpu);
        PerCpuPages& lists = machine.lists(0, 0);
        const int threshold =
            std::string_view(name) == "6.12" ? lists.batch() : lists.batch() + lists.high_min() / 2;
        int frees = 0;
        for (const Pfn head : blocks) {
            machine.free_pages(cpu, head, 2);
            ++frees;
            if (machine.counters()[Counter::free_high_drains] != 0) break;
        }
        // free_count had reached the threshold before the free that drained.
        EXPECT_EQ(frees, (threshold + 3) / 4 + 1);
        for (int i = 0; i < 1000; ++i) {
            Request request;
            const Pfn page = machine.try_alloc(cpu, request);
            machine.free_pages(cpu, page, 0);
        }
        EXPECT_EQ(machine.counters()[Counter::free_high_drains], 1U);
    }
}

TEST(Contiguous, RunsAreCutIntoNaturallyAlignedBlocks) {
    OneZone one;
    const Pfn head = one.alloc(10);
    ASSERT_NE(head, kNoPage);
    one.machine.split(head, 10);
    one.machine.drain_all(one.cpu);
    const auto before = one.machine.counters();
    // Pages 3 … 1000 of it: 3 | 4-7 | 8-15 | 16-31 | … | 512-767 768-895 … 992-999 | 1000.
    one.machine.free_contiguous(one.cpu, head + 3, 998);
    const auto& after = one.machine.counters();
    EXPECT_EQ(after[Counter::pgfree] - before[Counter::pgfree], 998U);
    // Orders 4 to 8 go to the zone at once: 16, 32, 64, 128, 256 and 256, 128, 64, 32 (992 =
    // 31*32).
    EXPECT_EQ(after[Counter::buddy_frees] - before[Counter::buddy_frees], 9U);
    one.machine.free_contiguous(one.cpu, head, 3);
    one.machine.free_contiguous(one.cpu, head + 1001, 23);
    one.machine.drain_all(one.cpu);
    EXPECT_EQ(one.machine.validate(), "");
    EXPECT_EQ(one.machine.free_pages_total(), 253801U);
}

TEST(Vfree, PoliciesGiveBackTheSamePages) {
    for (const auto& entry : vfree_policies()) {
        SCOPED_TRACE(entry.name);
        OneZone one;
        std::vector<Pfn> pages;
        for (int i = 0; i < 50; ++i) {
            const Pfn head = one.alloc(2);
            one.machine.split(head, 2);
            for (Pfn page = head; page < head + 4; ++page)
                pages.push_back(page);
        }
        entry.policy->release(one.machine, one.cpu, pages);
        one.machine.drain_all(one.cpu);
        EXPECT_EQ(one.machine.validate(), "");
        EXPECT_EQ(one.machine.free_pages_total(), 253801U);
    }
}

TEST(Watermarks, OptionalRequestsStopAtMinAndReservesAreForOthers) {
    OneZone one;
    Request request;
    while (one.machine.get_page(one.cpu, request, kWmarkMin) != kNoPage) {
    }
    const Zone& zone = one.machine.zone(0);
    EXPECT_LE(zone.seen_free_pages(), static_cast<std::int64_t>(zone.constants().min));
    // One refill may go below the mark that was checked before it, and no further.
    EXPECT_GT(zone.free_pages() + 2016, zone.constants().min);
    EXPECT_NE(one.machine.get_page(one.cpu, request, kWmarkMin | kNoWatermarks), kNoPage);
}

TEST(Claim, UnmovableRequestsTakeOverWholeBlocksAndBoost) {
    OneZone one;
    Request request;
    ASSERT_NE(one.machine.try_alloc(one.cpu, request), kNoPage);
    // All blocks were movable: the first unmovable page retypes an order-10 block, without a boost.
    EXPECT_EQ(one.machine.counters()[Counter::extfrag], 1U);
    EXPECT_EQ(one.machine.zone(0).boost(), 0U);
    EXPECT_TRUE(one.machine.zone(0).has_block(9, kUnmovable));
}

}  // namespace
}  // namespace mano::model
