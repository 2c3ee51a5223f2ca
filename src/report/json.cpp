// SPDX-License-Identifier: GPL-2.0-or-later
// Schema manometer.compare/1. Every key is always there; what can't be computed is null.
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/internal.h"
#include "report/json_parts.h"
#include "report/published.h"

namespace mano::report {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return nullptr;
    // Counts read better whole, and are exact up to 2^53.
    constexpr double kWhole = 9007199254740992.0;
    if (*value == std::floor(*value) && std::fabs(*value) < kWhole) {
        return static_cast<std::int64_t>(*value);
    }
    return *value;
}

Json text(const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
}

Json interval(const std::optional<stats::Interval>& value) {
    if (!value) return nullptr;
    return Json::array({number(value->first), number(value->second)});
}

namespace {

Json identity(const ReportData& data, const std::string& key) {
    const auto found = data.header.identity.find(key);
    return found == data.header.identity.end() ? Json(nullptr) : text(found->second);
}

// "0.9" is a number, "64KiB" isn't.
Json parameter(const std::string& value) {
    double parsed = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, parsed);
    if (error == std::errc() && stop == end && std::isfinite(parsed)) return number(parsed);
    return value;
}

Json arm_values(const ArmValues& arm) {
    const stats::Summary& summary = arm.summary;
    Json values = Json::array();
    for (const auto& value : arm.values)
        values.push_back(number(value));
    Json json;
    json["n"] = arm.stated && !arm.stated->n ? Json(nullptr) : Json(summary.n);
    json["values"] = std::move(values);
    json["total"] = number(summary.total);
    json["mean"] = number(summary.mean);
    json["median"] = number(summary.median);
    json["zeros"] = summary.n == 0 || arm.stated ? Json(nullptr) : Json(summary.zeros);
    json["stddev_pct"] = number(summary.stddev_pct);
    json["half_range_pct"] = number(summary.half_range_pct);
    json["ci95"] = interval(summary.ci95);
    json["modes"] = nullptr;
    if (arm.modes) {
        json["modes"] =
            Json::array({{{"median", number(arm.modes->low)}, {"n", arm.modes->n_low}},
                         {{"median", number(arm.modes->high)}, {"n", arm.modes->n_high}}});
    }
    json["outlier"] = arm.outlier ? number(arm.outlier->value) : Json(nullptr);
    return json;
}

Json bootstrap(const std::optional<stats::Bootstrap>& value) {
    return value ? interval(value->ci95) : Json(nullptr);
}

// Why an interval that was asked for isn't there.
Json gap(const std::optional<stats::Bootstrap>& value) {
    return value ? text(std::string(stats::sentence_of(value->gap))) : Json(nullptr);
}

Json test(const std::optional<stats::Test>& value) {
    if (!value) return nullptr;
    return {{"test", value->name}, {"p", number(value->p)}};
}

Json paired(const std::optional<stats::Paired>& value) {
    if (!value) return nullptr;
    return {{"pairs", value->pairs}, {"correlation", number(value->correlation)}};
}

Json placebo(const std::optional<Placebo>& value) {
    if (!value) return nullptr;
    return {{"arm", value->arm}, {"shift", number(value->shift)}, {"pct", number(value->pct)}};
}

Json noise(const std::optional<Noise>& value) {
    if (!value) return nullptr;
    return {{"floor", number(value->floor)},
            {"floor_pct", number(value->floor_pct)},
            {"detectable", number(value->detectable)},
            {"detectable_pct", number(value->detectable_pct)}};
}

Json reason(const Reason& value) {
    return {{"code", text(value.code)}, {"text", text(value.text)}};
}

