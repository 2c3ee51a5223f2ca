// SPDX-License-Identifier: GPL-2.0-or-later
// Machines rebuilt from the counts of others that were used at random: the same free lists, every
// invariant, and a machine that goes on working.
#include "model/arrange.h"

#include <gtest/gtest.h>

#include "model/load/kernel_load.h"

namespace mano::model {
namespace {

MachineShape shape_of(std::uint64_t pages) {
    MachineShape shape;
    NodeShape node;
    node.managed[kDma32] = pages;
    node.cpus = 2;
    shape.nodes.push_back(node);
    shape.swap_pages = 10000;
    return shape;
}

// Kernel pages and folios of several sizes, taken and given back at random.
void use(Memory& memory, Rng& rng) {
    BootLoad load;
    load.pages = 1000 + rng.below(4000);
    boot(memory, load);
    Machine& machine = memory.machine();
    AddressSpace& space = memory.make_space(16384);
    Cpu cpu;
    for (std::uint32_t slot = 0; slot < 16384;) {
        Request request;
        request.flags = gfp::kHighuserMovable;
        request.order = rng.below(3) == 0 && slot % 16 == 0 ? 4 : 0;
        const Pfn head = machine.try_alloc(cpu, request);
        if (head == kNoPage) break;
        memory.map_folio(space, slot, head, request.order);
        slot += 1U << request.order;
    }
    for (unsigned i = 0; i < 3000; ++i) {
        const auto slot = static_cast<std::uint32_t>(rng.below(16384));
        memory.unmap(cpu, space, slot, 1);
    }
    machine.drain_all(cpu);
}

ZoneState state_of(const Memory& memory, const Zone& zone) {
    ZoneState state;
    for (unsigned order = 0; order < kOrders; ++order) {
        for (unsigned type = 0; type < kPcpTypes; ++type)
            state.free[order][type] = zone.list(order, static_cast<Migratetype>(type)).size;
    }
    for (Pfn at = zone.start(); at < zone.end(); at += kPageblockPages)
        ++state.blocks[memory.machine().map().block_type(at)];
    state.inactive = 500;
    state.active = 300;
    return state;
}

TEST(Arrange, GivesTheCountsOfAUsedMachine) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        // Not a whole number of the largest blocks.
        const MachineShape shape = shape_of(30000 + rng.below(3000));
        Memory used(shape, *find_variant("7.3"), seed);
        use(used, rng);
        const ZoneState wanted = state_of(used, used.machine().zone(0));
        Memory memory(shape, *find_variant("7.3"), seed);
        EXPECT_EQ(arrange(memory, 0, wanted, rng), 0U);
        ASSERT_EQ(memory.validate(), "");
        const ZoneState got = state_of(memory, memory.machine().zone(0));
        EXPECT_EQ(got.free, wanted.free);
        EXPECT_EQ(memory.machine().free_pages_total(), used.machine().free_pages_total());
        const Node& node = memory.machine().nodes()[0];
        EXPECT_EQ(node.inactive_pages, 500U);
        EXPECT_EQ(node.active_pages, 300U);
        // It works: what is taken and given back leaves it whole.
        Cpu cpu;
        Request request;
        std::vector<Pfn> taken;
        for (unsigned i = 0; i < 300; ++i) {
            const Pfn page = memory.machine().try_alloc(cpu, request);
            if (page != kNoPage) taken.push_back(page);
        }
        EXPECT_FALSE(taken.empty());
        for (const Pfn page : taken)
            memory.machine().free_pages(cpu, page, 0);
        EXPECT_EQ(memory.validate(), "");
    }
}

TEST(Arrange, AnEmptyStateIsAFullZone) {
    Memory memory(shape_of(10000), *find_variant("7.3"), 1);
    Rng rng(1);
    EXPECT_EQ(arrange(memory, 0, {}, rng), 0U);
    EXPECT_EQ(memory.machine().free_pages_total(), 0U);
    EXPECT_EQ(memory.validate(), "");
}

TEST(Arrange, CountsWhatFindsNoPlace) {
    Memory memory(shape_of(4096), *find_variant("7.3"), 1);
    Rng rng(1);
    ZoneState state;
    state.free[kMaxOrder][kMovable] = 4;
    state.free[3][kUnmovable] = 2;
    EXPECT_EQ(arrange(memory, 0, state, rng), 16U);
    EXPECT_EQ(memory.validate(), "");
}

}  // namespace
}  // namespace mano::model
