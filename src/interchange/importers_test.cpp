// SPDX-License-Identifier: GPL-2.0-or-later
// Each importer on files that the tools themselves wrote (tests/fixtures/interchange/README.md says
// by which commands), and what `compare` makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "interchange/interchange.h"
#include "report/renderers.h"

namespace mano::interchange {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string fixture(const std::string& name) {
    return std::string(MANO_SOURCE_DIR) + "/tests/fixtures/interchange/" + name;
}

Imported imported(std::string_view format, const std::vector<std::string>& paths,
                  const ImportOptions& options = {}) {
    auto found = import_paths(*find_importer(format), paths, options);
    EXPECT_TRUE(found) << found.error().text();
    return found ? std::move(*found) : Imported();
}

Result<Imported> import(std::string_view format, std::string_view text) {
    ImportOptions options;
    options.file = "dir/f.x";
    return import_text(*find_importer(format), text, options);
}

std::string error_of(std::string_view format, std::string_view text) {
    const auto found = import(format, text);
    if (found) return "no error";
    EXPECT_EQ(found.error().code, Code::hostile) << found.error().text();
    return found.error().message;
}

std::optional<double> value(const Imported& from, std::size_t trial, const std::string& metric) {
    for (const measure::Sample& sample : from.records.at(trial).samples) {
        if (sample.metric == metric) return sample.value;
    }
    return std::nullopt;
}

std::vector<std::string> losses(const Imported& from) {
    std::vector<std::string> texts;
    for (const Lost& lost : from.losses)
        texts.push_back(fmt::format("{}:{}: {}", lost.line, lost.column, lost.meaning));
    return texts;
}

report::ReportData data_of(const Imported& from, const report::Options& options = {}) {
    auto data = report::build(as_runset(from), options);
    EXPECT_TRUE(data) << data.error().text();
    return data ? std::move(*data) : report::ReportData();
}

const report::MetricRow& row_of(const report::ReportData& data, const std::string& name,
                                std::size_t of_case = 0) {
    for (const report::MetricRow& row : data.cases.at(of_case).rows) {
        if (row.metric.name == name) return row;
    }
    ADD_FAILURE() << "no row " << name;
    return data.cases.at(0).rows.at(0);
}

TEST(Importers, TableIsConsistent) {
    std::vector<std::string_view> names;
    for (const Importer& each : importers()) {
        EXPECT_EQ(find_importer(each.name), &each);
        EXPECT_NE(each.read, nullptr);
        EXPECT_FALSE(each.reads.empty());
        if (!each.alias.empty()) {
            EXPECT_EQ(find_importer(each.alias), &each);
        }
        names.push_back(each.name);
    }
    EXPECT_EQ(find_importer("xml"), nullptr);
    EXPECT_EQ(find_importer(""), nullptr);
}

TEST(Hyperfine, CommandsAreArmsAndRunsTrials) {
    const Imported from = imported("hyperfine", {fixture("hyperfine.json")});
    EXPECT_THAT(from.arms, ElementsAre("sleep 0.01", "sleep 0.02"));
    EXPECT_EQ(from.records.size(), 8U);
    EXPECT_EQ(from.format, "hyperfine");
    const report::ReportData data = data_of(from);
    const report::MetricRow& time = row_of(data, "hyperfine.time_s");
    EXPECT_TRUE(time.key);
    EXPECT_EQ(time.metric.better, measure::Better::lower);
    EXPECT_EQ(time.arms[0].summary.n, 4U);
    EXPECT_DOUBLE_EQ(time.arms[0].values[0].value(), 0.054260158);
    EXPECT_TRUE(time.changes[0].comparison.test.has_value());
    // Only a mean of it is in the file: no n, no test.
    const report::MetricRow& user = row_of(data, "hyperfine.user_s");
    ASSERT_TRUE(user.arms[0].stated.has_value());
    EXPECT_DOUBLE_EQ(user.arms[0].summary.mean.value(), 0.0018399999999999998);
    EXPECT_EQ(user.arms[0].summary.n, 0U);
    EXPECT_FALSE(user.changes[0].comparison.test.has_value());
    EXPECT_THAT(user.changes[0].warnings, Contains("means-only"));
    EXPECT_EQ(data.arms[0].trials, 4U);
}

TEST(Hyperfine, ParametersAndFailedRuns) {
    ImportOptions options;
    options.arm = "now";
    const Imported from = imported("hyperfine", {fixture("hyperfine-params.json")}, options);
    EXPECT_THAT(from.arms, ElementsAre("now"));
    ASSERT_EQ(from.runset.plan.cases.size(), 2U);
    EXPECT_EQ(from.runset.plan.cases[1].name, "n=1");
    std::size_t failed = 0;
    for (const measure::TrialRecord& record : from.records)
        failed += measure::standing(record.ending) == measure::Standing::failed ? 1 : 0;
    EXPECT_EQ(failed, 3U);
}

TEST(Hyperfine, HostileFiles) {
    EXPECT_THAT(error_of("hyperfine", "{}"), HasSubstr("f.x:1:1: no \"results\" here"));
    EXPECT_THAT(error_of("hyperfine", "{\"results\": {}}"), HasSubstr("a map, expected a list"));
    EXPECT_THAT(error_of("hyperfine", "{\"results\": []}"), HasSubstr("is empty"));
    EXPECT_THAT(error_of("hyperfine", "{\"results\": [1]}"), HasSubstr("f.x:1:14: a number among"));
    EXPECT_THAT(error_of("hyperfine", "{\"results\": [{\"times\": [1]}]}"),
                HasSubstr("no \"command\""));
    EXPECT_THAT(error_of("hyperfine", "{\"results\": [{\"command\": \"a\"}]}"),
                HasSubstr("neither \"times\" nor \"mean\""));
    const auto bad = import(
        "hyperfine", "{\"results\": [{\"command\": \"a\",\n \"times\": [1, -2, \"x\", null]}]}");
    ASSERT_TRUE(bad) << bad.error().text();
    EXPECT_EQ(bad->losses.size(), 3U);
    EXPECT_EQ(bad->losses[0].line, 2U);
    EXPECT_EQ(value(*bad, 0, "hyperfine.time_s"), 1);
    EXPECT_EQ(value(*bad, 1, "hyperfine.time_s"), std::nullopt);
    const auto means =
        import("hyperfine", "{\"results\": [{\"command\": \"a\", \"mean\": 2, \"stddev\": 0.5}]}");
    ASSERT_TRUE(means);
    EXPECT_EQ(data_of(*means).arms[0].trials, 0U);
    EXPECT_TRUE(data_of(*means).arms[0].stated);
    EXPECT_THAT(means->losses.at(0).meaning, HasSubstr("\"times\""));
}

TEST(GoogleBenchmark, RepetitionsAreTrials) {
    const Imported from = imported("google-benchmark", {fixture("google-benchmark.json")});
    EXPECT_THAT(from.arms, ElementsAre("google-benchmark"));
    std::vector<std::string> cases;
    for (const plan::Case& each : from.runset.plan.cases)
        cases.push_back(each.name);
    EXPECT_THAT(cases, ElementsAre("copy/4096", "copy/65536", "skips"));
    EXPECT_EQ(from.records.size(), 9U);
    const report::ReportData data = data_of(from);
    const report::MetricRow& real = row_of(data, "gbench.real_time_ns");
    EXPECT_EQ(real.arms[0].summary.n, 3U);
    EXPECT_TRUE(real.key);
    EXPECT_EQ(row_of(data, "gbench.pages").arms[0].values[0], 1);
    EXPECT_EQ(row_of(data, "gbench.bytes_per_second").metric.better, measure::Better::higher);
    EXPECT_EQ(data.failed.size(), 3U);
    EXPECT_THAT(data.failed[0].evidence, HasSubstr("no huge pages here"));
    EXPECT_THAT(from.runset.remarks, Contains(HasSubstr("debug build")));
}

TEST(GoogleBenchmark, AggregatesOnlyAreStated) {
    const Imported from = imported("gbench", {fixture("google-benchmark-aggregates.json")});
    const report::ReportData data = data_of(from);
    const report::MetricRow& real = row_of(data, "gbench.real_time_ns");
    ASSERT_TRUE(real.arms[0].stated.has_value());
    EXPECT_EQ(real.arms[0].stated->n, 3U);
    EXPECT_TRUE(real.arms[0].stated->median.has_value());
    EXPECT_TRUE(real.arms[0].stated->stddev_pct.has_value());
    EXPECT_EQ(data.arms[0].trials, 0U);
}

TEST(GoogleBenchmark, UnitsAndHostileFiles) {
    const auto one = import(
        "gbench", R"({"benchmarks":[{"name":"b","real_time":2,"cpu_time":-1,"time_unit":"ms"}]})");
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(value(*one, 0, "gbench.real_time_ns"), 2e6);
    EXPECT_EQ(value(*one, 0, "gbench.cpu_time_ns"), std::nullopt);
    EXPECT_EQ(one->losses.size(), 1U);
    EXPECT_THAT(error_of("gbench", R"({"benchmarks":[{"name":"b","time_unit":"h"}]})"),
                HasSubstr("time_unit \"h\""));
    EXPECT_THAT(error_of("gbench", R"({"benchmarks":[{}]})"), HasSubstr("without \"name\""));
    EXPECT_THAT(error_of("gbench", R"({"benchmarks":[]})"), HasSubstr("nothing in it"));
    EXPECT_THAT(error_of("gbench", R"({"benchmarks":[{"name":"b","real_time":NaN}]})"),
                HasSubstr("dir/f.x:1:"));
}

TEST(StressNg, OneFileIsOneTrial) {
    const Imported from = imported("stress-ng", {fixture("stress-ng.yaml")});
    ASSERT_EQ(from.arms.size(), 1U);
    ASSERT_EQ(from.records.size(), 1U);
    EXPECT_TRUE(value(from, 0, "stress-ng.shm.ops").has_value());
    EXPECT_TRUE(value(from, 0, "stress-ng.vm.ops_per_sec").has_value());
    EXPECT_TRUE(value(from, 0, "stress-ng.times.run-time").has_value());
    EXPECT_TRUE(from.losses.empty());
    const report::ReportData data = data_of(from);
    EXPECT_TRUE(row_of(data, "stress-ng.shm.ops_per_sec").key);
    EXPECT_FALSE(row_of(data, "stress-ng.shm.ops").key);
    // The same file again is the arm's second trial.
    const Imported two =
        imported("stress-ng", {fixture("stress-ng.yaml"), fixture("stress-ng.yaml")});
    EXPECT_EQ(two.records.size(), 2U);
    const Imported arms = imported(
        "stress-ng", {"old=" + fixture("stress-ng.yaml"), "new=" + fixture("stress-ng.yaml")});
    EXPECT_THAT(arms.arms, ElementsAre("old", "new"));
}

TEST(StressNg, HostileFiles) {
    EXPECT_THAT(error_of("stress-ng", "a: 1\n"), HasSubstr("no \"metrics\" here"));
    EXPECT_THAT(error_of("stress-ng", "metrics:\n  - bogo-ops: 1\n"),
                HasSubstr("f.x:2:5: no \"stressor\" here"));
    EXPECT_THAT(
        error_of("stress-ng", "metrics:\n  - stressor: vm\n    bogo-ops: 1\n    bogo-ops: 2\n"),
        HasSubstr("f.x:4:5: the key \"bogo-ops\" stands here again"));
    const auto bad =
        import("stress-ng",
               "metrics:\n  - stressor: \"null\"\n    bogo-ops: -4\n    max-rss: .nan\n"
               "    cpu-usage-per-instance: 1,5\n    user-time: 2\n"
               "  - stressor: \"null\"\n    bogo-ops: 4\n");
    ASSERT_TRUE(bad) << bad.error().text();
    EXPECT_THAT(losses(*bad), ElementsAre(HasSubstr("3:15: bogo-ops of -4"),
                                          HasSubstr("4:14: max-rss is \".nan\""), HasSubstr("5:29"),
                                          HasSubstr("7:15: null: a second")));
    EXPECT_EQ(value(*bad, 0, "stress-ng.null.ops"), std::nullopt);
    EXPECT_EQ(value(*bad, 0, "stress-ng.null.user-time"), 2);
}

TEST(Cyclictest, JsonAndHistogramAgree) {
    const Imported json = imported("cyclictest", {fixture("cyclictest.json")});
    const Imported text = imported("cyclictest", {fixture("cyclictest.hist")});
    for (const std::string metric :
         {"cyclictest.max_us", "cyclictest.min_us", "cyclictest.cycles", "cyclictest.p50_us"}) {
        ASSERT_TRUE(value(json, 0, metric).has_value()) << metric;
        EXPECT_EQ(value(json, 0, metric), value(text, 0, metric)) << metric;
    }
    // The histogram's average is rounded down.
    EXPECT_NEAR(*value(json, 0, "cyclictest.avg_us"), *value(text, 0, "cyclictest.avg_us"), 1);
    // A third of the latencies was too long for the histogram: these quantiles aren't known.
    EXPECT_EQ(value(json, 0, "cyclictest.p99_us"), std::nullopt);
    EXPECT_THAT(losses(json), Contains(HasSubstr("longer than the histogram")));
    EXPECT_NE(json.arms.at(0), "cyclictest");  // the kernel's release
    EXPECT_THAT(text.arms, ElementsAre("cyclictest"));
    EXPECT_TRUE(row_of(data_of(json), "cyclictest.max_us").key);
}

TEST(Cyclictest, PlainLines) {
    const Imported from = imported("cyclictest", {fixture("cyclictest.txt")});
    EXPECT_EQ(value(from, 0, "cyclictest.max_us"), 833);
    EXPECT_EQ(value(from, 0, "cyclictest.min_us"), 22);
    EXPECT_EQ(value(from, 0, "cyclictest.cycles"), 385);
    EXPECT_NEAR(*value(from, 0, "cyclictest.avg_us"), (53.0 * 200 + 63 * 185) / 385, 1e-9);
}

TEST(Cyclictest, NanosecondsAndHostileFiles) {
    const auto ns = import("cyclictest", R"({"resolution_in_ns":1,"thread":{"0":{
        "histogram":{"1000":1,"2000":3},"cycles":4,"min":1000,"max":2000,"avg":1750.0}}})");
    ASSERT_TRUE(ns) << ns.error().text();
    EXPECT_EQ(value(*ns, 0, "cyclictest.max_us"), 2);
    EXPECT_EQ(value(*ns, 0, "cyclictest.p50_us"), 2);
    EXPECT_EQ(value(*ns, 0, "cyclictest.p99.99_us"), 2);
    const auto thread = [](std::string_view inner) {
        return fmt::format("{{\"thread\":{{\"0\":{}}}}}", inner);
    };
    EXPECT_THAT(error_of("cyclictest", thread(R"({"histogram":{"1":-1},"cycles":1,"max":1})")),
                HasSubstr("expected whole numbers from 0"));
    EXPECT_THAT(error_of("cyclictest", thread(R"({"histogram":{"1":5},"cycles":1,"max":1})")),
                HasSubstr("holds 5 latencies of 1 cycles"));
    EXPECT_THAT(error_of("cyclictest", thread(R"({"histogram":{"1":1,"1":2}})")),
                HasSubstr("stands here again"));
    EXPECT_THAT(error_of("cyclictest", thread("7")), HasSubstr("expected a map"));
    EXPECT_THAT(error_of("cyclictest", "{\"thread\":{}}"), HasSubstr("is empty"));
    EXPECT_THAT(error_of("cyclictest", "hello\n"), HasSubstr("neither"));
    EXPECT_THAT(error_of("cyclictest", "# Histogram\n000001 000002\n"), HasSubstr("cut off"));
    EXPECT_THAT(error_of("cyclictest", "# Histogram\n000001 -2\n# Max Latencies: 1\n"),
                HasSubstr("f.x:2:8: \"-2\""));
    EXPECT_THAT(error_of("cyclictest", "# Histogram\n000001 2\n000001 2\n# Max Latencies: 1\n"),
                HasSubstr("f.x:3:1: the latency 1 stands here again"));
    EXPECT_THAT(error_of("cyclictest", "# Histogram\n1 2 3\n2 3\n# Max Latencies: 1 1\n"),
                HasSubstr("f.x:3:1: 2 numbers"));
    EXPECT_THAT(error_of("cyclictest", "# Max Latencies: 1 1\n# Min Latencies: 1\n"),
                HasSubstr("of 1 and of 2 threads"));
    EXPECT_THAT(error_of("cyclictest", "T: 0 (1) P: 3 Max: x\n"), HasSubstr("no number after"));
}

