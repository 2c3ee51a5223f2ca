// SPDX-License-Identifier: GPL-2.0-or-later
// How late a real-time task runs beside others, by preemption model; and the loads that need it:
// paging out, timers, rings.
#include "model/preemption.h"

#include <gtest/gtest.h>

#include "model/arm.h"
#include "model/load/kernel_load.h"
#include "model/load/pageout.h"
#include "model/load/ring_probe.h"
#include "model/load/timer_probe.h"

namespace mano::model {
namespace {

constexpr Preemption kModels[] = {Preemption::none, Preemption::voluntary, Preemption::full,
                                  Preemption::lazy, Preemption::rt};

MachineShape small_machine(unsigned cpus) {
    MachineShape shape;
    NodeShape node;
    node.managed[kDma32] = 60000;
    node.cpus = cpus;
    shape.nodes.push_back(node);
    shape.swap_pages = 30000;
    return shape;
}

// Works for ever in steps of 100 us, each `inside`; of five, the last ends in a point.
class Busy : public Task {
  public:
    static constexpr double kStepNs = 100'000;
    Busy(Inside inside, After after) : Task(Group::load, 0), inside_(inside), after_(after) {}
    Step step(Engine& engine, Cpu& cpu) override {
        cpu.work.add(Work::call, static_cast<std::uint32_t>(kStepNs / engine.cost(Work::call)));
        Step step;
        step.inside = inside_;
        step.after = ++steps_ % 5 == 0 ? After::point : after_;
        return step;
    }

  private:
    Inside inside_;
    After after_;
    unsigned steps_ = 0;

  public:
    unsigned steps() const { return steps_; }
};

// Also where both are always runnable, and where one keeps the CPU over several steps.
TEST(Preemption, TasksOfOneCpuShareIt) {
    for (const After after : {After::point, After::holds}) {
        Memory memory(small_machine(1), *find_variant("7.3"), 1);
        Engine engine(memory, Costs());
        std::vector<Busy*> busy;
        for (int i = 0; i < 3; ++i) {
            auto task = std::make_unique<Busy>(Inside::kernel, after);
            busy.push_back(task.get());
            engine.add(std::move(task), 1e6 * i);
        }
        engine.run_until([&] { return engine.now() >= 1e9; }, 1e12);
        for (const Busy* one : busy)
            EXPECT_NEAR(one->steps(), 1e9 / Busy::kStepNs / 3, 30);
    }
}

double latest(Preemption preemption, Inside inside, After after) {
    Memory memory(small_machine(1), *find_variant("7.3"), 1);
    Engine engine(memory, Costs(), preemption);
    engine.add(std::make_unique<Busy>(inside, after), 0);
    // Another of the same, so that there is somebody who must not come in between.
    engine.add(std::make_unique<Busy>(inside, after), 0);
    TimerSettings settings;
    settings.interval_ns = 1'037'000;  // falls everywhere into the steps
    settings.duration_ns = 1e9;
    TimerProbe probe(engine, settings, 3);
    probe.begin(engine);
    EXPECT_TRUE(engine.run_until([&] { return probe.ended(); }, 1e12));
    const Figures figures = probe.figures();
    EXPECT_GT(figures.at("probe.timer.wakeups"), 900);
    EXPECT_LE(figures.at("probe.timer.p50_ns"), figures.at("probe.timer.max_ns"));
    return figures.at("probe.timer.max_ns") - engine.cost(Work::wake);
}

TEST(Preemption, NobodyWaitsForUserCode) {
    for (const Preemption model : kModels)
        EXPECT_NEAR(latest(model, Inside::open, After::point), 0, 1e-3) << name_of(model);
}

TEST(Preemption, KernelCodeHoldsUpOnlyWhereItIsntPreemptible) {
    for (const Preemption model : kModels) {
        const double late = latest(model, Inside::kernel, After::point);
        if (model == Preemption::none || model == Preemption::voluntary) {
            EXPECT_GT(late, 0.9 * Busy::kStepNs) << name_of(model);
            EXPECT_LE(late, Busy::kStepNs) << name_of(model);
        } else {
            EXPECT_NEAR(late, 0, 1e-3) << name_of(model);
        }
    }
}

TEST(Preemption, ALockIsHeldToItsEndUnlessItSleeps) {
    for (const Preemption model : kModels) {
        const double held = latest(model, Inside::locked, After::holds);
        const double broken = latest(model, Inside::locked, After::if_wanted);
        if (model == Preemption::rt) {
            EXPECT_NEAR(held, 0, 1e-3);
            EXPECT_NEAR(broken, 0, 1e-3);
            continue;
        }
        EXPECT_GT(held, 4.5 * Busy::kStepNs) << name_of(model);
        EXPECT_LE(held, 5 * Busy::kStepNs) << name_of(model);
        EXPECT_GT(broken, 0.9 * Busy::kStepNs) << name_of(model);
        EXPECT_LE(broken, Busy::kStepNs) << name_of(model);
    }
}

TEST(Preemption, MightSleepIsAPointButForNone) {
    EXPECT_GT(latest(Preemption::none, Inside::locked, After::might_sleep), 4.5 * Busy::kStepNs);
    EXPECT_LE(latest(Preemption::voluntary, Inside::locked, After::might_sleep), Busy::kStepNs);
}

struct Paged {
    double max_ns = 0;
    double rounds = 0;
    std::uint64_t written = 0;
};

Paged page_out(std::string_view arm_text, std::uint64_t seed) {
    const Arm arm = parse_arm(arm_text).value();
    Memory memory(small_machine(1), *arm.variant, seed);
    Engine engine(memory, arm.costs, arm.preemption);
    PageoutSettings settings;
    settings.workers = 2;
    settings.pages = 3000;
    settings.break_every = arm.break_every;
    Pageout pressure(engine, settings, seed);
    EXPECT_TRUE(engine.run_until([&] { return pressure.up(); }, 1e11));
    TimerSettings timers;
    timers.duration_ns = 5e8;
    TimerProbe probe(engine, timers, seed);
    probe.begin(engine);
    EXPECT_TRUE(engine.run_until([&] { return probe.ended(); }, engine.now() + 1e11));
    EXPECT_EQ(memory.validate(), "");
    EXPECT_FALSE(pressure.killed());
    return {probe.figures().at("probe.timer.max_ns"), pressure.figures().at("pressure.paged_out"),
            memory.machine().counters()[Counter::pswpout]};
}

TEST(Pageout, TheBreakBoundsTheWaitAndNothingElse) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        const Paged with = page_out("7.3", seed);
        const Paged without = page_out("7.3+break=never", seed);
        const Costs costs;
        EXPECT_LT(with.max_ns, without.max_ns);
        EXPECT_GT(without.max_ns, 100 * costs[Work::pte]);
        EXPECT_LE(without.max_ns, 512 * costs[Work::pte] + costs[Work::wake] + 1);
        EXPECT_NEAR(with.rounds, without.rounds, 0.1 * without.rounds);
        EXPECT_GE(with.written, 2 * 3000U);
    }
}

