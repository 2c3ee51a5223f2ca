// SPDX-License-Identifier: GPL-2.0-or-later
// Every importer on damaged copies of real files: cut off, bytes changed, lines doubled. Nothing
// but an error that names its place, or numbers that are in the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/file.h"
#include "base/rng.h"
#include "interchange/interchange.h"
#include "report/renderers.h"

namespace mano::interchange {
namespace {

using ::testing::HasSubstr;

struct Sample {
    std::string_view format, file;
};
constexpr std::array<Sample, 15> kSamples{{
    {"csv", "long.csv"},
    {"lkp", "lkp-vfree-table.txt"},
    {"stress-ng", "stress-ng.yaml"},
    {"cyclictest", "cyclictest.json"},
    {"cyclictest", "cyclictest.hist"},
    {"cyclictest", "cyclictest.txt"},
    {"perf-stat", "perf-stat.txt"},
    {"perf-stat", "perf-stat.csv"},
    {"perf-stat", "perf-stat.jsonl"},
    {"perf-stat", "perf-stat-r.txt"},
    {"perf-stat", "perf-stat-r.csv"},
    {"perf-stat", "perf-stat-r.jsonl"},
    {"hyperfine", "hyperfine.json"},
    {"google-benchmark", "google-benchmark.json"},
    {"google-benchmark", "google-benchmark-aggregates.json"},
}};

std::string text_of(std::string_view file) {
    auto text = read_file(std::string(MANO_SOURCE_DIR) + "/tests/fixtures/interchange/" +
                          std::string(file));
    EXPECT_TRUE(text) << file;
    return text ? std::move(*text) : "";
}

// Whatever came out must be a run set that every renderer takes; an error must name a place.
void check(std::string_view format, std::string_view text) {
    ImportOptions options;
    options.file = "f.x";
    const auto imported = import_text(*find_importer(format), text, options);
    if (!imported) {
        EXPECT_EQ(imported.error().code, Code::hostile) << imported.error().text();
        EXPECT_THAT(imported.error().message, HasSubstr("f.x:"));
        return;
    }
    for (const measure::TrialRecord& record : imported->records) {
        for (const measure::Sample& sample : record.samples) {
            if (sample.value) {
                ASSERT_TRUE(std::isfinite(*sample.value)) << sample.metric;
            }
        }
    }
    const auto data = report::build(as_runset(*imported), {});
    ASSERT_TRUE(data) << data.error().text();
    for (const report::Renderer& each : report::renderers()) {
        if (each.name == "csv") continue;  // refuses means
        const auto rendered = each.render(*data, as_runset(*imported), {});
        ASSERT_TRUE(rendered) << each.name;
    }
}

TEST(Hostile, CutOffAnywhere) {
    for (const Sample& sample : kSamples) {
        SCOPED_TRACE(sample.file);
        const std::string text = text_of(sample.file);
        const std::size_t step = std::max<std::size_t>(1, text.size() / 20);
        for (std::size_t length = 0; length < text.size(); length += step)
            check(sample.format, std::string_view(text).substr(0, length));
    }
}

TEST(Hostile, ChangedBytesAndDoubledLines) {
    constexpr std::uint64_t kSeed = 7;
    RecordProperty("seed", static_cast<int>(kSeed));
    Rng rng(kSeed);
    constexpr std::string_view kSigns = "0-,.:;\"{}[]\n\r\t \xff\xb1%NaN<>=#e";
    for (const Sample& sample : kSamples) {
        SCOPED_TRACE(sample.file);
        const std::string text = text_of(sample.file);
        for (int round = 0; round < 24; ++round) {
            std::string damaged = text;
            for (int change = 0; change < 1 + round % 4; ++change) {
                damaged[rng.below(damaged.size())] = kSigns[rng.below(kSigns.size())];
            }
            if (round % 3 == 0) {
                const std::size_t start = damaged.find('\n', rng.below(damaged.size()));
                if (start != std::string::npos) {
                    const std::size_t end = std::min(damaged.find('\n', start + 1), damaged.size());
                    damaged.insert(start, damaged.substr(start, end - start));
                }
            }
            check(sample.format, damaged);
        }
    }
}

// CRLF gives the same numbers as LF.
TEST(Hostile, CarriageReturns) {
    for (const Sample& sample : kSamples) {
        SCOPED_TRACE(sample.file);
        const std::string text = text_of(sample.file);
        std::string windows;
        for (const char c : text) {
            if (c == '\r') continue;
            if (c == '\n') windows += '\r';
            windows += c;
        }
        ImportOptions options;
        options.file = "f.x";
        const auto first = import_text(*find_importer(sample.format), text, options);
        const auto second = import_text(*find_importer(sample.format), windows, options);
        ASSERT_TRUE(first) << first.error().text();
        ASSERT_TRUE(second) << second.error().text();
        ASSERT_EQ(first->records.size(), second->records.size());
        for (std::size_t i = 0; i < first->records.size(); ++i) {
            EXPECT_EQ(first->records[i].samples, second->records[i].samples);
            EXPECT_EQ(first->records[i].facts, second->records[i].facts);
        }
    }
}

TEST(Hostile, OtherToolsFiles) {
    for (const Sample& sample : kSamples) {
        for (const Importer& importer : importers()) {
            SCOPED_TRACE(std::string(importer.name) + " reads " + std::string(sample.file));
            check(importer.name, text_of(sample.file));
        }
    }
}

TEST(Hostile, TenMillionRows) {
    constexpr std::size_t kRows = 10'000'000;
    std::string text = "arm,case,trial,seed,iteration,metric,unit,value\n";
    text.reserve(kRows * 16);
    for (std::size_t i = 0; i < kRows; ++i)
        text += "a,,0,,,m,,1\n";
    ImportOptions options;
    options.file = "f.csv";
    const auto imported = import_csv(text, options);
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().message,
              "f.csv:4000002: column 1: more than 4000000 rows; split the file");
}

TEST(Hostile, NegativeCountsInCsv) {
    ImportOptions options;
    options.file = "f.csv";
    const auto imported = import_csv(
        "arm,case,trial,seed,iteration,metric,unit,value,kind\n"
        "a,,0,,,vmstat.pgfault,count,-5,\na,,0,,,mine,,-5,counter\na,,0,,,temperature,C,-5,gauge\n",
        options);
    ASSERT_TRUE(imported) << imported.error().text();
    ASSERT_EQ(imported->losses.size(), 2U);
    EXPECT_EQ(imported->losses[0].line, 2U);
    EXPECT_EQ(imported->losses[0].column, 8U);
    EXPECT_EQ(imported->records[0].samples[1].value, std::nullopt);
    EXPECT_EQ(imported->records[0].samples[2].value, -5);
}

}  // namespace
}  // namespace mano::interchange
