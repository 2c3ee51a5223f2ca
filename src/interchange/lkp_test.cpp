// SPDX-License-Identifier: GPL-2.0-or-later
// LKP's files in, LKP's table out. The mail is one of its robot's, as an archive shows it
// (tests/fixtures/interchange/README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "interchange/interchange.h"
#include "interchange/text.h"
#include "report/lkp_rule.h"
#include "report/renderers.h"

namespace mano::interchange {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kMail =
    std::string(MANO_SOURCE_DIR) + "/tests/fixtures/interchange/lkp-vfree-table.txt";

Result<Imported> import(std::string_view text) {
    ImportOptions options;
    options.file = "mail.txt";
    return import_text(*find_importer("lkp"), text, options);
}

std::string error_of(std::string_view text) {
    const auto found = import(text);
    if (found) return "no error";
    EXPECT_EQ(found.error().code, Code::hostile);
    return found.error().message;
}

std::string squeeze(std::string_view line) {
    std::string text;
    for (const Word& word : split_words(line))
        text += (text.empty() ? "" : " ") + std::string(word.text);
    return text;
}

// The rows of a table: after its last heading, up to an empty line.
std::vector<std::string> rows_of(const std::string& text) {
    std::vector<std::string> rows;
    bool in_rows = false;
    const auto lines = split_lines(text, "text", 100'000);
    EXPECT_TRUE(lines);
    for (const TextLine& line : *lines) {
        const std::string row = squeeze(line.text);
        if (row.empty()) in_rows = false;
        if (in_rows) rows.push_back(row);
        if (row.starts_with("\\ |")) in_rows = true;
    }
    return rows;
}

report::ReportData data_of(const Imported& from, const report::Options& options = {}) {
    auto data = report::build(as_runset(from), options);
    EXPECT_TRUE(data) << data.error().text();
    return data ? std::move(*data) : report::ReportData();
}

TEST(LkpMail, EveryRowComesBackAsItWas) {
    const auto text = read_file(kMail);
    ASSERT_TRUE(text);
    const auto from = import(*text);
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_THAT(from->arms, ElementsAre("4aa4abf1f14bd6d0", "60ced5818f64ac356620d1ad3e0"));
    EXPECT_TRUE(from->losses.empty());
    const std::vector<std::string> rows = rows_of(*text);
    EXPECT_EQ(from->rows, rows.size());
    EXPECT_EQ(from->metrics.size(), rows.size());
    EXPECT_EQ(from->metrics.front(), "stress-ng.shm.ops");

    const std::string out = report::render_lkp(data_of(*from));
    EXPECT_EQ(rows_of(out), rows);
    // LKP's own widths: 10 for a value, 6 for the spread, 10 and a sign for the change.
    EXPECT_THAT(out,
                HasSubstr("   1103082            -7.2%    1024016        stress-ng.shm.ops\n"));
    EXPECT_THAT(
        out, HasSubstr(" 1.125e+09 \u00b1  6%     +42.3%  1.601e+09 \u00b1 13%  cpuidle..time\n"));
    EXPECT_THAT(
        out, HasSubstr(
                 "      9.32 \u00b1  5%      +3.2       12.57 \u00b1 11%  mpstat.cpu.all.idle%\n"));
    EXPECT_THAT(out, HasSubstr("no rank test"));
    // And what was printed is read as the same table.
    const auto again = import(out);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->rows, from->rows);
    EXPECT_EQ(report::render_lkp(data_of(*again)), out);
}

TEST(LkpMail, MeansAreNoTrials) {
    const auto from = import(*read_file(kMail));
    ASSERT_TRUE(from);
    const report::ReportData data = data_of(*from);
    EXPECT_EQ(data.arms[0].trials, 0U);
    EXPECT_TRUE(data.arms[0].stated);
    for (const report::MetricRow& row : data.cases[0].rows) {
        if (row.metric.name == "trial.failed") continue;
        ASSERT_EQ(row.changes.size(), 1U);
        EXPECT_FALSE(row.changes[0].comparison.test.has_value()) << row.metric.name;
        EXPECT_EQ(row.changes[0].verdict, stats::Verdict::too_few) << row.metric.name;
        EXPECT_TRUE(row.arms[0].values.empty());
        EXPECT_TRUE(row.arms[0].summary.mean.has_value());
        EXPECT_FALSE(row.arms[0].summary.median.has_value());
        // LKP's "vmstat.procs.r" isn't /proc/vmstat's: no floor and no unit of ours applies.
        EXPECT_EQ(row.metric.floor, 0);
    }
    EXPECT_EQ(report::exit_code(data), 3);
    EXPECT_THAT(report::render_text(data), HasSubstr("no rank test"));
    const auto csv = report::render_csv(as_runset(*from));
    ASSERT_FALSE(csv);
    EXPECT_EQ(csv.error().code, Code::invalid);
}

// The printed change is that of unrounded means: it must lie within what the rounded ones allow.
TEST(LkpMail, TheChangesAreThoseOfTheMeans) {
    const auto from = import(*read_file(kMail));
    ASSERT_TRUE(from);
    const auto half_step = [](double value) {
        const double size = std::fabs(value);
        if (size < 1000) return 0.005;
        if (size > 1e8) return 0.5 * std::pow(10.0, std::floor(std::log10(size)) - 3);
        return 1.0;  // cut off, not rounded
    };
    std::size_t checked = 0;
    const report::ReportData data = data_of(*from);
    for (const report::MetricRow& row : data.cases[0].rows) {
        if (!row.arms[1].stated) continue;
        const double base = *row.arms[0].summary.mean;
        const double head = *row.arms[1].summary.mean;
        const std::string& change = row.arms[1].stated->change;
        const auto printed =
            parse_real(change.ends_with('%') ? change.substr(0, change.size() - 1) : change);
        ASSERT_TRUE(printed) << row.metric.name;
        double least = HUGE_VAL;
        double most = -HUGE_VAL;
        for (const double from_step : {-1.0, 1.0}) {
            for (const double to_step : {-1.0, 1.0}) {
                const double a = base + from_step * half_step(base);
                const double b = head + to_step * half_step(head);
                const double value =
                    report::lkp_is_absolute(row.metric.name) ? b - a : 100 * (b - a) / a;
                least = std::min(least, value);
                most = std::max(most, value);
            }
        }
        EXPECT_GE(*printed, least - 0.0501) << row.metric.name;
        EXPECT_LE(*printed, most + 0.0501) << row.metric.name;
        ++checked;
    }
    EXPECT_EQ(checked, from->rows);
}

constexpr std::string_view kHead =
    "commit: \n  1111111111 (\"mm: one\")\n  2222222222 (\"mm: two\")\n\n"
    "1111111111111111 222222222222222222222222222 \n"
    "---------------- --------------------------- \n"
    "         %stddev     %change         %stddev\n"
    "             \\          |                \\  \n";

TEST(LkpMail, QuotedMailWithFailuresAndText) {
    const std::string text =
        "Hello,\r\n\r\n> kernel test robot noticed a -7.2% regression:\r\n> \r\n"
        "> testcase/params:\r\n>   stress-ng/60s-shm\r\n> \r\n"
        "> 1111111111111111 222222222222222222222222222 \r\n"
        "> ---------------- --------------------------- \r\n"
        ">        fail:runs  %reproduction    fail:runs\r\n>            |             |            "
        " |    \r\n"
        ">            :6           33%           2:6     dmesg.WARNING:at_mm/vmalloc.c\r\n"
        ">          %stddev     %change         %stddev\r\n>              \\          |            "
        "    \\  \r\n"
        ">       1.00            +5.0%       1.05 \u00b1  3%  a.b\r\n> \r\n> Disclaimer: 1.00 +1% "
        "2.00 x\r\n";
    const auto from = import(text);
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_EQ(from->rows, 2U);
    EXPECT_EQ(from->runset.plan.cases.at(0).name, "stress-ng/60s-shm");
    EXPECT_TRUE(from->losses.empty());
    const std::string out = report::render_lkp(data_of(*from));
    EXPECT_THAT(
        out,
        HasSubstr("           :6           33%           2:6     dmesg.WARNING:at_mm/vmalloc.c\n"));
}

TEST(LkpMail, LinesThatAreNoRowsAreLosses) {
    const auto from =
        import(std::string(kHead) +
               "  1.00  +5.0%  1.05  a.b\n  1,000  +5%  1  c.d\n  1.00 \u00b1 x%  +5%  1  e.f\n"
               "  1.00  +5%  nan  g.h\n  1.00  +5.0%  1.05\n  1.00 five 1 i.j\n"
               "  2:1  5%  1:1  k.l\n  -  -  1.00  m.n\n");
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_EQ(from->rows, 2U);
    ASSERT_EQ(from->losses.size(), 6U);
    EXPECT_EQ(from->losses[0].line, 10U);
    EXPECT_EQ(from->losses[0].column, 3U);
    EXPECT_THAT(from->losses[0].meaning, HasSubstr("\"1,000\""));
    EXPECT_THAT(from->losses[3].meaning, HasSubstr("the line ends"));
}

TEST(LkpMail, HostileMails) {
    EXPECT_THAT(error_of("Hello\n"), HasSubstr("mail.txt:1:1: no table of LKP"));
    EXPECT_THAT(error_of(""), HasSubstr("no table"));
    EXPECT_THAT(error_of(kHead), HasSubstr("without any row"));
    EXPECT_THAT(error_of(std::string(kHead) + "1 +1% 2 a.b\n1 +1% 2 a.b\n"),
                HasSubstr("mail.txt:10:9: a.b stands twice"));
    EXPECT_THAT(error_of("a b c\n-------- --------\n"), HasSubstr("3 names over 2 columns"));
    // The plus-minus sign of Latin-1.
    EXPECT_THAT(error_of(std::string(kHead) + "1.00 \xb1 5% +1% 2 a.b\n"),
                HasSubstr("mail.txt:9:6: byte 0xb1 isn't UTF-8"));
}

TEST(LkpMail, ThreeCommits) {
    const auto from = import(
        "1111111111111111 2222222222222222 3333333333333333\n"
        "---------------- ---------------- ----------------\n"
        "1.00 +5.0% 1.05 \u00b1 3% +100.0% 2.00 a.b\n");
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_EQ(from->arms.size(), 3U);
    EXPECT_THAT(report::render_lkp(data_of(*from)),
                HasSubstr("      1.00            +5.0%       1.05 \u00b1  3%    +100.0%       2.00 "
                          "       a.b\n"));
}

class Tree : public ::testing::Test {
  protected:
    void SetUp() override {
        auto made = TempFolder::make("/tmp", "mano-lkp-");
        ASSERT_TRUE(made);
        folder_ = std::move(*made);
    }
    void write(const std::string& path, std::string_view text) {
        ASSERT_TRUE(write_file_atomic(folder_.path() / path, text));
    }
    Result<Imported> read(const std::string& path = "") {
        return import_paths(*find_importer("lkp"),
                            std::vector<std::string>{(folder_.path() / path).string()}, {});
    }
    TempFolder folder_;
};

TEST_F(Tree, CommitsAreArmsRunsTrialsParametersCases) {
    for (const std::string params : {"a-60s", "b-60s"}) {
        for (const std::string commit : {"c1", "c2"}) {
            for (int run = 0; run < 3; ++run) {
                write(fmt::format("shm/{}/box/debian/conf/gcc-12/{}/{}/stats.json", params, commit,
                                  run),
                      fmt::format("{{\"shm.ops\": {}, \"mpstat.cpu.all.usr%\": 1.5}}", run + 1));
            }
        }
    }
    // Made of the runs: not read beside them.
    write("shm/a-60s/box/debian/conf/gcc-12/c1/matrix.json", "{\"shm.ops\": [9, 9, 9]}");
    const auto from = read();
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_THAT(from->arms, ElementsAre("c1", "c2"));
    EXPECT_EQ(from->records.size(), 12U);
    const report::ReportData data = data_of(*from);
    ASSERT_EQ(data.cases.size(), 2U);
    EXPECT_EQ(data.cases[0].name, "a-60s");
    for (const report::MetricRow& row : data.cases[0].rows) {
        if (row.metric.name != "shm.ops") continue;
        EXPECT_THAT(row.arms[0].values, ElementsAre(1.0, 2.0, 3.0));
    }
    EXPECT_TRUE(data.confounders.empty());
}

TEST_F(Tree, MatrixAloneAndIncompleteRuns) {
    write("c1/matrix.json",
          "{\"shm.ops\": [1, 2, 3],\n \"x.y\": [0, 5],\n \"bad\": 1,\n"
          " \"last_state.is_incomplete_run\": [0, 0, 1], \"stats_source\": [\"a\", \"b\", \"c\"]}");
    const auto from = read();
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_THAT(from->arms, ElementsAre("c1"));
    EXPECT_EQ(from->records.size(), 3U);
    EXPECT_EQ(measure::standing(from->records[2].ending), measure::Standing::spoiled);
    std::vector<std::string> texts;
    for (const Lost& lost : from->losses)
        texts.push_back(fmt::format("{}: {}", lost.line, lost.meaning));
    EXPECT_THAT(texts, Contains(HasSubstr("2: x.y has no value of run 2")));
    EXPECT_THAT(texts, Contains(HasSubstr("3: bad is a number, expected a list")));
    EXPECT_THAT(texts, Contains(HasSubstr("zeros")));
}

TEST_F(Tree, HostileTrees) {
    EXPECT_FALSE(read());
    EXPECT_THAT(read().error().text(), HasSubstr("no result of LKP below it"));
    write("c1/0/stats.json", "{\"a\": 1, \"a\": 2}");
    ASSERT_FALSE(read());
    EXPECT_THAT(read().error().text(), HasSubstr("c1/0/stats.json:1:10: the key \"a\""));
    write("c1/0/stats.json", "{\"a\": \"x\",\n \"b\": 1}");
    const auto from = read("c1/0/stats.json");
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_THAT(from->arms, ElementsAre("c1"));
    EXPECT_THAT(from->losses.at(0).meaning, HasSubstr("a is a text"));
    write("c2/0/stats.json", "[1]");
    EXPECT_FALSE(read("c2"));
    write("c2/0/stats.json", "{}");
    EXPECT_THAT(read("c2").error().text(), HasSubstr("no metric in it"));
    write("c3/matrix.json", "{\"a\": [1,2,3], \"stats_source\": [\"x\"]}");
    EXPECT_THAT(read("c3").error().text(), HasSubstr("a has 3 values of 1 runs"));
}

}  // namespace
}  // namespace mano::interchange
