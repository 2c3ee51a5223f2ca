// SPDX-License-Identifier: GPL-2.0-or-later
// The JSON contract: every key of manometer.compare/1 is there in every document, with its type or
// null; and no other.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "report/report.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

using nlohmann::json;

// Key → allowed types, as letters: s string, n number, b boolean, a array, o object, 0 null.
using Shape = std::map<std::string, std::string>;

bool has_type(const json& value, const std::string& types) {
    for (const char type : types) {
        if ((type == 's' && value.is_string()) || (type == 'n' && value.is_number()) ||
            (type == 'b' && value.is_boolean()) || (type == 'a' && value.is_array()) ||
            (type == 'o' && value.is_object()) || (type == '0' && value.is_null())) {
            return true;
        }
    }
    return false;
}

void check(const json& object, const Shape& shape, const std::string& where) {
    ASSERT_TRUE(object.is_object()) << where;
    for (const auto& [key, types] : shape) {
        ASSERT_TRUE(object.contains(key)) << where << '.' << key;
        EXPECT_TRUE(has_type(object[key], types)) << where << '.' << key << ": " << object[key];
    }
    for (const auto& [key, value] : object.items()) {
        EXPECT_TRUE(shape.contains(key)) << where << " has the unknown key " << key;
    }
}

const Shape kTop = {{"schema", "s"},   {"runset", "s"},  {"experiment", "s"},  {"substrate", "s"},
                    {"accel", "s0"},   {"qemu", "s0"},   {"exact", "b"},       {"seeds", "a"},
                    {"paired", "b"},   {"base", "s"},    {"arms", "a"},        {"cases", "a"},
                    {"warnings", "a"}, {"losses", "a"},  {"confounders", "a"}, {"failed", "a"},
                    {"spoiled", "a"},  {"verdict", "s"}, {"noise", "o0"},      {"published", "a"}};
const Shape kArm = {{"name", "s"},   {"kernel", "o"},  {"cmdline", "s"},
                    {"trials", "n"}, {"spoiled", "n"}, {"placebo", "b"}};
const Shape kKernel = {
    {"release", "s0"}, {"spec", "s0"}, {"config_sha256", "s0"}, {"compiler", "s0"}};
const Shape kCase = {
    {"name", "s"}, {"parameters", "o"}, {"verdicts", "o"}, {"metrics", "a"}, {"equivalence", "a"}};
const Shape kReason = {{"code", "s"}, {"text", "s"}};
const Shape kMetric = {{"name", "s"},    {"unit", "s0"},   {"better", "s0"},
                       {"key", "b"},     {"arms", "o"},    {"kind", "s0"},
                       {"primary", "b"}, {"changes", "o"}, {"not_observable", "s0"},
                       {"noise", "o0"},  {"drift", "o0"}};
const Shape kValues = {{"n", "n"},           {"values", "a"},          {"total", "n0"},
                       {"mean", "n0"},       {"median", "n0"},         {"zeros", "n0"},
                       {"stddev_pct", "n0"}, {"half_range_pct", "n0"}, {"ci95", "a0"},
                       {"modes", "a0"},      {"outlier", "n0"}};
const Shape kChange = {{"mean_pct", "n0"},
                       {"median_pct", "n0"},
                       {"total_pct", "n0"},
                       {"shift", "n0"},
                       {"shift_ci95", "a0"},
                       {"test", "s0"},
                       {"p", "n0"},
                       {"p_adjusted", "n0"},
                       {"family", "s"},
                       {"verdict", "s"},
                       {"margin_pct", "n0"},
                       {"detectable_pct", "n0"},
                       {"warnings", "a"},
                       {"reason", "o"},
                       {"floor", "n0"},
                       {"detectable", "n0"},
                       {"median_pct_ci95", "a0"},
                       {"median_pct_no_ci", "s0"},
                       {"total_pct_ci95", "a0"},
                       {"total_pct_no_ci", "s0"},
                       {"from_zero", "b"},
                       {"totals_test", "o0"},
                       {"zeros_test", "o0"},
                       {"paired", "o0"},
                       {"placebo", "o0"}};

