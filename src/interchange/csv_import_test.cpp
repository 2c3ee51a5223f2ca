// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <set>

#include "base/file.h"
#include "interchange/interchange.h"
#include "report/report.h"
#include "report/test_runsets.h"

namespace mano::interchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kHeader = "arm,case,trial,seed,iteration,metric,unit,value\n";

Result<Imported> import(std::string_view rows, ImportOptions options = {}) {
    options.file = "f.csv";
    return import_csv(std::string(kHeader) + std::string(rows), options);
}

std::string error_of(std::string_view rows, const ImportOptions& options = {}) {
    const auto imported = import(rows, options);
    if (imported) return "no error";
    EXPECT_EQ(imported.error().code, Code::hostile);
    return imported.error().message;
}

TEST(ImportCsv, TrialsAndFolding) {
    const auto imported = import(
        "before,,0,1,0,vmstat.pgfault,,5\n"
        "before,,0,1,1,vmstat.pgfault,count,7\n"
        "before,,0,1,,meminfo.Dirty,bytes,\n"
        "after,,7,1,0,vmstat.pgfault,,2.5e1\n");
    ASSERT_TRUE(imported) << imported.error().text();
    EXPECT_THAT(imported->arms, ElementsAre("before", "after"));
    EXPECT_THAT(imported->metrics, ElementsAre("vmstat.pgfault", "meminfo.Dirty"));
    EXPECT_EQ(imported->rows, 4U);
    ASSERT_EQ(imported->losses.size(), 1U);
    EXPECT_EQ(imported->losses[0].line, 4U);
    EXPECT_EQ(imported->losses[0].column, 8U);
    ASSERT_EQ(imported->records.size(), 2U);
    const auto folded = measure::fold(imported->records[0].samples);
    EXPECT_EQ(folded.at("vmstat.pgfault"), 12);
    EXPECT_EQ(folded.at("meminfo.Dirty"), std::nullopt);
    EXPECT_EQ(imported->records[0].losses.size(), 1U);
    EXPECT_EQ(imported->runset.plan.substrate, "import");
    EXPECT_FALSE(imported->runset.remarks.empty());
}

TEST(ImportCsv, KindsFoldAsTheySay) {
    ImportOptions options;
    options.file = "f.csv";
    const auto imported = import_csv(
        "metric,value,kind,unit,arm,case,trial,seed,iteration\n"
        "mine.sum,1,counter,,a,,0,,0\nmine.sum,2,counter,,a,,0,,1\n"
        "mine.mean,1,gauge,,a,,0,,0\nmine.mean,2,gauge,,a,,0,,1\n"
        "mine.max,5,max,,a,,0,,0\nmine.max,2,,,a,,0,,1\n",
        options);
    ASSERT_TRUE(imported) << imported.error().text();
    std::vector<measure::Metric> metrics;
    for (const auto& key : imported->runset.plan.key_metrics)
        metrics.push_back(key.metric);
    const auto folded = measure::fold(imported->records[0].samples, metrics);
    EXPECT_EQ(folded.at("mine.sum"), 3);
    EXPECT_EQ(folded.at("mine.mean"), 1.5);
    EXPECT_EQ(folded.at("mine.max"), 5);
    EXPECT_EQ(imported->runset.identity.at("seeds"), "unknown");
}

// A table that somebody wrote by hand or script: what it doesn't say is unknown, not an error.
TEST(ImportCsv, OnlyMetricAndValueAreRequired) {
    ImportOptions options;
    options.file = "f.csv";
    options.arm = "mine";
    const auto plain =
        import_csv("metric,value\nmine.a,1\nmine.b,5\nmine.a,2\nmine.a,3\n", options);
    ASSERT_TRUE(plain) << plain.error().text();
    EXPECT_THAT(plain->arms, ElementsAre("mine"));
    ASSERT_EQ(plain->records.size(), 3U) << "the n-th row of a metric is of the n-th trial";
    EXPECT_EQ(plain->records[0].samples.size(), 2U);
    EXPECT_EQ(measure::fold(plain->records[2].samples).at("mine.a"), 3);
    EXPECT_EQ(measure::fold(plain->records[2].samples).count("mine.b"), 0U) << "unknown, not 0";
    EXPECT_EQ(plain->runset.identity.at("seeds"), "unknown");

    const auto arms = import_csv("arm,metric,value\na,m,1\nb,m,5\na,m,2\n", {});
    ASSERT_TRUE(arms) << arms.error().text();
    EXPECT_THAT(arms->arms, ElementsAre("a", "b"));
    EXPECT_EQ(arms->records.size(), 3U);

    const auto why_not = [](std::string_view text) {
        const auto imported = import_csv(text, {});
        return imported ? "no error" : imported.error().message;
    };
    EXPECT_THAT(why_not("metric,value\nm,1\n"), HasSubstr("name the arm"));
    EXPECT_THAT(why_not("arm,metric\na,m\n"), HasSubstr("no column \"value\""));
    EXPECT_THAT(why_not("arm,iteration,metric,value\na,0,m,1\n"), HasSubstr("iteration of what?"));
}

