// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/metric.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "measure/catalogue.h"

namespace mano::measure {
namespace {

TEST(Metric, NamesOfKindsAndDirectionsGoBothWays) {
    for (const Kind kind :
         {Kind::counter, Kind::gauge, Kind::max, Kind::min, Kind::ratio, Kind::rate}) {
        EXPECT_EQ(kind_from(name_of(kind)), kind);
    }
    for (const Better better : {Better::lower, Better::higher, Better::neither}) {
        EXPECT_EQ(better_from(name_of(better)), better);
    }
    EXPECT_EQ(kind_from("histogram"), std::nullopt);
    EXPECT_EQ(better_from(""), std::nullopt);
}

struct Expected {
    std::string_view name;
    std::string_view unit;
    Kind kind;
    Better better;
};

TEST(Metric, FamiliesKnowKindUnitAndDirection) {
    const std::vector<Expected> all{
        {"psi.probe.memory.some.total_us", "us", Kind::counter, Better::lower},
        {"psi.system.cpu.full.total_us", "us", Kind::counter, Better::lower},
        {"vmstat.allocstall", "count", Kind::counter, Better::lower},
        {"vmstat.allocstall_dma32", "count", Kind::counter, Better::lower},
        {"vmstat.compact_stall", "count", Kind::counter, Better::lower},
        {"vmstat.pgscan_direct", "pages", Kind::counter, Better::lower},
        {"vmstat.pgfault", "count", Kind::counter, Better::neither},
        {"vmstat.nr_free_pages", "pages", Kind::gauge, Better::neither},
        {"vmstat.nr_dirtied", "pages", Kind::counter, Better::neither},
        {"vmstat.a_key_of_tomorrow", "count", Kind::counter, Better::neither},
        {"probe.chunks.order9", "count", Kind::counter, Better::neither},
        {"probe.chunks.order15", "count", Kind::counter, Better::neither},
        {"probe.errno.ENOMEM", "count", Kind::counter, Better::lower},
        {"probe.blocks.held.order10", "count", Kind::gauge, Better::neither},
        {"probe.free_low_of_min_pct", "%", Kind::min, Better::higher},
        {"mthp.64kB.anon_fault_alloc", "count", Kind::counter, Better::higher},
        {"mthp.2048kB.anon_fault_fallback", "count", Kind::counter, Better::lower},
        {"mthp.16kB.nr_anon", "count", Kind::gauge, Better::neither},
        {"memcg.probe.anon", "bytes", Kind::gauge, Better::neither},
        {"memcg.load.pgmajfault", "count", Kind::counter, Better::lower},
        {"memcg.probe.workingset_activate_anon", "count", Kind::counter, Better::neither},
        {"memcg.probe.slab_reclaimable", "bytes", Kind::gauge, Better::neither},
        {"buddy.node0.DMA32.order10", "count", Kind::gauge, Better::neither},
        {"buddy.total.order0", "count", Kind::gauge, Better::neither},
        {"pagetype.node0.Normal.Movable.order3", "count", Kind::gauge, Better::neither},
        {"zoneinfo.node0.Normal.free", "pages", Kind::gauge, Better::neither},
        {"zoneinfo.node0.Normal.cpu3.count", "pages", Kind::gauge, Better::neither},
        {"zoneinfo.node0.Normal.numa_hit", "count", Kind::counter, Better::neither},
        {"zoneinfo.node0.nr_dirtied", "pages", Kind::counter, Better::neither},
        {"cpu.probe.usage_usec", "us", Kind::counter, Better::neither},
        {"cpu.load.nr_periods", "count", Kind::counter, Better::neither},
        {"kmsg.warnings", "count", Kind::counter, Better::lower},
        {"meminfo.MemAvailable", "bytes", Kind::gauge, Better::neither},
        {"meminfo.HugePages_Total", "count", Kind::gauge, Better::neither},
        {"stat.cpu.steal_ticks", "ticks", Kind::counter, Better::neither},
        {"stat.procs_running", "count", Kind::gauge, Better::neither},
        {"tp.page_alloc", "count", Kind::counter, Better::neither},
        {"probe.ops", "count", Kind::counter, Better::higher},
        {"probe.fault_ns_max", "ns", Kind::max, Better::lower},
        {"probe.ops_per_s", "1/s", Kind::rate, Better::higher},
        {"trial.failed", "count", Kind::counter, Better::lower},
    };
    for (const Expected& expected : all) {
        const auto metric = find_metric(expected.name);
        ASSERT_TRUE(metric) << expected.name;
        EXPECT_EQ(metric->name, expected.name);
        EXPECT_EQ(metric->unit, expected.unit) << expected.name;
        EXPECT_EQ(name_of(metric->kind), name_of(expected.kind)) << expected.name;
        EXPECT_EQ(name_of(metric->better), name_of(expected.better)) << expected.name;
        EXPECT_FALSE(metric->meaning.empty()) << expected.name;
        EXPECT_GT(metric->margin_pct, 0) << expected.name;
    }
}

TEST(Metric, NamesOutsideOfFamiliesAreUnknown) {
    for (const std::string_view name : {"",
                                        ".",
                                        "vmstat",
                                        "vmstat.",
                                        "vmstat.a b",
                                        "psi.probe.memory.some.total",
                                        "psi.other.memory.some.total_us",
                                        "mthp.64.swpin",
                                        "mthp.kB.swpin",
                                        "memcg.x.anon",
                                        "cpu.x.usage_usec",
                                        "probe.unknown",
                                        "probe.chunks.order16",
                                        "probe.chunks.order",
                                        "probe.errno.EIO",
                                        "probe.blocks.during.order1",
                                        "probe.blocks.held",
                                        "derived.ratio",
                                        "pgscan_direct",
                                        "psi.probe.memory.some.avg10"}) {
        EXPECT_FALSE(find_metric(name)) << name;
    }
}

TEST(Metric, AStallOrTwoIsNoNews) {
    for (const std::string_view name :
         {"vmstat.compact_stall", "vmstat.allocstall", "vmstat.allocstall_normal"}) {
        EXPECT_GE(find_metric(name)->floor, 5) << name;
    }
    EXPECT_EQ(find_metric("trial.failed")->floor, 0);
}

TEST(Metric, CatalogueHasEachNameOnceWithAMeaning) {
    std::set<std::string> names;
    for (const Metric& metric : catalogue()) {
        EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
        EXPECT_FALSE(metric.meaning.empty()) << metric.name;
        EXPECT_FALSE(metric.unit.empty()) << metric.name;
    }
    std::set<std::string_view> keys;
    for (const Entry& entry : vmstat_entries())
        EXPECT_TRUE(keys.insert(entry.name).second);
    for (const std::string_view key : vmstat_keys())
        EXPECT_TRUE(keys.insert(key).second) << key;
}

TEST(Metric, EveryFormulaOfTheCatalogueParses) {
    std::size_t formulas = 0;
    for (const Entry& entry : exact_entries()) {
        if (entry.formula.empty()) continue;
        ++formulas;
        const auto formula = Formula::parse(entry.formula);
        ASSERT_TRUE(formula) << entry.name;
        for (const std::string& name : formula->names()) {
            EXPECT_TRUE(is_known_metric(name)) << entry.name << " uses " << name;
        }
    }
    EXPECT_EQ(catalogue_formulas().size(), formulas);
    EXPECT_GE(formulas, 5u);
}

TEST(Metric, TheRunningKernelsVmstatIsKnown) {
    std::ifstream file("/proc/vmstat");
    std::string key;
    std::string value;
    std::size_t known = 0;
    std::size_t all = 0;
    while (file >> key >> value) {
        ++all;
        if (is_known_metric("vmstat." + key)) ++known;
    }
    if (all == 0) GTEST_SKIP() << "no /proc/vmstat here";
    // A newer kernel than the list's may add some.
    EXPECT_GE(known * 100, all * 90) << known << " of " << all;
}

TEST(Metric, NearestFindsTheSlipOfAFinger) {
    EXPECT_EQ(nearest_metric("vmstat.pgscan_dirct", {}), "vmstat.pgscan_direct");
    EXPECT_EQ(nearest_metric("vmstat.compact_stlal", {}), "vmstat.compact_stall");
    EXPECT_EQ(nearest_metric("psi.prob.memory.some.total_us", {}),
              "psi.probe.memory.some.total_us");
    const std::vector<std::string> also{"derived.zone_locked_ratio"};
    EXPECT_EQ(nearest_metric("derived.zone_lock_ratio", also), "derived.zone_locked_ratio");
    EXPECT_EQ(nearest_metric("zzzzzzzzzzzzzzzzzzzzzz", {}), "");
    const std::vector<std::string_view> names{"hold", "churn", "none"};
    EXPECT_EQ(nearest_name("hodl", names), "hold");
    EXPECT_EQ(nearest_name("", names), "");
    EXPECT_EQ(nearest_name(std::string(100000, 'x'), names), "");
    EXPECT_TRUE(is_known_metric("vmstat.pgscan_direct"));
    EXPECT_FALSE(is_known_metric("vmstat.pgscan_dirct"));
    EXPECT_FALSE(is_known_metric("mthp.64kB.anon_fault_aloc"));
}

}  // namespace
}  // namespace mano::measure
