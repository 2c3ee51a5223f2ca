// SPDX-License-Identifier: GPL-2.0-or-later
// The golden files (bless with MANO_BLESS=1), and what they must hold whatever they look like.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "report/report.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using stats::Verdict;

ReportData built(const store::RunSet& runset, const Options& options = {}) {
    auto data = build(runset, options);
    EXPECT_TRUE(data) << (data ? "" : data.error().text());
    return data ? std::move(*data) : ReportData{};
}

store::RunSet golden(const std::string& wanted) {
    for (auto& [name, runset] : testing::golden_runsets()) {
        if (name == wanted) return runset;
    }
    ADD_FAILURE() << wanted;
    return {};
}

const MetricRow& row_of(const CaseReport& report, const std::string& name) {
    for (const MetricRow& row : report.rows) {
        if (row.metric.name == name) return row;
    }
    ADD_FAILURE() << "no row " << name;
    return report.rows.front();
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

TEST(Build, AKernelThatLacksWhatIsNeededIsNotComparable) {
    testing::Builder builder({"new", "old"}, {"a", "b"});
    builder.runset.plan.key_metrics = {testing::key(
        testing::metric("vmstat.compact_stall", "count", measure::Better::lower), true)};
    for (std::uint32_t case_ : {0U, 1U}) {
        for (int i = 0; i < 5; ++i)
            builder.trial(0, case_).counter("vmstat.compact_stall", 10 + i);
    }
    for (int i = 0; i < 5; ++i) {
        builder.trial(1, 0).ends(measure::Ending::precondition_missing,
                                 "this kernel has no PMU 'aux_prefer_large': it is too old");
        builder.trial(1, 1).counter("vmstat.compact_stall", 20 + i);
    }
    const ReportData data = built(builder.runset);
    ASSERT_EQ(data.cases.size(), 2U);
    EXPECT_EQ(data.cases[0].verdicts, std::vector{Verdict::not_comparable});
    ASSERT_TRUE(data.cases[0].not_comparable);
    EXPECT_EQ(*data.cases[0].not_comparable,
              "old: precondition missing: this kernel has no PMU 'aux_prefer_large'");
    // The other case is whole, and says what it says.
    EXPECT_FALSE(data.cases[1].not_comparable);
    EXPECT_EQ(data.cases[1].verdicts, std::vector{Verdict::worse});
}

TEST(Golden, TextJsonCsv) {
    for (const auto& [name, runset] : testing::golden_runsets()) {
        const ReportData data = built(runset);
        compare_golden(name + ".txt", render_text(data));
        compare_golden(name + ".json", render_json(data));
        const auto csv = render_csv(runset);
        ASSERT_TRUE(csv);
        compare_golden(name + ".csv", *csv);
    }
}

TEST(Text, FitsIntoAMail) {
    for (const auto& [name, runset] : testing::golden_runsets()) {
        for (const bool all : {false, true}) {
            Options options;
            options.all = all;
            std::istringstream lines(render_text(built(runset, options)));
            std::string line;
            while (std::getline(lines, line)) {
                EXPECT_LE(line.size(), 80U) << name << ": " << line;
                EXPECT_TRUE(std::all_of(line.begin(), line.end(),
                                        [](char c) { return c >= ' ' && c <= '~'; }))
                    << name << ": " << line;
                EXPECT_FALSE(line.ends_with(' ')) << name << ": " << line;
            }
        }
    }
}

TEST(Build, WorseIsFoundAndReturnsFour) {
    const ReportData data = built(golden("worse"));
    EXPECT_EQ(data.verdict, Verdict::worse);
    EXPECT_EQ(exit_code(data), 4);
    const MetricRow& row = row_of(data.cases[0], "zone_locked_pct");
    EXPECT_TRUE(row.primary);
    EXPECT_NEAR(*row.arms[0].summary.median, 5.9, 0.1);
    EXPECT_NEAR(*row.arms[1].summary.median, 10.5, 0.1);
    EXPECT_NEAR(*row.changes[0].comparison.p_adjusted, 2.0 / 924, 1e-12);
    // What the plan says can't be answered never becomes a verdict.
    EXPECT_EQ(row_of(data.cases[0], "probe.ops").changes[0].verdict, Verdict::inconclusive);
}

TEST(Build, ExitCodes) {
    EXPECT_EQ(exit_code(built(golden("too-few"))), 3);
    EXPECT_EQ(exit_code(built(golden("one-trial"))), 3);
    EXPECT_EQ(exit_code(built(golden("not-comparable"))), 3);
    EXPECT_EQ(exit_code(built(golden("one-arm"))), 0);
    EXPECT_EQ(exit_code(built(golden("cases"))), 0);
    EXPECT_EQ(exit_code(built(golden("mishaps"))), 4);
}

TEST(Build, VerdictsByCase) {
    const ReportData data = built(golden("cases"));
    ASSERT_EQ(data.cases.size(), 3U);
    EXPECT_EQ(data.cases[0].verdict, Verdict::no_change);
    EXPECT_EQ(data.cases[1].verdict, Verdict::better);
    EXPECT_EQ(data.cases[2].verdict, Verdict::inconclusive);
    EXPECT_EQ(data.verdict, Verdict::better);
    const auto& change = row_of(data.cases[2], "psi.probe.memory.some.total_us").changes[0];
    EXPECT_TRUE(change.comparison.detectable_pct);
}

TEST(Build, ADifferentStateIsNotComparableUnlessExpected) {
    store::RunSet runset = golden("not-comparable");
    const ReportData data = built(runset);
    EXPECT_EQ(data.verdict, Verdict::not_comparable);
    ASSERT_TRUE(data.cases[0].not_comparable);
    EXPECT_NE(data.cases[0].not_comparable->find("state.thp"), std::string::npos);
    runset.plan.expected_differences = {"state.thp"};
    EXPECT_EQ(built(runset).verdict, Verdict::worse);
}

// 6.1 has the old switch of huge pages alone, later kernels a switch for each size beside it, which
// says "inherit" for 2 MiB: as long as the old one agrees, nothing differs.
TEST(Build, InheritedFolioSizesAreTheOldSwitch) {
    const store::RunSet runset = golden("not-comparable");
    const auto with = [&](const std::string& size, const std::string& thp,
                          const std::string& other) {
        store::RunSet changed = runset;
        for (store::StoredTrial& trial : changed.trials) {
            trial.record.facts = {{"state.thp", thp}};
            if (trial.planned.arm != 0) trial.record.facts.push_back({"state.mthp." + size, other});
        }
        return built(changed).verdict;
    };
    EXPECT_EQ(with("2048kB", "never", "inherit"), Verdict::worse);
    EXPECT_EQ(with("2048kB", "madvise", "inherit"), Verdict::worse);
    EXPECT_EQ(with("2048kB", "madvise", "madvise"), Verdict::worse);
    EXPECT_EQ(with("2048kB", "never", "always"), Verdict::not_comparable);
    EXPECT_EQ(with("64kB", "never", "inherit"), Verdict::worse);
    EXPECT_EQ(with("64kB", "always", "inherit"), Verdict::not_comparable);
}

TEST(Build, GatesTolerateWhatKernelsMayDifferIn) {
    store::RunSet runset = golden("not-comparable");
    const auto with = [&](const std::string& key, const std::string& base,
                          const std::string& other) {
        store::RunSet changed = runset;
        for (store::StoredTrial& trial : changed.trials) {
            trial.record.facts.clear();
            const std::string& value = trial.planned.arm == 0 ? base : other;
            if (!value.empty()) trial.record.facts.push_back({key, value});
        }
        return built(changed).verdict;
    };
    EXPECT_EQ(with("state.mthp.64kB", "", "never"), Verdict::worse);
    EXPECT_EQ(with("state.mthp.64kB", "", "always"), Verdict::not_comparable);
    EXPECT_EQ(with("state.lru_gen", "0x0003", "0x0007"), Verdict::worse);
    EXPECT_EQ(with("state.lru_gen", "0x0000", "0x0007"), Verdict::not_comparable);
    EXPECT_EQ(with("state.swap", "zram 1000000 bytes", "zram 1004096 bytes"), Verdict::worse);
    EXPECT_EQ(with("state.swap", "zram 1000000 bytes", "zram 2000000 bytes"),
              Verdict::not_comparable);
    EXPECT_EQ(with("state.swap", "none", "zram 2000000 bytes"), Verdict::not_comparable);
    EXPECT_EQ(with("sysctl.vm/swappiness", "60", "100"), Verdict::worse);
    // Left to the kernels' defaults, lru_gen is part of what is compared.
    runset.plan.shape.lru_gen.reset();
    EXPECT_EQ(with("state.lru_gen", "0x0000", "0x0007"), Verdict::worse);
}

TEST(Build, ALevelThatDiffersIsNotComparable) {
    store::RunSet runset = golden("cases");
    for (store::StoredTrial& trial : runset.trials) {
        if (trial.planned.case_ != 1 || trial.planned.arm != 1) continue;
        for (measure::Sample& sample : trial.record.samples) {
            if (sample.metric == "pressure.level_pct") sample.value = 92;
        }
    }
    const ReportData data = built(runset);
    EXPECT_EQ(data.cases[0].verdict, Verdict::no_change);
    EXPECT_EQ(data.cases[1].verdict, Verdict::not_comparable);
    EXPECT_EQ(exit_code(data), 3);
}

TEST(Build, FailedTrialsCountAndSpoiledOnesDont) {
    const ReportData data = built(golden("mishaps"));
    EXPECT_EQ(data.arms[1].trials, 6U);
    EXPECT_EQ(data.arms[1].failed, 5U);
    EXPECT_EQ(data.arms[1].spoiled, 1U);
    const MetricRow& failed = row_of(data.cases[0], "trial.failed");
    EXPECT_EQ(failed.changes[0].verdict, Verdict::worse);
    EXPECT_NEAR(failed.changes[0].comparison.test->p, 0.015151515151515152, 1e-12);
    EXPECT_EQ(data.verdict, Verdict::worse);
    const MetricRow& ops = row_of(data.cases[0], "probe.ops");
    EXPECT_EQ(ops.arms[1].values.size(), 6U);
    EXPECT_EQ(ops.arms[1].summary.n, 1U);
    EXPECT_FALSE(ops.arms[1].values[0]);
    EXPECT_EQ(row_of(data.cases[0], "vmstat.allocstall_normal").arms[1].summary.n, 6U);
}

TEST(Build, OneFailureOfTwelveIsNoRegression) {
    store::RunSet runset = golden("mishaps");
    for (store::StoredTrial& trial : runset.trials) {
        if (trial.standing == measure::Standing::failed && trial.planned.row > 0) {
            trial.standing = measure::Standing::counted;
        }
    }
    const ReportData data = built(runset);
    EXPECT_EQ(row_of(data.cases[0], "trial.failed").changes[0].verdict, Verdict::inconclusive);
}

TEST(Build, AnotherBaseTurnsTheSign) {
    Options options;
    options.base = "7.3";
    const ReportData data = built(golden("worse"), options);
    EXPECT_EQ(data.base, "7.3");
    EXPECT_EQ(data.verdict, Verdict::better);
}

TEST(Build, SaysWhatItDoesNotHave) {
    Options options;
    options.base = "7.9";
    auto data = build(golden("worse"), options);
    ASSERT_FALSE(data);
    EXPECT_EQ(data.error().code, Code::not_found);
    EXPECT_NE(data.error().message.find("7.1, 7.3"), std::string::npos);
    options = {};
    options.cases = {"demand=2"};
    EXPECT_FALSE(build(golden("cases"), options));
    options.cases = {"0.95"};
    EXPECT_EQ(built(golden("cases"), options).cases.size(), 1U);
    options = {};
    options.metrics = {"nothing.*"};
    EXPECT_FALSE(build(golden("worse"), options));
    EXPECT_FALSE(build(store::RunSet{}, {}));
}

TEST(Build, RowsBelowTheirFloorAreCountedNotShown) {
    const ReportData data = built(golden("worse"));
    const MetricRow& stalls = row_of(data.cases[0], "vmstat.compact_stall");
    EXPECT_TRUE(stalls.below_floor);
    EXPECT_FALSE(stalls.shown);
    EXPECT_GT(data.cases[0].hidden_below_floor, 0U);
    Options options;
    options.all = true;
    EXPECT_TRUE(row_of(built(golden("worse"), options).cases[0], "vmstat.compact_stall").shown);
}

TEST(Build, EqualToTheDigitIsNoChange) {
    testing::Builder builder({"7.3", "same"});
    builder.runset.plan.key_metrics = {
        testing::key(testing::metric("probe.ops", "count", measure::Better::higher, 0.1), true)};
    builder.fill("probe.ops", {{100, 150, 90, 30}, {100, 150, 90, 30}});
    EXPECT_EQ(built(builder.runset).verdict, Verdict::no_change);
    builder.runset.plan.exact = false;
    EXPECT_NE(built(builder.runset).verdict, Verdict::no_change);
}

TEST(Build, ANeutralKeyMetricSaysSo) {
    testing::Builder builder({"a", "b"});
    builder.runset.plan.key_metrics = {
        testing::key(testing::metric("made.up", "count", measure::Better::neither), true)};
    builder.fill("made.up", {{1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16}});
    const ReportData data = built(builder.runset);
    EXPECT_EQ(data.verdict, Verdict::inconclusive);
    EXPECT_EQ(data.cases[0].rows[0].changes[0].warnings, std::vector<std::string>{"no-direction"});
    EXPECT_EQ(exit_code(data), 0);
}

TEST(Build, HostileTextStaysInItsLine) {
    testing::Builder builder({"a", "b"});
    builder.fill("evil\x1b[2Jname\n\xff", {{1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16}});
    builder.fact("state.swap", "\x1b]0;title\x07\xc3");
    const ReportData data = built(builder.runset);
    for (const char c : render_text(data))
        EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
    EXPECT_FALSE(render_json(data).empty());
}

}  // namespace
}  // namespace mano::report