TEST(PerfStat, TextFieldsAndJson) {
    const Imported text = imported("perf-stat", {fixture("perf-stat.txt")});
    EXPECT_EQ(value(text, 0, "perf-stat.task-clock"), 1.27);
    EXPECT_EQ(value(text, 0, "perf-stat.page-faults"), 49);
    EXPECT_EQ(value(text, 0, "perf-stat.cycles"), std::nullopt);
    EXPECT_EQ(value(text, 0, "perf-stat.elapsed_s"), 0.045839892);
    EXPECT_EQ(value(text, 0, "perf-stat.user_s"), 0.002216);
    EXPECT_THAT(losses(text), Contains(HasSubstr("cycles: <not supported>")));
    EXPECT_EQ(text.losses.size(), 4U);
    EXPECT_THAT(text.arms, ElementsAre("perf-stat"));
    EXPECT_EQ(row_of(data_of(text), "perf-stat.task-clock").metric.unit, "ms");

    const Imported fields = imported("perf", {fixture("perf-stat.csv")});
    EXPECT_EQ(value(fields, 0, "perf-stat.task-clock"), 1.42);
    EXPECT_EQ(value(fields, 0, "perf-stat.page-faults"), 63);
    EXPECT_EQ(fields.losses.size(), 1U);
    EXPECT_EQ(fields.losses[0].line, 5U);
    EXPECT_EQ(fields.losses[0].column, 1U);

    const Imported json = imported("perf", {fixture("perf-stat.jsonl")});
    EXPECT_EQ(value(json, 0, "perf-stat.task-clock"), 0.944482);
    EXPECT_EQ(value(json, 0, "perf-stat.page-faults"), 49);
    EXPECT_EQ(json.losses.size(), 1U);
}

