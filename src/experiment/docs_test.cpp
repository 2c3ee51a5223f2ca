// SPDX-License-Identifier: GPL-2.0-or-later
// docs/experiments.md has tables that the schema writes (MANO_BLESS=1), and examples that run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "experiment/experiment.h"
#include "experiment/settings.h"
#include "measure/metric.h"

namespace mano::experiment {
namespace {

const std::filesystem::path kPage =
    std::filesystem::path(MANO_SOURCE_DIR) / "docs" / "experiments.md";

// A `|` would end the cell.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|') out += '\\';
        out += c;
    }
    return out;
}

constexpr std::string_view kHead = "| key | default | range | meaning |\n|---|---|---|---|\n";

std::string row(const plan::ParamDef& param, std::span<const std::string_view> choices,
                const std::string& fallback) {
    return fmt::format("| `{}` | {} | {} | {} |\n", param.name, fallback,
                       show_range(param, choices), cell(param.meaning));
}

std::string settings_table(std::span<const SettingDef> defs) {
    std::string text(kHead);
    for (const SettingDef& def : defs) {
        std::string fallback = show_value(def.param, {def.param.fallback, {}});
        const plan::GuestShape shape;
        if (def.param.name == "thp") fallback = shape.thp;
        if (def.param.name == "thp_defrag") fallback = shape.thp_defrag;
        if (def.optional) fallback = "-";
        text += row(def.param, def.choices, fallback);
    }
    return text;
}

std::string loads_table(std::span<const plan::LoadDef> loads) {
    std::string text;
    for (const plan::LoadDef& load : loads) {
        if (!text.empty()) text += "\n";
        text += fmt::format("**`{}`** {}.\n\n{}", load.name, load.summary, kHead);
        for (const plan::ParamDef& param : load.params) {
            const bool none = param.type == plan::ParamType::text;
            text += row(param, {}, none ? "-" : show_value(param, {param.fallback, {}}));
        }
    }
    return text;
}

std::string metrics_table() {
    std::string text =
        "| metric | unit | kind | better | floor | meaning |\n|---|---|---|---|---|---|\n";
    for (const measure::Metric& metric : measure::catalogue()) {
        text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", cell(metric.name), metric.unit,
                            name_of(metric.kind), name_of(metric.better), metric.floor,
                            cell(metric.meaning));
    }
    return text;
}

// The text between "<!-- name -->" and the next "<!-- end -->", replaced.
void replace_block(std::string& page, std::string_view name, const std::string& table) {
    const std::string begin = fmt::format("<!-- {} -->\n", name);
    const std::size_t from = page.find(begin);
    ASSERT_NE(from, std::string::npos) << name;
    const std::size_t inside = from + begin.size();
    const std::size_t to = page.find("<!-- end -->", inside);
    ASSERT_NE(to, std::string::npos) << name;
    page.replace(inside, to - inside, table);
}

TEST(Docs, TablesAreTheSchema) {
    const auto page = read_file(kPage);
    ASSERT_TRUE(page);
    std::string expected = *page;
    replace_block(expected, "guest", settings_table(guest_settings()));
    replace_block(expected, "run", settings_table(run_settings()));
    replace_block(expected, "pressures", loads_table(plan::pressures()));
    replace_block(expected, "probes", loads_table(plan::probes()));
    replace_block(expected, "metrics", metrics_table());
    if (std::getenv("MANO_BLESS") != nullptr) {
        ASSERT_TRUE(write_file_atomic(kPage, expected));
        return;
    }
    EXPECT_EQ(*page, expected) << "MANO_BLESS=1 writes the tables";
}

TEST(Docs, ExamplesParse) {
    const auto page = read_file(kPage);
    ASSERT_TRUE(page);
    constexpr std::string_view kBegin = "```toml\n";
    std::size_t examples = 0;
    for (std::size_t at = page->find(kBegin); at != std::string::npos;
         at = page->find(kBegin, at)) {
        at += kBegin.size();
        const std::size_t end = page->find("```", at);
        ASSERT_NE(end, std::string::npos);
        const auto experiment = parse(page->substr(at, end - at), "docs/experiments.md");
        EXPECT_TRUE(experiment) << experiment.error().text();
        ++examples;
    }
    EXPECT_GE(examples, 1u);
}

}  // namespace
}  // namespace mano::experiment
