// SPDX-License-Identifier: GPL-2.0-or-later
// What other tools read: LKP's tree comes back as the same table, KCIDB's JSON keeps to its schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/file.h"
#include "interchange/interchange.h"
#include "report/test_runsets.h"

namespace mano::interchange {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

store::RunSet golden(const std::string& wanted) {
    for (auto& [name, runset] : report::testing::golden_runsets()) {
        if (name == wanted) return runset;
    }
    ADD_FAILURE() << wanted;
    return {};
}

std::map<std::string, std::vector<std::optional<double>>> values_of(const store::RunSet& runset) {
    std::map<std::string, std::vector<std::optional<double>>> all;
    const auto data = report::build(runset, {});
    EXPECT_TRUE(data) << data.error().text();
    for (const report::CaseReport& of_case : data->cases) {
        for (const report::MetricRow& row : of_case.rows) {
            if (row.metric.name == "trial.failed") continue;
            std::string name = row.metric.name;
            if (name.starts_with("proc-")) name.erase(0, 5);
            for (std::size_t arm = 0; arm < data->arms.size(); ++arm) {
                all[of_case.name + "/" + data->arms[arm].name + "/" + name] = row.arms[arm].values;
            }
        }
    }
    return all;
}

TEST(ExportLkp, TheTreeComesBackAsTheSameNumbers) {
    const store::RunSet runset = golden("cases");
    const auto files = export_lkp(runset, {});
    ASSERT_TRUE(files) << files.error().text();
    auto folder = TempFolder::make("/tmp", "mano-export-");
    ASSERT_TRUE(folder);
    std::size_t stats = 0;
    for (const auto& [path, bytes] : *files) {
        EXPECT_EQ(path.find(".."), std::string::npos);
        EXPECT_NE(path.front(), '/');
        stats += path.ends_with("/stats.json") ? 1 : 0;
        ASSERT_TRUE(write_file_atomic(folder->path() / path, bytes));
        ASSERT_FALSE(json::parse(bytes, nullptr, false).is_discarded()) << path;
    }
    EXPECT_GT(stats, 0U);
    const auto back =
        import_paths(*find_importer("lkp"), std::vector<std::string>{folder->path().string()}, {});
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->records.size(), stats);
    const auto before = values_of(runset);
    const auto after = values_of(as_runset(*back));
    std::size_t compared = 0;
    for (const auto& [name, values] : after) {
        // What a run lacks is absent from its file, so it comes back as unknown or not at all.
        const auto found = before.find(name);
        if (found == before.end()) continue;
        EXPECT_EQ(values, found->second) << name;
        ++compared;
    }
    EXPECT_GT(compared, 4U);
}

TEST(ExportLkp, NamesThatWouldLeaveTheFolder) {
    report::testing::Builder builder({"../../etc", "b"});
    builder.fill("vmstat.pgfault", {{1, 2}, {3, 4}});
    const auto files = export_lkp(builder.runset, {});
    ASSERT_TRUE(files);
    for (const auto& [path, bytes] : *files) {
        EXPECT_EQ(path.find("/../"), std::string::npos) << path;
        EXPECT_EQ(std::count(path.begin(), path.end(), '/'), path.ends_with("matrix.json") ? 7 : 8)
            << path;
    }
}

// The parts of kcidb-io's schema v5.0 that a mistake here could break.
void check_kcidb(const json& report) {
    EXPECT_EQ(report.at("version").at("major"), 5);
    EXPECT_EQ(report.at("version").at("minor"), 0);
    const std::regex id("[a-z0-9_]+:[^]*");
    const std::regex path("([a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*)?");
    const std::set<std::string> statuses{"FAIL", "ERROR", "MISS", "PASS", "DONE", "SKIP"};
    std::set<std::string> checkouts;
    std::set<std::string> builds;
    std::set<std::string> tests;
    for (const json& each : report.at("checkouts")) {
        EXPECT_TRUE(std::regex_match(each.at("id").get<std::string>(), id));
        EXPECT_TRUE(checkouts.insert(each.at("id")).second);
    }
    for (const json& each : report.at("builds")) {
        EXPECT_TRUE(checkouts.contains(each.at("checkout_id")));
        EXPECT_TRUE(builds.insert(each.at("id")).second);
    }
    for (const json& each : report.at("tests")) {
        EXPECT_TRUE(builds.contains(each.at("build_id")));
        EXPECT_TRUE(tests.insert(each.at("id")).second) << each.at("id");
        EXPECT_TRUE(std::regex_match(each.at("path").get<std::string>(), path)) << each.at("path");
        EXPECT_TRUE(statuses.contains(each.at("status")));
        if (each.contains("number")) {
            EXPECT_TRUE(each.at("number").at("value").is_number());
            EXPECT_EQ(each.at("status"), "DONE");
        }
    }
    EXPECT_EQ(report.dump().find("null"), std::string::npos);  // no property may be null
}

TEST(ExportKcidb, KeepsToTheSchema) {
    for (const auto& [name, runset] : report::testing::golden_runsets()) {
        SCOPED_TRACE(name);
        report::Options all;
        all.all = true;
        for (const report::Options& options : {report::Options{}, all}) {
            const auto text = export_kcidb(runset, options, "mylab");
            ASSERT_TRUE(text) << text.error().text();
            const json report = json::parse(*text, nullptr, false);
            ASSERT_TRUE(report.is_object());
            check_kcidb(report);
        }
    }
}

TEST(ExportKcidb, FailedAndSpoiledTrialsAreInIt) {
    const auto text = export_kcidb(golden("mishaps"), {}, "mylab");
    ASSERT_TRUE(text);
    EXPECT_THAT(*text, HasSubstr("\"FAIL\""));
    EXPECT_THAT(*text, HasSubstr("\"MISS\""));
    const auto bad = export_kcidb(golden("mishaps"), {}, "My Lab");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, Code::invalid);
}

TEST(Exports, MeansOnlyHaveNothingToWrite) {
    ImportOptions options;
    options.file = "mail.txt";
    const auto from = import_text(*find_importer("lkp"),
                                  "1111111111111111 2222222222222222\n"
                                  "---------------- ----------------\n1.00 +5.0% 1.05 a.b\n",
                                  options);
    ASSERT_TRUE(from) << from.error().text();
    EXPECT_FALSE(export_lkp(as_runset(*from), {}));
    EXPECT_FALSE(export_kcidb(as_runset(*from), {}, "mylab"));
}

}  // namespace
}  // namespace mano::interchange