TEST(PerfStat, RepeatedRunsAreMeans) {
    const Imported text = imported("perf", {fixture("perf-stat-r.txt")});
    const report::MetricRow faults = row_of(data_of(text), "perf-stat.page-faults");
    ASSERT_TRUE(faults.arms[0].stated.has_value());
    EXPECT_EQ(faults.arms[0].stated->n, 3U);
    EXPECT_EQ(faults.arms[0].stated->mean, 74);
    // perf prints the deviation of the mean.
    EXPECT_NEAR(*faults.arms[0].stated->stddev_pct, 0.78 * std::sqrt(3.0), 1e-9);
    for (const std::string name : {"perf-stat-r.csv", "perf-stat-r.jsonl"}) {
        const Imported from = imported("perf", {fixture(name)});
        const report::MetricRow row = row_of(data_of(from), "perf-stat.page-faults");
        ASSERT_TRUE(row.arms[0].stated.has_value()) << name;
        EXPECT_EQ(row.arms[0].stated->n, std::nullopt);
    }
}

std::string perf_text(std::string_view lines, std::string_view elapsed = "1.000000000") {
    return fmt::format(" Performance counter stats for 'x':\n\n{}\n  {} seconds time elapsed\n",
                       lines, elapsed);
}

TEST(PerfStat, MarksBetweenThousands) {
    const auto english = import("perf", perf_text("  1,234,567      cycles  #  1.2 GHz\n"
                                                  "  1,234.50 msec task-clock\n 12,345 faults"));
    ASSERT_TRUE(english) << english.error().text();
    EXPECT_EQ(value(*english, 0, "perf-stat.cycles"), 1234567);
    EXPECT_EQ(value(*english, 0, "perf-stat.task-clock"), 1234.5);
    EXPECT_EQ(value(*english, 0, "perf-stat.faults"), 12345);
    const auto german =
        import("perf", perf_text("  1.234.567      cycles\n  1.234,50 msec task-clock\n"
                                 "12.345 faults",
                                 "1,000000000"));
    ASSERT_TRUE(german) << german.error().text();
    EXPECT_EQ(value(*german, 0, "perf-stat.cycles"), 1234567);
    EXPECT_EQ(value(*german, 0, "perf-stat.task-clock"), 1234.5);
    EXPECT_EQ(value(*german, 0, "perf-stat.faults"), 12345);
    const auto french =
        import("perf", perf_text("  1\u202f234\u202f567      cycles", "1,000000000"));
    ASSERT_TRUE(french) << french.error().text();
    EXPECT_EQ(value(*french, 0, "perf-stat.cycles"), 1234567);
    // Without the line that tells, 1,234 is 1234 or 1.234.
    EXPECT_THAT(error_of("perf", " Performance counter stats for 'x':\n\n  1,234 cycles\n"),
                HasSubstr("f.x:3:3: \"1,234\" isn't a count; without the line"));
    const auto sure = import("perf", " Performance counter stats for 'x':\n\n  1,234,567 cycles\n");
    ASSERT_TRUE(sure) << sure.error().text();
    EXPECT_EQ(value(*sure, 0, "perf-stat.cycles"), 1234567);
    for (const std::string_view bad :
         {"1,23,456", "1,,234", ",123", "1234,567", "1,234,56", "1.2.3"}) {
        EXPECT_THAT(error_of("perf", perf_text(fmt::format("  {} cycles", bad))),
                    HasSubstr("isn't a count"))
            << bad;
    }
}

