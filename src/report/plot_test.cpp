// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/rng.h"
#include "report/layout.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Series = std::vector<std::optional<double>>;

ReportData built(const store::RunSet& runset, const Options& options = {}) {
    auto data = build(runset, options);
    EXPECT_TRUE(data) << data.error().text();
    return data ? std::move(*data) : ReportData();
}

// Columns of UTF-8 text without combining characters.
std::size_t columns_of(const std::string& line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

TEST(Plots, Goldens) {
    for (const auto& [name, runset] : testing::golden_runsets()) {
        const ReportData data = built(runset);
        for (const auto& [end, charset] :
             {std::pair(".plot", Charset::ascii), std::pair(".plot-utf8", Charset::utf8)}) {
            const std::string text = render_plots(data, charset);
            const std::string path =
                std::string(MANO_SOURCE_DIR) + "/tests/golden/report/" + name + end;
            if (std::getenv("MANO_BLESS") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
                ASSERT_TRUE(write_file_atomic(path, text));
                continue;
            }
            const auto expected = read_file(path);
            ASSERT_TRUE(expected) << path << ": run with MANO_BLESS=1 and read what it writes";
            EXPECT_EQ(text, *expected) << name << end;
        }
    }
}

// Two arms with the values given, judged.
ReportData of_values(const std::vector<std::vector<double>>& values) {
    testing::Builder builder({"base", "head"});
    builder.fill("vmstat.pgfault", values);
    builder.runset.plan.key_metrics = {
        testing::key(testing::metric("vmstat.pgfault", "count", measure::Better::lower), true)};
    return built(builder.runset);
}

// Marks of all lines of one arm's strip; the arm's name isn't part of the plot.
std::size_t marks(const std::string& text) {
    std::size_t count = 0;
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with("  ") && line.size() > 8) {
            const std::string strip = line.substr(8);
            count += static_cast<std::size_t>(std::count(strip.begin(), strip.end(), 'o'));
        }
    }
    return count;
}

TEST(Plots, EachTrialIsAMarkAndNoLineIsTooLong) {
    Rng rng(20261130);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::vector<double>> values(2);
        const std::size_t n = 1 + rng.below(12);
        for (auto& arm : values) {
            for (std::size_t i = 0; i < n; ++i)
                arm.push_back(std::floor(std::pow(10.0, static_cast<double>(rng.below(12)))) +
                              static_cast<double>(rng.below(1000)));
        }
        const std::string text = render_plots(of_values(values), Charset::ascii);
        const std::string wide = render_plots(of_values(values), Charset::utf8);
        for (const std::string& line : lines_of(text))
            EXPECT_LE(line.size(), kColumns) << round << ": " << line;
        for (const std::string& line : lines_of(wide))
            EXPECT_LE(columns_of(line), kColumns) << round << ": " << line;
        if (text.find("a mark is") == std::string::npos) {
            EXPECT_EQ(marks(text), 2 * n) << "round " << round << "\n" << text;
        }
    }
}

TEST(Plots, ManyTrialsShareAMark) {
    const std::string text =
        render_plots(of_values({std::vector<double>(40, 5), {1}}), Charset::ascii);
    EXPECT_THAT(text, HasSubstr("a mark is up to 8 trials"));
    EXPECT_EQ(marks(text), 5U + 1U) << text;
}

TEST(Plots, HostileNamesAndUnknownValues) {
    testing::Builder builder({"ba\x1b[31mse", "head"});
    builder.trial(0).counter("vmstat.pgfault", 5).trial(0).counter("vmstat.pgfault", std::nullopt);
    builder.runset.plan.key_metrics = {
        testing::key(testing::metric("vmstat.pgfault", "count", measure::Better::lower), true)};
    const std::string text = render_plots(built(builder.runset), Charset::ascii);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("(1 of 2 unknown)"));
    EXPECT_THAT(text, HasSubstr("  head       no known value\n"));
}

TEST(Sparkline, LevelsFollowTheValues) {
    const Series rising{0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(sparkline(rising, Charset::ascii), "_.:-=+*#");
    EXPECT_EQ(sparkline(rising, Charset::utf8), "▁▂▃▄▅▆▇█");
    EXPECT_EQ(sparkline(Series{1, std::nullopt, 2}, Charset::ascii), "_?#");
    EXPECT_EQ(sparkline(Series{3, 3}, Charset::ascii), "==");
    EXPECT_EQ(sparkline(Series{std::nullopt}, Charset::ascii), "?");
    EXPECT_EQ(sparkline(Series{}, Charset::ascii), "");
    EXPECT_EQ(sparkline(Series{0, 10}, Charset::ascii, std::pair(0.0, 20.0)), "_=");
    EXPECT_EQ(sparkline(Series(1000, 1.0), Charset::ascii).size(), 60U);
    // Values at both ends of what a double holds.
    EXPECT_EQ(sparkline(Series{-1.7e308, 0, 1.7e308}, Charset::ascii), "_=#");
}

TEST(Bars, LongestIsAsWideAsAskedAndNothingIsNothing) {
    EXPECT_EQ(bars({{"a", 10}, {"bb", 5}, {"c", 0}, {"d", std::nullopt}, {"e", 0.01}},
                   Charset::ascii, 10),
              "a     10  ##########\nbb     5  #####\nc      0\nd      ?\ne   0.01  #\n");
}

}  // namespace
}  // namespace mano::report