TEST(Pageout, WhereLocksSleepTheBreakChangesNothing) {
    const Paged with = page_out("7.3+preempt=rt", 4);
    const Paged without = page_out("7.3+preempt=rt+break=never", 4);
    EXPECT_DOUBLE_EQ(with.max_ns, without.max_ns);
}

TEST(Ring, IsMadeOfWhatItSaysAndGivesItBack) {
    for (const char* name : {"6.12", "7.3"}) {
        SCOPED_TRACE(name);
        const Arm arm = parse_arm(name).value();
        Memory memory(small_machine(2), *arm.variant, 5);
        BootLoad load;
        load.pages = 30000;  // so that not every block comes in one piece
        boot(memory, load);
        const std::uint64_t before =
            memory.machine().free_pages_total() + memory.machine().pcp_pages_total();
        Engine engine(memory, arm.costs);
        RingSettings settings;
        settings.vfree = arm.vfree;
        settings.rings = 12;
        settings.vmalloc_large = arm.variant->vfree_bulk;
        auto owned = std::make_unique<RingProbe>(0, settings, 5);
        RingProbe& probe = *owned;
        engine.add(std::move(owned), 0);
        probe.begin(engine);
        EXPECT_TRUE(engine.run_until([&] { return probe.ended(); }, 1e12));
        const Figures figures = probe.figures();
        EXPECT_EQ(figures.at("probe.ops"), 12);
        double pages = 0;
        for (unsigned order = 0; order < kOrders; ++order)
            pages += figures.at(fmt::format("probe.chunks.order{}", order)) * (1U << order);
        EXPECT_EQ(pages * kPageBytes, figures.at("probe.mapped_bytes"));
        EXPECT_GT(figures.at("probe.chunks.order8"), 0);
        EXPECT_EQ(memory.machine().free_pages_total() + memory.machine().pcp_pages_total(), before);
        EXPECT_EQ(memory.validate(), "");
    }
}

TEST(Arm, KnowsPreemptionAndBreak) {
    EXPECT_EQ(parse_arm("6.12").value().preemption, Preemption::voluntary);
    EXPECT_EQ(parse_arm("7.3+preempt=rt").value().preemption, Preemption::rt);
    EXPECT_EQ(parse_arm("7.3").value().break_every, 32U);
    EXPECT_EQ(parse_arm("7.3+break=8").value().break_every, 8U);
    EXPECT_EQ(parse_arm("7.3+break=never").value().break_every, std::nullopt);
    for (const char* bad : {"7.3+break=0", "7.3+break=513", "7.3+break=8x", "7.3+preempt=some"})
        EXPECT_FALSE(parse_arm(bad)) << bad;
}

}  // namespace
}  // namespace mano::model