TEST(ImportCsv, FaultsNameLineAndColumn) {
    EXPECT_THAT(error_of("a,,0,1,0,m,,\"1,5\"\n"),
                HasSubstr("f.csv:2: column 8 (value): \"1,5\" isn't a finite number; the decimal"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,nan\n"), HasSubstr("f.csv:2: column 8 (value)"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,inf\n"), HasSubstr("leave the cell empty"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,1e999\n"), HasSubstr("finite"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,0x1\n"), HasSubstr("finite"));
    EXPECT_THAT(error_of("a,,0,1,0,m,, 1\n"), HasSubstr("finite"));
    EXPECT_THAT(error_of("a,,-1,1,0,m,,1\n"), HasSubstr("f.csv:2: column 3 (trial)"));
    EXPECT_THAT(error_of("a,,,1,0,m,,1\n"), HasSubstr("expected the trial's number"));
    EXPECT_THAT(error_of(",,0,1,0,m,,1\n"), HasSubstr("--arm"));
    EXPECT_THAT(error_of("a,,0,1,0,,,1\n"), HasSubstr("f.csv:2: column 6 (metric)"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,1\n\na"), HasSubstr("f.csv:3: column 2: the row has 1"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,1,9\n"), HasSubstr("the row has 9 columns, the header 8"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,1\na,,0,2,1,m,,1\n"),
                HasSubstr("f.csv:3: column 4 (seed): the seed of this trial differs"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,1\na,,0,1,0,m,,1\n"),
                HasSubstr("f.csv:3: column 6 (metric): m of this trial and iteration is already "
                          "on line 2"));
    EXPECT_THAT(error_of("a,,0,1,0,m,,1\na,,0,1,1,m,,1\n"), HasSubstr("add the column kind"));
    EXPECT_THAT(error_of("a,,0,1,0,vmstat.pgfault,,1\na,,0,1,,vmstat.pgfault,,1\n"),
                HasSubstr("with and without an iteration"));
    EXPECT_THAT(error_of("a,,0,1,0,m,ms,1\na,,1,1,0,m,us,1\n"), HasSubstr("\"us\" here"));
    EXPECT_THAT(error_of("a,,0,1,0,psi.probe.memory.some.total_us,ms,1\n"),
                HasSubstr("in \"us\" in the catalogue"));
    EXPECT_THAT(error_of(""), HasSubstr("no data"));
    EXPECT_THAT(error_of("a,,0,1,0,\"m\nx\",,1\n"), HasSubstr("control character"));
}

TEST(ImportCsv, HeadersAreChecked) {
    const auto message = [](std::string_view text) {
        ImportOptions options;
        options.file = "f.csv";
        const auto imported = import_csv(text, options);
        return imported ? "no error" : imported.error().message;
    };
    EXPECT_THAT(message(""), HasSubstr("empty"));
    EXPECT_THAT(message("arm,case,trial,seed,iteration,metric,unit\n"), HasSubstr("\"value\""));
    EXPECT_THAT(message("arm,case,trial,seed,iteration,metrik,unit,value\n"),
                HasSubstr("did you mean \"metric\"?"));
    EXPECT_THAT(message("arm,arm,case,trial,seed,iteration,metric,unit,value\n"),
                HasSubstr("a second column \"arm\""));
    EXPECT_THAT(message("\x7f"
                        "ELF\x02\x01\x01"),
                HasSubstr("f.csv:1"));
}

TEST(ImportCsv, ArmForRowsWithoutOne) {
    ImportOptions options;
    options.arm = "mine";
    const auto imported = import(",,0,1,0,m,,1\n", options);
    ASSERT_TRUE(imported);
    EXPECT_THAT(imported->arms, ElementsAre("mine"));
}

TEST(ImportCsv, TheLocaleDoesNotMatter) {
    const std::string before = std::setlocale(LC_ALL, nullptr);
    if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) std::setlocale(LC_ALL, "C.UTF-8");
    const auto imported = import("a,,0,1,0,m,,1.5\n");
    std::setlocale(LC_ALL, before.c_str());
    ASSERT_TRUE(imported);
    EXPECT_EQ(imported->records[0].samples[0].value, 1.5);
}

ImportOptions options_of(const store::RunSet& runset) {
    ImportOptions options;
    options.experiment = runset.plan.experiment;
    options.key_metrics = runset.plan.key_metrics;
    options.derived = runset.plan.derived;
    options.file = "f.csv";
    return options;
}

void expect_same_numbers(const report::ReportData& a, const report::ReportData& b) {
    ASSERT_EQ(a.cases.size(), b.cases.size());
    for (std::size_t i = 0; i < a.cases.size(); ++i) {
        ASSERT_EQ(a.cases[i].rows.size(), b.cases[i].rows.size());
        for (std::size_t j = 0; j < a.cases[i].rows.size(); ++j) {
            const report::MetricRow& x = a.cases[i].rows[j];
            const report::MetricRow& y = b.cases[i].rows[j];
            SCOPED_TRACE(x.metric.name);
            EXPECT_EQ(x.metric.name, y.metric.name);
            EXPECT_EQ(x.metric.unit, y.metric.unit);
            EXPECT_EQ(x.key, y.key);
            ASSERT_EQ(x.arms.size(), y.arms.size());
            for (std::size_t k = 0; k < x.arms.size(); ++k) {
                EXPECT_EQ(x.arms[k].values, y.arms[k].values);
            }
            for (std::size_t k = 0; k < x.changes.size(); ++k) {
                EXPECT_EQ(x.changes[k].comparison.p_adjusted, y.changes[k].comparison.p_adjusted);
                EXPECT_EQ(x.changes[k].comparison.median_pct, y.changes[k].comparison.median_pct);
            }
        }
    }
}

// Absent is not zero: a file that says nothing of failures has no failed trials, and no 0 of them.
TEST(ImportCsv, FailuresAreKnownOnlyWhereTheFileSaysSo) {
    const auto names_in = [](std::string_view text) {
        const auto imported = import_csv(text, {});
        EXPECT_TRUE(imported) << imported.error().text();
        report::Options options;
        options.all = true;
        const auto data = report::build(as_runset(*imported), options);
        EXPECT_TRUE(data) << data.error().text();
        std::set<std::string> names;
        for (const report::MetricRow& row : data->cases[0].rows)
            names.insert(row.metric.name);
        return names;
    };
    EXPECT_THAT(names_in("arm,metric,value\na,m,1\nb,m,5\n"), ElementsAre("m"));
    EXPECT_THAT(names_in("arm,metric,value\na,m,1\na,trial.failed,0\nb,m,5\n"),
                ElementsAre("m", "trial.failed"));
    EXPECT_THAT(names_in("arm,metric,value\na,m,1\nb,trial.failed,1\nb,m,5\n"),
                ElementsAre("m", "trial.failed"));
}

// Export → import gives the same table, failed trials and unknown values included.
TEST(RoundTrip, TheSameNumbers) {
    for (const auto& [name, runset] : report::testing::golden_runsets()) {
        if (name == "too-few") continue;  // a trial that hasn't run isn't in the file
        SCOPED_TRACE(name);
        const auto csv = report::render_csv(runset);
        ASSERT_TRUE(csv);
        const auto imported = import_csv(*csv, options_of(runset));
        ASSERT_TRUE(imported) << imported.error().text();
        const store::RunSet back = as_runset(*imported);
        const auto first = report::build(runset, {});
        const auto second = report::build(back, {});
        ASSERT_TRUE(first);
        ASSERT_TRUE(second) << second.error().text();
        expect_same_numbers(*first, *second);
        EXPECT_EQ(first->failed.size(), second->failed.size());
        const auto again = report::render_csv(back);
        ASSERT_TRUE(again);
    }
}

TEST(RoundTrip, ThroughTheStore) {
    auto folder = TempFolder::make("/tmp", "mano-import-");
    ASSERT_TRUE(folder);
    auto store = store::Store::open(folder->path() / "store.db");
    ASSERT_TRUE(store) << store.error().text();
    const auto runset = report::testing::golden_runsets().front().second;
    const auto imported = import_csv(*report::render_csv(runset), options_of(runset));
    ASSERT_TRUE(imported);
    const auto id = save(*store, *imported);
    ASSERT_TRUE(id) << id.error().text();
    const auto back = store->load(*id);
    ASSERT_TRUE(back) << back.error().text();
    const auto first = report::build(runset, {});
    const auto second = report::build(*back, {});
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    expect_same_numbers(*first, *second);
    EXPECT_EQ(second->header.plan.substrate, "import");
}

TEST(ImportCsv, UnknownMetricsAreKeyAndWithoutDirection) {
    std::string rows;
    for (int i = 0; i < 6; ++i) {
        rows += fmt::format("old,,{},,,mine.latency,ms,{}\nnew,,{},,,mine.latency,ms,{}\n", i,
                            10 + i, i, 100 + i);
    }
    const auto imported = import(rows);
    ASSERT_TRUE(imported);
    const auto data = report::build(as_runset(*imported), {});
    ASSERT_TRUE(data);
    const report::MetricRow& row = data->cases[0].rows[0];
    EXPECT_EQ(row.metric.name, "mine.latency");
    EXPECT_EQ(row.metric.unit, "ms");
    EXPECT_TRUE(row.key);
    EXPECT_EQ(row.changes[0].reason, stats::Reason::no_direction);
    EXPECT_TRUE(data->seeds.empty());
}

}  // namespace
}  // namespace mano::interchange
