// SPDX-License-Identifier: GPL-2.0-or-later
// KCIDB's schema v5.0 (kcidb-io, kcidb_io/schema/v05_00.py): no property may be null, paths are of
// [A-Za-z0-9_-] and dots, a number is one value.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "interchange/interchange.h"

namespace mano::interchange {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxExcerpt = 16384;

// A step of a path.
std::string step(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-';
        out += good ? c : '_';
    }
    return out.empty() ? "_" : out;
}

// A metric's own dots part the path as well: "vmstat.pgfault".
std::string path_of(const std::string& experiment, std::string_view metric) {
    std::string path = "manometer." + step(experiment);
    while (!metric.empty()) {
        const std::size_t dot = std::min(metric.find('.'), metric.size());
        path += '.' + step(metric.substr(0, dot));
        metric.remove_prefix(std::min(dot + 1, metric.size()));
    }
    return path;
}

std::string clean(std::string text) {
    std::erase(text, '\0');
    return text;
}

class Writer {
  public:
    Writer(const store::RunSet& runset, const report::ReportData& data, std::string_view origin)
        : runset_(runset), data_(data), origin_(origin) {}

    std::string write() {
        Json json;
        json["version"] = {{"major", 5}, {"minor", 0}};
        json["checkouts"] = Json::array();
        json["builds"] = Json::array();
        json["tests"] = Json::array();
        for (const report::ArmReport& arm : data_.arms) {
            json["checkouts"].push_back(checkout(arm));
            json["builds"].push_back(build(arm));
        }
        for (const store::StoredTrial& trial : runset_.trials)
            add_trial(trial, json["tests"]);
        for (const report::CaseReport& of_case : data_.cases) {
            for (std::size_t arm = 0; arm < data_.arms.size(); ++arm)
                add_values(of_case, arm, json["tests"]);
        }
        return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
    }

  private:
    std::string id(std::string_view rest) const {
        return clean(fmt::format("{}:{}:{}", origin_, runset_.id, rest));
    }

    Json checkout(const report::ArmReport& arm) const {
        Json json;
        json["id"] = id(arm.name);
        json["origin"] = origin_;
        json["comment"] = clean(arm.name + ": " + (arm.release.empty() ? "unknown" : arm.release));
        if (!runset_.started.empty()) json["start_time"] = runset_.started;
        json["misc"] = {{"kernel_spec", arm.spec}};
        return json;
    }

    Json build(const report::ArmReport& arm) const {
        Json json;
        json["checkout_id"] = id(arm.name);
        json["id"] = id(arm.name);
        json["origin"] = origin_;
        json["comment"] = clean(arm.name);
        if (runset_.plan.substrate == "guest") json["architecture"] = "x86_64";
        if (!arm.compiler.empty()) json["compiler"] = clean(arm.compiler);
        json["misc"] = Json::object();
        if (arm.config_sha256) json["misc"]["config_sha256"] = *arm.config_sha256;
        if (!arm.cmdline.empty()) json["misc"]["cmdline"] = arm.cmdline;
        return json;
    }

    Json environment() const {
        Json json;
        json["comment"] = clean(
            fmt::format("manometer {}, substrate {}", runset_.version, runset_.plan.substrate));
        json["misc"] = Json::object();
        for (const auto& [key, value] : runset_.identity)
            json["misc"][key] = value;
        json["misc"]["exact"] = runset_.plan.exact;
        return json;
    }

    bool shown(const store::StoredTrial& trial) const {
        const std::string& arm = runset_.plan.arms[trial.planned.arm].name;
        const std::string& of_case = runset_.plan.cases[trial.planned.case_].name;
        return std::any_of(data_.arms.begin(), data_.arms.end(),
                           [&](const auto& each) { return each.name == arm; }) &&
               std::any_of(data_.cases.begin(), data_.cases.end(),
                           [&](const auto& each) { return each.name == of_case; });
    }

    // How the trial ended: what failed is the kernel's doing, what is spoiled the harness's.
    void add_trial(const store::StoredTrial& trial, Json& tests) const {
        if (!trial.done || trial.planned.traced || measure::stands_for_others(trial.record) ||
            !shown(trial))
            return;
        const std::string& arm = runset_.plan.arms[trial.planned.arm].name;
        Json json;
        json["build_id"] = id(arm);
        json["id"] = id(fmt::format("trial:{}", trial.planned.position));
        json["origin"] = origin_;
        json["environment"] = environment();
        json["path"] = path_of(runset_.plan.experiment, "");
        const bool failed = trial.standing == measure::Standing::failed;
        const bool spoiled = trial.standing == measure::Standing::spoiled;
        json["status"] = failed ? "FAIL" : spoiled ? "MISS" : "DONE";
        json["comment"] = std::string(measure::name_of(trial.record.ending));
        if (!trial.record.evidence.empty()) {
            json["log_excerpt"] = clean(trial.record.evidence.substr(0, kMaxExcerpt));
        }
        json["duration"] = static_cast<double>(trial.record.host_ns) / 1e9;
        if (trial.record.host_ns == 0) json.erase("duration");
        json["misc"] = {{"case", runset_.plan.cases[trial.planned.case_].name},
                        {"trial", trial.planned.position}};
        const auto seeds = runset_.identity.find("seeds");
        if (seeds == runset_.identity.end() || seeds->second != "unknown") {
            json["misc"]["seed"] = trial.planned.seed;
        }
        tests.push_back(std::move(json));
    }

    void add_values(const report::CaseReport& of_case, std::size_t arm, Json& tests) const {
        for (const report::MetricRow& row : of_case.rows) {
            if (!row.shown || row.metric.name == "trial.failed") continue;
            const auto& values = row.arms[arm].values;
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (!values[i]) continue;
                Json json;
                json["build_id"] = id(data_.arms[arm].name);
                json["id"] = id(fmt::format("value:{}:{}:{}:{}", data_.arms[arm].name, of_case.name,
                                            i, row.metric.name));
                json["origin"] = origin_;
                json["path"] = path_of(runset_.plan.experiment, row.metric.name);
                json["status"] = "DONE";
                json["number"] = {{"value", *values[i]}};
                if (!row.metric.unit.empty()) json["number"]["unit"] = clean(row.metric.unit);
                json["misc"] = {{"case", of_case.name}, {"run", i}, {"metric", row.metric.name}};
                if (row.known) json["misc"]["better"] = measure::name_of(row.metric.better);
                tests.push_back(std::move(json));
            }
        }
    }

    const store::RunSet& runset_;
    const report::ReportData& data_;
    std::string origin_;
};

}  // namespace

Result<std::string> export_kcidb(const store::RunSet& runset, const report::Options& options,
                                 std::string_view origin) {
    if (origin.empty() || origin.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") !=
                              std::string_view::npos) {
        return fail(Code::invalid, "origin \"{}\": KCIDB takes small letters, digits and _ only",
                    origin);
    }
    MANO_ASSIGN(const report::ReportData data, report::build(runset, options));
    const bool any = std::any_of(runset.trials.begin(), runset.trials.end(), [](const auto& trial) {
        return trial.done && !trial.planned.traced && !measure::stands_for_others(trial.record);
    });
    if (!any) {
        return fail(Code::invalid, "run set {} has no trial that counts: nothing to write",
                    runset.id);
    }
    return Writer(runset, data, origin).write();
}

}  // namespace mano::interchange
