// SPDX-License-Identifier: GPL-2.0-or-later
// PSI arithmetic from stated timelines, the slow path's order of actions, and whole runs: their
// invariants, their determinism, and what must not differ where policies can't.
#include "model/engine.h"

#include <gtest/gtest.h>

#include "model/arm.h"
#include "model/load/aux_probe.h"
#include "model/load/hold.h"
#include "model/load/kernel_load.h"
#include "model/load/mthp_probe.h"
#include "model/load/shm_probe.h"

namespace mano::model {
namespace {

constexpr PsiChange kRun{0, 1, 0};
constexpr PsiChange kStop{0, -1, 0};
constexpr PsiChange kEnter{1, 0, 1};
constexpr PsiChange kLeave{-1, 0, -1};
constexpr double kMs = 1e6;

TEST(Psi, AStallOnOneBusyCpuIsCountedWhole) {
    PsiGroup group(2);
    group.change(0, 0, kRun);
    group.change(0, 10 * kMs, kEnter);
    group.change(0, 30 * kMs, kLeave);
    group.change(0, 40 * kMs, kStop);
    group.collect(100 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().some_ns, 20 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().full_ns, 20 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().true_some_ns, 20 * kMs);
}

// Five milliseconds on each of two CPUs come out as five, not ten.
TEST(Psi, TwoCpusAreAveragedByTheirNonIdleTime) {
    PsiGroup group(2);
    for (unsigned cpu = 0; cpu < 2; ++cpu) {
        group.change(cpu, 0, kRun);
        group.change(cpu, 3 * kMs, kEnter);
        group.change(cpu, 8 * kMs, kLeave);
        group.change(cpu, 8 * kMs, kStop);
    }
    group.collect(20 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().some_ns, 5 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().true_some_ns, 10 * kMs);
}

TEST(Psi, ACpuBelowAJiffyOfNonIdleTimeIsDropped) {
    PsiGroup group(1);
    group.change(0, 0, kRun);
    group.change(0, 1 * kMs, kEnter);
    group.change(0, 3 * kMs, kLeave);
    group.change(0, 3.9 * kMs, kStop);
    group.collect(10 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().some_ns, 0);
    EXPECT_DOUBLE_EQ(group.totals().true_some_ns, 2 * kMs);
    group.collect(20 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().some_ns, 0) << "what was dropped doesn't come back";
}

TEST(Psi, SomebodyWhoRunsMeansSomeAndNotFull) {
    PsiGroup group(1);
    group.change(0, 0, kRun);
    group.change(0, 0, kRun);
    group.change(0, 0, kEnter);
    group.change(0, 20 * kMs, kLeave);
    group.change(0, 40 * kMs, kStop);
    group.change(0, 40 * kMs, kStop);
    group.collect(40 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().some_ns, 20 * kMs);
    EXPECT_DOUBLE_EQ(group.totals().full_ns, 0);
}

// A small machine under pressure, with one iteration of the AUX probe.
struct Outcome {
    Counters counters;
    std::uint64_t compact_stalls = 0;  // of the probe's time
    Figures figures;
    PsiTotals psi;
    double now = 0;
    std::string breach;
    bool killed = false;
};

MachineShape small_guest() {
    MachineShape shape;
    NodeShape node;
    node.managed[kDma32] = 60000;
    node.cpus = 4;
    shape.nodes.push_back(node);
    shape.swap_pages = 30000;
    return shape;
}

Outcome run_aux(std::string_view arm_text, double demand, std::uint64_t seed,
                AuxArea::Capability capability = AuxArea::Capability::prefer_large) {
    const Arm arm = parse_arm(arm_text).value();
    Memory memory(small_guest(), *arm.variant, seed);
    BootLoad load;
    load.pages = 2000;
    boot(memory, load);
    Engine engine(memory, arm.costs);
    engine.add(make_background(1, 2000, seed), 0);
    HoldSettings settings;
    settings.demand = demand;
    settings.folio_order = 4;
    settings.punch = 0.03;
    Hold hold(engine, settings, seed);
    engine.run_until([&] { return hold.up() || hold.killed(); }, 1e12);
    AuxProbeSettings probe_settings;
    probe_settings.area = {capability, 512, 0, false};
    probe_settings.data_pages = 64;
    probe_settings.rounds = 4;
    probe_settings.policy = arm.aux;
    auto owned = std::make_unique<AuxProbe>(0, probe_settings, seed);
    AuxProbe& probe = *owned;
    engine.add(std::move(owned), engine.now());
    const std::uint64_t before = engine.machine().counters()[Counter::compact_stall];
    probe.begin(engine);
    engine.run_until([&] { return probe.ended(); }, engine.now() + 1e12);
    EXPECT_TRUE(probe.ended());
    const Counters& counters = engine.machine().counters();
    return {counters,        counters[Counter::compact_stall] - before,
            probe.figures(), engine.read_psi(Group::probe),
            engine.now(),    memory.validate(),
            hold.killed()};
}

TEST(Runs, EqualSeedsGiveEqualRunsAndOthersDont) {
    const Outcome first = run_aux("7.3", 1.0, 5);
    const Outcome again = run_aux("7.3", 1.0, 5);
    EXPECT_EQ(first.counters, again.counters);
    EXPECT_EQ(first.figures, again.figures);
    EXPECT_EQ(first.now, again.now);
    const Outcome other = run_aux("7.3", 1.0, 6);
    EXPECT_FALSE(first.counters == other.counters);
}

TEST(Runs, KeepInvariantsInEveryVariantAndPolicy) {
    std::uint64_t seed = 100;
    for (const KernelVariant& variant : variants()) {
        for (const auto& policy : aux_policies()) {
            const std::string arm = fmt::format("{}+aux={}", variant.name, policy.name);
            SCOPED_TRACE(fmt::format("{} seed {}", arm, ++seed));
            const Outcome outcome = run_aux(arm, 1.0, seed);
            EXPECT_EQ(outcome.breach, "");
            EXPECT_FALSE(outcome.killed);
            EXPECT_LE(outcome.psi.full_ns, outcome.psi.some_ns * 1.0000001);
            EXPECT_GE(outcome.figures.at("probe.ops"), 1);
        }
    }
}

// __GFP_RECLAIM cleared: nobody waits for a large chunk, so nothing is compacted for one. What is
// left is of the others' small orders.
TEST(Runs, WithoutReclaimNothingIsCompactedForAChunk) {
    double before = 0;
    double after = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(seed);
        const Outcome plain = run_aux("7.3", 1.0, seed);
        const Outcome patched = run_aux("7.3+aux=no-reclaim", 1.0, seed);
        before += static_cast<double>(plain.compact_stalls);
        after += static_cast<double>(patched.compact_stalls);
        EXPECT_LE(patched.psi.true_some_ns, plain.psi.true_some_ns);
        EXPECT_EQ(patched.figures.at("probe.ops"), 16);
    }
    EXPECT_GT(before, 10 * after);
}

// Where single pages are all that is asked for, and memory is plenty, the policies are one.
TEST(Runs, PoliciesAreEqualWhereTheirDifferenceCantTrigger) {
    const Outcome plain = run_aux("7.3", 0.5, 9, AuxArea::Capability::pages);
    for (const char* arm : {"7.3+aux=no-reclaim", "7.3+aux=sticky", "7.3+aux=no-reclaim-kswapd"}) {
        const Outcome other = run_aux(arm, 0.5, 9, AuxArea::Capability::pages);
        EXPECT_EQ(plain.counters, other.counters) << arm;
        EXPECT_EQ(plain.figures, other.figures) << arm;
    }
}

// The premise of 2019: a costly NORETRY request gave up at once after a compaction that was
// skipped.
TEST(SlowPath, CostlyNoretryBailsOnlyBefore72) {
    for (const char* name : {"6.12", "7.3"}) {
        SCOPED_TRACE(name);
        Memory memory(small_guest(), *find_variant(name), 1);
        Cpu cpu;
        Request all;
        all.flags = gfp::kKernel;
        // Down to the min watermark: nothing that compaction could work with.
        while (memory.machine().get_page(cpu, all, kWmarkMin) != kNoPage) {
        }
        Request request;
        request.flags = gfp::kKernel | gfp::kNowarn | gfp::kNoretry;
        request.order = 8;
        SlowPath slow;
        slow.start(memory, request);
        Stage stage;
        for (int i = 0; i < 1000 && stage.what != Stage::What::done; ++i)
            stage = slow.step(cpu);
        EXPECT_EQ(stage.what, Stage::What::done);
        EXPECT_EQ(stage.page, kNoPage);
        const Counters& counters = memory.machine().counters();
        EXPECT_EQ(counters[Counter::compact_stall], 0U);
        EXPECT_EQ(counters[Counter::allocstall_normal], name == std::string("6.12") ? 0U : 1U);
    }
}

TEST(SlowPath, WithoutDirectReclaimNobodyWaits) {
    Memory memory(small_guest(), *find_variant("7.3"), 1);
    Cpu cpu;
    Request all;
    while (memory.machine().get_page(cpu, all, kWmarkMin) != kNoPage) {
    }
    Request request;
    request.flags = (gfp::kKernel & ~gfp::kReclaim) | gfp::kNomemalloc;
    request.order = 5;
    SlowPath slow;
    slow.start(memory, request);
    Stage stage;
    while (stage.what == Stage::What::again) {
        stage = slow.step(cpu);
        EXPECT_FALSE(slow.in_memstall());
    }
    EXPECT_EQ(stage.what, Stage::What::done);
    EXPECT_EQ(stage.page, kNoPage);
    EXPECT_FALSE(memory.machine().nodes()[0].kswapd_awake) << "nobody was to be woken";
    EXPECT_EQ(memory.machine().counters()[Counter::pgscan_direct], 0U);
}

TEST(Loads, MthpAndShmRunAndGiveEverythingBack) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        const Arm arm = parse_arm("7.3").value();
        Memory memory(small_guest(), *arm.variant, seed);
        Engine engine(memory, arm.costs);
        MthpSettings mthp;
        mthp.pages = 4096;
        mthp.duration_ns = 2e7;
        auto owned = std::make_unique<MthpProbe>(engine, 0, mthp, seed);
        MthpProbe& probe = *owned;
        engine.add(std::move(owned), 0);
        probe.begin(engine);
        EXPECT_TRUE(engine.run_until([&] { return probe.ended(); }, 1e12));
        EXPECT_EQ(probe.counters().at("mthp.64kB.anon_fault_alloc"),
                  probe.figures().at("probe.faults"));
        ShmSettings settings;
        settings.vfree = arm.vfree;
        settings.duration_ns = 1e8;
        ShmProbe shm(engine, settings, seed);
        shm.begin(engine);
        EXPECT_TRUE(engine.run_until([&] { return shm.ended(); }, 1e12));
        EXPECT_GT(shm.figures().at("probe.ops"), 3);
        EXPECT_EQ(shm.counters().at("stat.processes"),
                  settings.threads * shm.figures().at("probe.ops"));
        EXPECT_EQ(memory.validate(), "");
    }
}

TEST(Arm, NamesWhatItDoesntKnow) {
    EXPECT_EQ(parse_arm("7.3").value().text, "7.3+aux=plain+vfree=contiguous");
    EXPECT_EQ(parse_arm("6.12+vfree=threshold").value().text, "6.12+aux=plain+vfree=threshold");
    const auto typo = parse_arm("7.3+aux=no-reclaims");
    ASSERT_FALSE(typo);
    EXPECT_NE(typo.error().text().find("did you mean 'no-reclaim'"), std::string::npos);
    EXPECT_FALSE(parse_arm("7.9"));
    EXPECT_FALSE(parse_arm("7.3+cost.scan=nan"));
    EXPECT_FALSE(parse_arm("7.3+"));
    EXPECT_DOUBLE_EQ(parse_arm("7.3+cost.scan=2").value().costs[Work::scan],
                     2 * Costs()[Work::scan]);
}

}  // namespace
}  // namespace mano::model