Json change(const MetricRow& row, const Change& each) {
    const stats::Comparison& comparison = each.comparison;
    Json json;
    json["mean_pct"] = number(comparison.mean_pct);
    json["median_pct"] = number(comparison.median_pct);
    json["total_pct"] = number(comparison.total_pct);
    json["shift"] = comparison.shift ? number(comparison.shift->estimate) : Json(nullptr);
    json["shift_ci95"] = comparison.shift ? interval(comparison.shift->ci95) : Json(nullptr);
    json["test"] = comparison.test ? text(comparison.test->name) : Json(nullptr);
    json["p"] = comparison.test ? number(comparison.test->p) : Json(nullptr);
    json["p_adjusted"] = number(comparison.p_adjusted);
    json["family"] = text(comparison.family);
    json["verdict"] = stats::name_of(each.verdict);
    json["reason"] = reason(each.why);
    json["margin_pct"] = row.known ? number(row.metric.margin_pct) : Json(nullptr);
    json["floor"] = row.known ? number(row.metric.floor) : Json(nullptr);
    json["detectable_pct"] = number(comparison.detectable_pct);
    json["detectable"] = number(comparison.detectable);
    json["median_pct_ci95"] = bootstrap(comparison.median_pct_ci95);
    json["median_pct_no_ci"] = gap(comparison.median_pct_ci95);
    json["total_pct_ci95"] = bootstrap(comparison.total_pct_ci95);
    json["total_pct_no_ci"] = gap(comparison.total_pct_ci95);
    json["from_zero"] = comparison.from_zero;
    json["totals_test"] = test(comparison.totals_test);
    json["zeros_test"] = test(comparison.zeros_test);
    json["paired"] = paired(comparison.paired);
    json["placebo"] = placebo(each.placebo);
    json["warnings"] = each.warnings;
    // Only when it was asked for: it is no part of the schema.
    if (each.lkp) json["lkp"] = {{"changed", each.lkp->changed}, {"why", each.lkp->why}};
    return json;
}

Json metric(const ReportData& data, const MetricRow& row) {
    Json json;
    json["name"] = row.metric.name;
    json["unit"] = text(row.metric.unit);
    json["better"] = row.known ? Json(measure::name_of(row.metric.better)) : Json(nullptr);
    json["key"] = row.key;
    json["arms"] = Json::object();
    for (std::size_t i = 0; i < data.arms.size(); ++i) {
        json["arms"][data.arms[i].name] = arm_values(row.arms[i]);
    }
    json["kind"] = row.known ? Json(measure::name_of(row.metric.kind)) : Json(nullptr);
    json["primary"] = row.primary;
    json["not_observable"] = row.not_observable ? Json(*row.not_observable) : Json(nullptr);
    json["noise"] = noise(row.noise);
    json["drift"] = row.drift ? Json({{"spearman", number(row.drift->rho)},
                                      {"p", number(row.drift->p)},
                                      {"change", number(row.drift->change)}})
                              : Json(nullptr);
    json["changes"] = Json::object();
    for (const Change& each : row.changes)
        json["changes"][each.arm] = change(row, each);
    return json;
}

Json by_arm(const ReportData& data, const std::vector<std::string>& values) {
    Json json = Json::object();
    for (std::size_t i = 0; i < data.arms.size() && i < values.size(); ++i) {
        json[data.arms[i].name] = text(values[i]);
    }
    return json;
}

Json case_json(const ReportData& data, const CaseReport& report) {
    Json json;
    json["name"] = report.name;
    json["parameters"] = Json::object();
    for (const auto& [key, value] : report.parameters)
        json["parameters"][key] = parameter(value);
    json["verdicts"] = Json::object();
    for (std::size_t i = 0; i < report.verdicts.size() && i + 1 < data.arms.size(); ++i) {
        json["verdicts"][data.arms[i + 1].name] = {
            {"verdict", stats::name_of(report.verdicts[i])},
            {"reason", i < report.reasons.size() ? reason(report.reasons[i]) : Json(nullptr)}};
    }
    json["metrics"] = Json::array();
    for (const MetricRow& row : report.rows)
        json["metrics"].push_back(metric(data, row));
    json["equivalence"] = Json::array();
    for (const Equivalence& check : report.equivalence) {
        json["equivalence"].push_back({{"check", check.check},
                                       {"values", by_arm(data, check.values)},
                                       {"same", check.same},
                                       {"gate", check.gate}});
    }
    return json;
}

