// SPDX-License-Identifier: GPL-2.0-or-later
// Each format's layout as golden files (bless with MANO_BLESS=1), and what must hold of it whatever
// it looks like.
#include "report/renderers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

store::RunSet golden(const std::string& wanted) {
    for (auto& [name, runset] : testing::golden_runsets()) {
        if (name == wanted) return runset;
    }
    ADD_FAILURE() << wanted;
    return {};
}

ReportData built(const store::RunSet& runset, const Options& options = {}) {
    auto data = build(runset, options);
    EXPECT_TRUE(data) << data.error().text();
    return data ? std::move(*data) : ReportData();
}

void compare_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(MANO_SOURCE_DIR) + "/tests/golden/report/" + name;
    if (std::getenv("MANO_BLESS") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
        ASSERT_TRUE(write_file_atomic(path, text));
        return;
    }
    const auto expected = read_file(path);
    ASSERT_TRUE(expected) << "no golden file; run with MANO_BLESS=1 and read what it writes";
    EXPECT_EQ(text, *expected) << name;
}

TEST(Renderers, Goldens) {
    for (const auto& [name, runset] : testing::golden_runsets()) {
        const ReportData data = built(runset);
        for (const std::string format : {"markdown", "lkp", "mmtests", "gobench", "ktap"}) {
            const auto text = find_renderer(format)->render(data, runset, {});
            ASSERT_TRUE(text) << format;
            compare_golden(name + "." + format, *text);
        }
    }
    Options both;
    both.rule = Rule::lkp;
    compare_golden("worse.rule-lkp", render_lkp(built(golden("worse"), both)));
}

TEST(Renderers, TableIsConsistent) {
    for (const Renderer& each : renderers())
        EXPECT_EQ(find_renderer(each.name), &each);
    EXPECT_EQ(find_renderer("html"), nullptr);
    EXPECT_EQ(renderers().front().name, "text");
}

// Values of two arms of one metric, in LKP's words.
testing::Builder of_metric(const std::string& name,
                           const std::vector<std::vector<double>>& values) {
    testing::Builder builder({"base", "head"});
    builder.runset.plan.exact = false;
    builder.fill(name, values);
    return builder;
}

std::string line_of(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("  " + name + "\n");
    if (at == std::string::npos) return "no line " + name + " in\n" + text;
    const std::size_t start = text.rfind('\n', at) + 1;
    return text.substr(start, at - start);
}

TEST(Lkp, NumbersAreShownAsThere) {
    Options all;
    all.all = true;
    const auto line = [&](const std::vector<std::vector<double>>& values) {
        const auto builder = of_metric("vmstat.pgfault", values);
        return line_of(render_lkp(built(builder.runset, all)), "proc-vmstat.pgfault");
    };
    // Arithmetic mean, population deviation in % when above 2, cut off and not rounded.
    EXPECT_EQ(line({{10, 20, 30}, {40, 40, 40}}),
              "     20.00 \u00b1 40%    +100.0%      40.00      ");
    EXPECT_EQ(line({{8806.9, 8806.9}, {8806.9, 8806.9}}),
              "      8806            +0.0%       8806      ");
    EXPECT_EQ(line({{3.0764e8}, {2.852e8}}), " 3.076e+08            -7.3%  2.852e+08      ");
    EXPECT_EQ(line({{100, 101}, {100, 101}}), "    100.50            +0.0%     100.50      ");
    // LKP divides by 1e-100 and prints 5e+103%.
    EXPECT_EQ(line({{0, 0}, {5, 5}}), "      0.00             new        5.00      ");
    EXPECT_EQ(line({{0, 0}, {0, 0}}), "      0.00            +0.0%       0.00      ");
    EXPECT_EQ(line({{1e-3}, {1e5}}), "      0.00          +1e+10%     100000      ");
}

TEST(Lkp, FailuresAreCounted) {
    testing::Builder builder({"base", "head"});
    for (std::uint32_t arm = 0; arm < 2; ++arm) {
        for (int trial = 0; trial < 4; ++trial) {
            builder.trial(arm).counter("vmstat.pgfault", 5);
            if (arm == 1 && trial > 0) builder.ends(measure::Ending::panic, "Oops");
        }
    }
    const std::string text = render_lkp(built(builder.runset));
    EXPECT_THAT(text, HasSubstr("       fail:runs  %reproduction    fail:runs\n"));
    EXPECT_EQ(line_of(text, "trial.failed"), "           :4           75%           3:4   ");
}