void check_metric(const json& metric, const std::set<std::string>& arms, std::size_t others) {
    check(metric, kMetric, "metric");
    EXPECT_EQ(metric["arms"].size(), arms.size());
    for (const auto& [arm, values] : metric["arms"].items()) {
        EXPECT_TRUE(arms.contains(arm));
        check(values, kValues, "values");
        // Unknown isn't zero: what has no value has no figure.
        if (values["n"] == 0) {
            EXPECT_TRUE(values["total"].is_null() && values["mean"].is_null() &&
                        values["zeros"].is_null());
        }
    }
    EXPECT_EQ(metric["changes"].size(), others);
    static const std::set<std::string> kVerdicts = {"better",       "worse",   "no-change",
                                                    "inconclusive", "too-few", "not-comparable"};
    for (const auto& [arm, change] : metric["changes"].items()) {
        check(change, kChange, "change");
        EXPECT_TRUE(kVerdicts.contains(change["verdict"].get<std::string>()));
        check(change["reason"], kReason, "reason");
    }
}

TEST(Json, HasEveryKeyOfTheContractAndNoOther) {
    for (const auto& [name, runset] : testing::golden_runsets()) {
        SCOPED_TRACE(name);
        const auto data = build(runset, {});
        ASSERT_TRUE(data);
        const json document = json::parse(render_json(*data));
        check(document, kTop, "top");
        EXPECT_EQ(document["schema"], "manometer.compare/1");
        std::set<std::string> arms;
        for (const json& arm : document["arms"]) {
            check(arm, kArm, "arm");
            check(arm["kernel"], kKernel, "kernel");
            arms.insert(arm["name"].get<std::string>());
        }
        std::set<std::string> codes;
        for (const json& warning : document["warnings"]) {
            check(warning, {{"code", "s"}, {"text", "s"}, {"what_to_do", "s"}}, "warning");
            codes.insert(warning["code"].get<std::string>());
        }
        for (const json& each : document["cases"]) {
            check(each, kCase, "case");
            EXPECT_EQ(each["verdicts"].size(), arms.size() - 1);
            for (const auto& [arm, verdict] : each["verdicts"].items()) {
                check(verdict, {{"verdict", "s"}, {"reason", "o"}}, "verdicts");
                check(verdict["reason"], kReason, "reason of " + arm);
            }
            for (const json& metric : each["metrics"]) {
                check_metric(metric, arms, arms.size() - 1);
                for (const auto& [arm, change] : metric["changes"].items()) {
                    for (const json& code : change["warnings"]) {
                        EXPECT_TRUE(codes.contains(code.get<std::string>())) << code;
                    }
                }
            }
            for (const json& gate : each["equivalence"]) {
                check(gate, {{"check", "s"}, {"values", "o"}, {"same", "b"}, {"gate", "b"}},
                      "gate");
            }
        }
        for (const json& each : document["confounders"]) {
            check(each, {{"what", "s"}, {"values", "o"}}, "confounder");
        }
        for (const json& each : document["losses"]) {
            check(each,
                  {{"arm", "s"}, {"trial", "n"}, {"source", "s"}, {"count", "n"}, {"meaning", "s"}},
                  "loss");
        }
        for (const json& each : document["failed"]) {
            check(each,
                  {{"arm", "s"}, {"case", "s"}, {"trial", "n"}, {"how", "s"}, {"evidence", "s0"}},
                  "failed");
        }
        for (const json& each : document["spoiled"]) {
            check(each, {{"arm", "s"}, {"case", "s"}, {"trial", "n"}, {"reason", "s"}}, "spoiled");
        }
    }
}

}  // namespace
}  // namespace mano::report