TEST(PerfStat, ScaledCountsAndHostileFiles) {
    const auto scaled = import("perf", perf_text("  100 cycles   (45.00%)\n  7 faults (100.00%)"));
    ASSERT_TRUE(scaled) << scaled.error().text();
    EXPECT_THAT(losses(*scaled), ElementsAre(HasSubstr("3:3: cycles was counted for 45.00%")));
    const auto minus = import("perf", "-5,,cycles,1,100.00,,\n<not counted>,,faults,0,0.00,,\n");
    ASSERT_TRUE(minus) << minus.error().text();
    EXPECT_THAT(losses(*minus),
                ElementsAre(HasSubstr("1:1: cycles: -5"), HasSubstr("2:1: faults: <not counted>")));
    EXPECT_EQ(value(*minus, 0, "perf-stat.cycles"), std::nullopt);
    EXPECT_THAT(error_of("perf", ""), HasSubstr("no count in it"));
    EXPECT_THAT(error_of("perf", "# started\n"), HasSubstr("no count in it"));
    EXPECT_THAT(error_of("perf", "hello world\n"), HasSubstr("Performance counter stats"));
    EXPECT_THAT(error_of("perf", "5,,cycles,1,100.00\n7,,cycles,1,100.00\n"),
                HasSubstr("f.x:2:1: perf-stat.cycles stands twice"));
    EXPECT_THAT(error_of("perf", "5,,cycles,1,100.00\n7,,fau"), HasSubstr("f.x:2:1: 3 fields"));
    EXPECT_THAT(error_of("perf", "{\"event\": \"x\", \"counter-value\": \"nan\"}\n"),
                HasSubstr("f.x:1:"));
    EXPECT_THAT(error_of("perf", "{\"event\": \"x\"}\n"), HasSubstr("no \"counter-value\""));
    EXPECT_THAT(error_of("perf", "{\"interval\": 1, \"event\": \"x\", \"counter-value\": \"1\"}\n"),
                HasSubstr("-I, -A"));
    EXPECT_THAT(error_of("perf", "{\"event\": \"x\", \"counter-value\": \"1\"}\n{\"eve"),
                HasSubstr("f.x:2:"));
    EXPECT_THAT(error_of("perf", perf_text("  100")), HasSubstr("without the name of an event"));
    EXPECT_THAT(error_of("perf", perf_text("1 a") + perf_text("1 a")), HasSubstr("a second run"));
}

