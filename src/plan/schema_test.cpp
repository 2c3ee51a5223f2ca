// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/schema.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "plan/trial_plan.h"

namespace mano::plan {
namespace {

std::vector<const LoadDef*> all_loads() {
    std::vector<const LoadDef*> all;
    for (const LoadDef& load : pressures())
        all.push_back(&load);
    for (const LoadDef& load : probes())
        all.push_back(&load);
    return all;
}

TEST(Schema, LoadsAreFoundByNameAndNumber) {
    std::set<LoadId> ids;
    for (const LoadDef* load : all_loads()) {
        EXPECT_EQ(find_load(load->kind, load->name), load);
        EXPECT_EQ(find_load(load->id), load);
        EXPECT_TRUE(ids.insert(load->id).second) << load->name;
        EXPECT_FALSE(load->summary.empty());
        EXPECT_LE(load->params.size(), kMaxValues);
    }
    EXPECT_EQ(find_load(LoadKind::probe, "hold"), nullptr);
    EXPECT_EQ(find_load(LoadKind::pressure, "shm"), nullptr);
    EXPECT_EQ(find_load(static_cast<LoadId>(999)), nullptr);
}

TEST(Schema, ParametersAreSound) {
    for (const LoadDef* load : all_loads()) {
        std::set<std::string_view> names;
        for (std::size_t i = 0; i < load->params.size(); ++i) {
            const ParamDef& param = load->params[i];
            EXPECT_TRUE(names.insert(param.name).second) << load->name << "." << param.name;
            EXPECT_EQ(find_param(*load, param.name), i);
            EXPECT_LE(param.minimum, param.fallback) << load->name << "." << param.name;
            EXPECT_LE(param.fallback, param.maximum) << load->name << "." << param.name;
            if (param.type == ParamType::text) {
                EXPECT_EQ(param.maximum, 0) << load->name << "." << param.name;
            } else {
                EXPECT_LT(param.minimum, param.maximum) << load->name << "." << param.name;
            }
            if (param.type == ParamType::choice) {
                EXPECT_EQ(param.minimum, 0);
                EXPECT_EQ(static_cast<std::size_t>(param.maximum) + 1, param.choices.size());
            } else {
                EXPECT_TRUE(param.choices.empty()) << load->name << "." << param.name;
            }
            EXPECT_GE(param.meaning.size(), 20u) << load->name << "." << param.name;
        }
        EXPECT_EQ(find_param(*load, "no_such_parameter"), std::nullopt);
    }
}

// The agent reads values by position, and stored plans hold them so.
TEST(Schema, PositionsAreFixed) {
    const auto names = [](LoadId id) {
        std::string text;
        for (const ParamDef& param : find_load(id)->params)
            text += std::string(param.name) + " ";
        return text;
    };
    EXPECT_EQ(names(LoadId::none), "jitter_pages ");
    EXPECT_EQ(names(LoadId::hold),
              "demand workers folio punch punch_chunk compressible settle tolerance ");
    EXPECT_EQ(names(LoadId::churn), "workers threads burst ");
    EXPECT_EQ(names(LoadId::pageout), "workers size pause ");
    EXPECT_EQ(names(LoadId::timer), "interval duration ");
    EXPECT_EQ(names(LoadId::idle), "duration ");
    EXPECT_EQ(names(LoadId::shm), "workers size duration threads ");
    EXPECT_EQ(names(LoadId::mthp), "folio size workers duration ");
    EXPECT_EQ(names(LoadId::thp), "size workers ");
    EXPECT_EQ(names(LoadId::command), "timeout ");
    EXPECT_EQ(names(LoadId::packet_ring), "rings size block rounds ");
    EXPECT_EQ(names(LoadId::io_uring_ring), "rings entries sqe128 rounds ");
    EXPECT_EQ(names(LoadId::aux),
              "pmu capability size data_pages overwrite watermark rounds privileged linger ");
    // Held as places: these words never move.
    ASSERT_EQ(find_load(LoadId::aux)->params[1].choices.size(), 4u);
    EXPECT_EQ(find_load(LoadId::aux)->params[1].choices[0], "pages");
    EXPECT_EQ(find_load(LoadId::aux)->params[1].choices[1], "prefer-large");
    EXPECT_EQ(find_load(LoadId::aux)->params[1].choices[2], "no-sg");
    EXPECT_EQ(find_load(LoadId::aux)->params[1].choices[3], "default");
}

}  // namespace
}  // namespace mano::plan