Json arm_json(const ArmReport& arm) {
    Json kernel;
    kernel["release"] = text(arm.release);
    kernel["spec"] = text(arm.spec);
    kernel["config_sha256"] = arm.config_sha256 ? Json(*arm.config_sha256) : Json(nullptr);
    kernel["compiler"] = text(arm.compiler);
    Json json;
    json["name"] = arm.name;
    json["kernel"] = std::move(kernel);
    json["cmdline"] = arm.cmdline;
    // Sums of trials that aren't here: how many there were isn't known.
    json["trials"] = arm.stated && arm.trials == 0 ? Json(nullptr) : Json(arm.trials);
    json["spoiled"] = arm.spoiled;
    json["placebo"] = arm.placebo;
    return json;
}

void add_lists(const ReportData& data, Json& json) {
    for (const char* key : {"warnings", "confounders", "losses", "failed", "spoiled"}) {
        json[key] = Json::array();
    }
    for (const Warning& warning : data.warnings) {
        json["warnings"].push_back(
            {{"code", warning.code}, {"text", warning.text}, {"what_to_do", warning.what_to_do}});
    }
    for (const Confounder& each : data.confounders) {
        json["confounders"].push_back({{"what", each.what}, {"values", by_arm(data, each.values)}});
    }
    for (const LossRow& row : data.losses) {
        json["losses"].push_back({{"arm", row.arm},
                                  {"trial", row.trial},
                                  {"source", row.loss.source},
                                  {"count", row.loss.count},
                                  {"meaning", row.loss.meaning}});
    }
    for (const Mishap& each : data.failed) {
        json["failed"].push_back({{"arm", each.arm},
                                  {"case", each.case_},
                                  {"trial", each.trial},
                                  {"how", each.how},
                                  {"evidence", text(each.evidence)}});
    }
    for (const Mishap& each : data.spoiled) {
        json["spoiled"].push_back(
            {{"arm", each.arm},
             {"case", each.case_},
             {"trial", each.trial},
             {"reason", each.evidence.empty() ? each.how : each.how + ": " + each.evidence}});
    }
}

}  // namespace

std::string render_json(const ReportData& data) {
    const plan::Plan& plan = data.header.plan;
    Json json;
    json["schema"] = "manometer.compare/1";
    json["runset"] = data.header.id;
    json["experiment"] = plan.experiment;
    json["substrate"] = plan.substrate;
    json["accel"] = identity(data, "accel");
    json["qemu"] = identity(data, "qemu");
    json["exact"] = plan.exact;
    json["seeds"] = data.seeds;
    json["paired"] = plan.paired;
    json["base"] = data.base;
    json["arms"] = Json::array();
    for (const ArmReport& arm : data.arms)
        json["arms"].push_back(arm_json(arm));
    json["cases"] = Json::array();
    for (const CaseReport& report : data.cases)
        json["cases"].push_back(case_json(data, report));
    json["noise"] = data.noise ? Json({{"runset", data.noise->runset},
                                       {"started", data.noise->started},
                                       {"trials", data.noise->trials}})
                               : Json(nullptr);
    add_lists(data, json);
    json["published"] = Json::array();
    for (const Published& value : data.published) {
        const auto here = median_here(data, value);
        json["published"].push_back({{"case", text(value.case_)},
                                     {"metric", text(value.metric)},
                                     {"arm", text(value.arm)},
                                     {"value", number(value.value)},
                                     {"here", number(here)},
                                     {"source", text(value.source)}});
    }
    json["verdict"] = stats::name_of(data.verdict);
    // Evidence and facts come from guests: bytes that aren't UTF-8 are replaced, never thrown at.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace mano::report