// The published examples of lkp-tests (spec/fixtures/stats_changed_stats), by its own rule.
TEST(LkpRule, ItsOwnExamples) {
    using Values = std::vector<std::optional<double>>;
    const Values slow{7415950.517791, 7363113.100274, 7412635.583085,
                      7422347.724252, 7442603.302947, 7367030.480747};
    const Values fast{7960045.052608, 7855475.99254,  8013649.203754,
                      7927162.999455, 7785809.108594, 7902933.963499};
    const std::string works = "fxmark.ssd_ext4_no_jnl_MRPL_4_bufferedio.works/sec";
    EXPECT_TRUE(lkp_rule(works, slow, fast).changed);
    EXPECT_TRUE(lkp_rule(works, fast, slow).changed);
    const Values ten{10, 10, 10};
    const Values twenty{20, 20, 20};
    EXPECT_TRUE(lkp_rule("cpu.usage", twenty, ten).changed);
    EXPECT_FALSE(lkp_rule("cpu.usage", ten, ten).changed);
    EXPECT_TRUE(
        lkp_rule("dmesg.BUG_kmalloc-#:Padding_overwritten.#-#@offset=", Values{0}, Values{1})
            .changed);
    EXPECT_TRUE(lkp_rule("vmstat.cpu.us", twenty, ten).changed);
    // Small changes: under 1 %, and under 5 % of what is no perf metric.
    EXPECT_FALSE(lkp_rule("cpu.usage", Values{100, 100, 100}, Values{100.9, 100.9, 100.9}).changed);
    EXPECT_TRUE(lkp_rule("cpu.usage", Values{100, 100, 100}, Values{102, 102, 102}).changed);
    EXPECT_FALSE(
        lkp_rule("softirqs.RCU", Values{20000, 20000, 20000}, Values{20400, 20400, 20400}).changed);
    EXPECT_TRUE(
        lkp_rule("proc-vmstat.pgfault", Values{20000, 20000, 20000}, Values{20400, 20400, 20400})
            .changed);
    // Its floors, and its least number of runs.
    EXPECT_FALSE(lkp_rule("proc-vmstat.compact_stall", Values{2, 2, 2}, Values{9, 9, 9}).changed);
    EXPECT_TRUE(
        lkp_rule("proc-vmstat.compact_stall", Values{2, 2, 2}, Values{900, 900, 900}).changed);
    EXPECT_FALSE(lkp_rule("cpu.usage", Values{10, 10}, Values{20, 20}).changed);
    // A median inside the other's range isn't a change, whatever the means do.
    EXPECT_FALSE(lkp_rule("cpu.usage", Values{10, 20, 30}, Values{25, 26, 90}).changed);
    // What the base lacks altogether isn't compared; what a run lacks counts as 0.
    EXPECT_FALSE(
        lkp_rule("cpu.usage", Values{std::nullopt, std::nullopt, std::nullopt}, ten).changed);
}

// At three runs an arm the rule calls a fifth of all unchanged metrics changed.
TEST(LkpRule, FalseAlarmsOfItsRuleByEnumeration) {
    std::vector<double> order{0, 1, 2, 3, 4, 5};
    std::size_t all = 0;
    std::size_t changed = 0;
    std::vector<bool> in_base{false, false, false, true, true, true};
    do {
        std::vector<std::optional<double>> base;
        std::vector<std::optional<double>> head;
        for (std::size_t i = 0; i < order.size(); ++i)
            (in_base[i] ? base : head).emplace_back(1000 + 100 * order[i]);
        ++all;
        changed += lkp_rule("mytest.ops", base, head).changed ? 1 : 0;
    } while (std::next_permutation(in_base.begin(), in_base.end()));
    EXPECT_EQ(all, 20U);
    EXPECT_EQ(changed, 4U);
}

TEST(Rules, BothBesideEachOther) {
    Options options;
    options.rule = Rule::lkp;
    auto builder = of_metric("vmstat.pgfault", {{10000, 10100, 10200}, {20000, 20100, 20200}});
    builder.runset.plan.key_metrics = {
        testing::key(testing::metric("vmstat.pgfault", "count", measure::Better::lower), true)};
    const ReportData data = built(builder.runset, options);
    ASSERT_TRUE(data.cases[0].rows[0].changes[0].lkp.has_value());
    EXPECT_TRUE(data.cases[0].rows[0].changes[0].lkp->changed);
    const std::string text = *find_renderer("text")->render(data, builder.runset, options);
    // Three trials an arm: ours can't tell, theirs does.
    EXPECT_THAT(text, HasSubstr("by LKP's alone 1"));
    EXPECT_THAT(text, HasSubstr("vmstat.pgfault: adjusted p 0.1"));
    EXPECT_THAT(render_text(built(builder.runset)), Not(HasSubstr("LKP")));
    EXPECT_THAT(render_json(data), HasSubstr("\"lkp\""));
}

std::vector<std::string> names_of(const ReportData& data) {
    std::vector<std::string> names;
    for (const MetricRow& row : data.cases[0].rows) {
        if (row.shown) names.push_back(row.metric.name);
    }
    return names;
}

