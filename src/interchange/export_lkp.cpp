// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <nlohmann/json.hpp>

#include "interchange/interchange.h"
#include "report/lkp_rule.h"

namespace mano::interchange {
namespace {

using Json = nlohmann::ordered_json;

// One folder's name: LKP splits paths at '/', and its parameters at '-'.
std::string folder(std::string_view text) {
    std::string name;
    for (const char c : text) {
        const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '+' ||
                          c == '=' || c == '%' || c == ':' || c == '@' || c == ',';
        name += good ? c : '_';
    }
    if (name.empty()) return "unknown";
    if (name == "." || name == "..") return "_";
    constexpr std::size_t kLongest = 120;
    return name.substr(0, kLongest);
}

Json number(double value) {
    constexpr double kWhole = 9007199254740992.0;
    if (value == static_cast<double>(
                     static_cast<std::int64_t>(std::max(-kWhole, std::min(kWhole, value))))) {
        return static_cast<std::int64_t>(value);
    }
    return value;
}

std::string dump(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

// …/testcase/params/machine/rootfs/kconfig/compiler/commit
std::string result_root(const report::ReportData& data, const report::CaseReport& of_case,
                        const report::ArmReport& arm) {
    const auto accel = data.header.identity.find("accel");
    const std::string machine = data.header.plan.substrate +
                                (accel == data.header.identity.end() ? "" : "-" + accel->second);
    return fmt::format("{}/{}/{}/{}/{}/{}/{}", folder(data.header.plan.experiment),
                       of_case.name.empty() ? "defaults" : folder(of_case.name), folder(machine),
                       data.header.plan.substrate == "guest" ? "initramfs" : "unknown",
                       folder(arm.config_sha256.value_or("").substr(0, 12)), folder(arm.compiler),
                       folder(arm.name));
}

void add_root(const report::ReportData& data, const report::CaseReport& of_case, std::size_t arm,
              Files& files) {
    const std::string root = result_root(data, of_case, data.arms[arm]);
    std::size_t runs = 0;
    for (const report::MetricRow& row : of_case.rows)
        runs = std::max(runs, row.arms[arm].values.size());
    if (runs == 0) return;
    Json matrix = Json::object();
    std::vector<Json> stats(runs, Json::object());
    for (const report::MetricRow& row : of_case.rows) {
        const auto& values = row.arms[arm].values;
        const std::string name = report::lkp_name(row.metric.name, data.foreign);
        Json list = Json::array();
        for (std::size_t run = 0; run < values.size(); ++run) {
            if (!values[run]) continue;
            stats[run][name] = number(*values[run]);
            list.push_back(number(*values[run]));
        }
        // LKP would fill up with 0 what a run lacks: a row with gaps is in stats.json only.
        if (list.size() == runs) matrix[name] = std::move(list);
    }
    Json sources = Json::array();
    for (std::size_t run = 0; run < runs; ++run) {
        std::string path = fmt::format("{}/{}/stats.json", root, run);
        sources.push_back(path);
        files.emplace_back(std::move(path), dump(stats[run]));
    }
    matrix["stats_source"] = std::move(sources);
    files.emplace_back(root + "/matrix.json", dump(matrix));
}

}  // namespace

Result<Files> export_lkp(const store::RunSet& runset, const report::Options& options) {
    MANO_ASSIGN(const report::ReportData data, report::build(runset, options));
    Files files;
    for (const report::CaseReport& of_case : data.cases) {
        for (std::size_t arm = 0; arm < data.arms.size(); ++arm)
            add_root(data, of_case, arm, files);
    }
    if (files.empty()) {
        return fail(Code::invalid, "run set {} has no trial that counts: nothing to write",
                    runset.id);
    }
    return files;
}

}  // namespace mano::interchange