// benchstat's own documented example (the package's doc comment): medians, 95 % intervals of the
// median and the p-values of the same trials.
TEST(GoBenchmark, BenchstatsExampleGivesItsNumbers) {
    const auto lines = [](std::string_view name, const std::vector<int>& values) {
        std::string text;
        for (const int each : values)
            text += fmt::format("BenchmarkEncode/format={}-48  100  {} ns/op\n", name, each);
        return text;
    };
    const std::string old_text =
        "goos: linux\narm: old\n" +
        lines("json", {1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774}) +
        lines("gob", {3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062}) + "PASS\n";
    const std::string new_text =
        "arm: new\n" + lines("json", {1423, 1416, 1411, 1413, 1412, 1426, 1422, 1424, 1447, 1425}) +
        lines("gob", {3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062});
    const auto from = import("gobench", old_text + new_text);
    ASSERT_TRUE(from) << from.error().text();
    const report::ReportData data = data_of(*from);
    ASSERT_EQ(data.cases.size(), 2U);
    EXPECT_EQ(data.cases[0].name, "Encode/format=json");
    const report::MetricRow& json = row_of(data, "ns/op", 0);
    EXPECT_EQ(json.arms[0].summary.median, 1718);
    EXPECT_EQ(json.arms[1].summary.median, 1422.5);
    EXPECT_NEAR(*json.changes[0].comparison.median_pct, -17.20, 0.005);
    EXPECT_LT(json.changes[0].comparison.test->p, 0.0005);
    const report::MetricRow& gob = row_of(data, "ns/op", 1);
    EXPECT_EQ(gob.arms[0].summary.median, 3065.5);
    EXPECT_EQ(gob.arms[1].summary.median, 3070);
    EXPECT_NEAR(gob.changes[0].comparison.test->p, 0.446, 0.0005);
    const auto spread = [](const report::ArmValues& arm) {
        const auto [low, high] = arm.summary.ci95.value();
        const double median = arm.summary.median.value();
        return std::round(100 * std::max(high - median, median - low) / median);
    };
    EXPECT_EQ(spread(json.arms[0]), 1);
    EXPECT_EQ(spread(json.arms[1]), 1);
    EXPECT_EQ(spread(gob.arms[0]), 0);
    EXPECT_EQ(spread(gob.arms[1]), 2);
    // And back out again.
    const auto again = import("gobench", report::render_gobench(data));
    ASSERT_TRUE(again) << again.error().text();
    const report::ReportData second = data_of(*again);
    EXPECT_EQ(row_of(second, "ns/op", 1).arms[1].values, gob.arms[1].values);
}