TEST(Options, SortChangedAndMetrics) {
    testing::Builder builder({"base", "head"});
    builder.runset.plan.exact = false;
    for (std::uint32_t arm = 0; arm < 2; ++arm) {
        for (int i = 0; i < 8; ++i) {
            builder.trial(arm)
                .counter("vmstat.pgfault", 10000 + i + arm * 5000)
                .counter("vmstat.pgscan_kswapd", 20000 + i * 10 + arm * 60000)
                .counter("vmstat.pgsteal_kswapd", 5000 + i * 10);
        }
    }
    builder.runset.plan.key_metrics = {
        testing::key(testing::metric("vmstat.pgsteal_kswapd", "pages", measure::Better::lower))};
    Options options;
    options.sort = Sort::name;
    EXPECT_THAT(names_of(built(builder.runset, options)),
                ElementsAre("vmstat.pgsteal_kswapd", "efficiency.kswapd_pct", "vmstat.pgfault",
                            "vmstat.pgscan_kswapd"));
    options.sort = Sort::change;
    EXPECT_THAT(names_of(built(builder.runset, options)),
                ElementsAre("vmstat.pgsteal_kswapd", "vmstat.pgscan_kswapd",
                            "efficiency.kswapd_pct", "vmstat.pgfault"));
    options.changed = true;
    const ReportData changed = built(builder.runset, options);
    EXPECT_THAT(names_of(changed),
                ElementsAre("vmstat.pgscan_kswapd", "efficiency.kswapd_pct", "vmstat.pgfault"));
    EXPECT_EQ(changed.cases[0].hidden_unchanged, 1U);
    options.metrics = {"vmstat.pgs*"};
    const ReportData some = built(builder.runset, options);
    EXPECT_THAT(names_of(some), ElementsAre("vmstat.pgscan_kswapd"));
    EXPECT_GT(some.cases[0].hidden_unmatched, 0U);
    EXPECT_THAT(render_text(some), HasSubstr("that match no --metric"));
    const auto csv = render_csv(builder.runset, options);
    ASSERT_TRUE(csv);
    EXPECT_THAT(*csv, HasSubstr("vmstat.pgscan_kswapd"));
    EXPECT_THAT(*csv, Not(HasSubstr("vmstat.pgfault")));
}

TEST(Mmtests, NamesEfficienciesAndVelocities) {
    testing::Builder builder({"before", "after"});
    builder.runset.plan.exact = false;
    builder.trial(0)
        .counter("vmstat.pgscan_direct", 1000)
        .counter("vmstat.pgsteal_direct", 250)
        .counter("vmstat.pgscan_kswapd", 3000)
        .counter("vmstat.pgsteal_kswapd", 3000)
        .counter("vmstat.pgfault", 500)
        .counter("vmstat.pgmajfault", 20)
        .value("probe.time_ns", 2e9);
    builder.trial(1).counter("vmstat.pgscan_direct", 0).counter("vmstat.pgsteal_direct", 0);
    const std::string text = render_mmtests(built(builder.runset));
    const auto cells = [&](const std::string& name) {
        const std::size_t at = text.find(name);
        if (at == std::string::npos) return std::string("absent");
        return text.substr(at + 30, text.find('\n', at) - at - 30);
    };
    EXPECT_EQ(cells("Minor Faults"), "           480             -");
    EXPECT_EQ(cells("Direct pages scanned"), "          1000             0");
    EXPECT_EQ(cells("Direct efficiency %"), "         25.00             -");
    EXPECT_EQ(cells("Kswapd efficiency %"), "        100.00             -");
    EXPECT_EQ(cells("Direct velocity"), "        500.00             -");
    EXPECT_EQ(cells("Percentage direct scans"), "         25.00             -");
    EXPECT_EQ(cells("THP fault alloc"), "absent");
}

TEST(Ktap, WorseFailsAndNoAnswerIsSkipped) {
    const std::string worse = render_ktap(built(golden("worse")));
    EXPECT_THAT(worse, StartsWith("KTAP version 1\n1.."));
    EXPECT_THAT(worse, HasSubstr("\nnot ok 1 "));
    const std::string few = render_ktap(built(golden("too-few")));
    EXPECT_THAT(few, HasSubstr("# SKIP too-few"));
    EXPECT_THAT(few, Not(HasSubstr("not ok")));
}

TEST(Markdown, SignsOfItsOwnAreEscaped) {
    auto builder = of_metric("odd|name_*x*", {{1, 2, 3}, {1, 2, 3}});
    Options all;
    all.all = true;
    const std::string text = render_markdown(built(builder.runset, all));
    EXPECT_THAT(text, HasSubstr("odd\\|name\\_\\*x\\*"));
}

TEST(Gobench, OneLineATrial) {
    auto builder = of_metric("vmstat.pgfault", {{1, 2}, {3.5, 4}});
    Options all;
    all.all = true;
    const std::string text = render_gobench(built(builder.runset, all));
    EXPECT_THAT(text,
                HasSubstr("\narm: base\nBenchmarkShmChurn 1 0 trial.failed 1 vmstat.pgfault\n"));
    EXPECT_THAT(text,
                HasSubstr("\narm: head\nBenchmarkShmChurn 1 0 trial.failed 3.5 vmstat.pgfault"));
}

}  // namespace
}  // namespace mano::report