TEST(GoBenchmark, HostileFiles) {
    EXPECT_THAT(error_of("gobench", "hello\n"), HasSubstr("no line \"BenchmarkName"));
    EXPECT_THAT(error_of("gobench", "BenchmarkX 1 5\n"), HasSubstr("f.x:1:14: expected pairs"));
    EXPECT_THAT(error_of("gobench", "BenchmarkX y 5 ns/op\n"), HasSubstr("f.x:1:12: \"y\""));
    EXPECT_THAT(error_of("gobench", "BenchmarkX 1 NaN ns/op\n"), HasSubstr("f.x:1:14: \"NaN\""));
    EXPECT_THAT(error_of("gobench", "BenchmarkX 1 1 a 2 a\n"), HasSubstr("stands twice"));
}

TEST(Paths, ErrorsAndNames) {
    const auto nothing =
        import_paths(*find_importer("hyperfine"), std::vector<std::string>{"/nowhere/x.json"}, {});
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().code, Code::invalid);
    EXPECT_THAT(nothing.error().text(), HasSubstr("/nowhere/x.json"));
    const auto folder =
        import_paths(*find_importer("perf-stat"), std::vector<std::string>{MANO_SOURCE_DIR}, {});
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, Code::invalid);
}

TEST(Cut, AFileThatEndsWithinALine) {
    const auto csv = import("csv", "arm,case,trial,seed,iteration,metric,unit,value\na,,0,,,m,,12");
    ASSERT_TRUE(csv) << csv.error().text();
    EXPECT_THAT(losses(*csv), ElementsAre(HasSubstr("2:13: the last line has no line end")));
    const auto perf = import("perf", " Performance counter stats for 'x':\n\n  49 page-fau");
    ASSERT_TRUE(perf) << perf.error().text();
    EXPECT_EQ(perf->losses.size(), 2U);
    const auto json = import("hyperfine", R"({"results":[{"command":"a","times":[1]}]})");
    ASSERT_TRUE(json);
    EXPECT_TRUE(json->losses.empty());
}

}  // namespace
}  // namespace mano::interchange
