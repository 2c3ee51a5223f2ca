// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/noise.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/internal.h"
#include "stats/paired.h"
#include "stats/power.h"

namespace mano::report {
namespace {

constexpr std::size_t kFewest = 4;

// The image's digest; empty where the store doesn't say.
std::string kernel_id(const store::StoredArm& arm) {
    const auto json = nlohmann::json::parse(arm.kernel_json, nullptr, false);
    if (!json.is_object()) return "";
    const auto found = json.find("id");
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<double> known(const std::vector<std::optional<double>>& values) {
    std::vector<double> numbers;
    for (const auto& value : values) {
        if (value) numbers.push_back(*value);
    }
    return numbers;
}

std::vector<std::optional<double>> values_of(const std::vector<FoldedTrial>& trials,
                                             const std::string& metric) {
    std::vector<std::optional<double>> values;
    for (const FoldedTrial& folded : trials) {
        const auto found = folded.values.find(metric);
        values.push_back(found == folded.values.end() ? std::nullopt : found->second);
    }
    return values;
}

std::vector<const plan::KeyMetric*> judged(const plan::Plan& plan) {
    std::vector<const plan::KeyMetric*> keys;
    for (const plan::KeyMetric& key : plan.key_metrics) {
        if (key.primary)
            keys.insert(keys.begin(), &key);
        else
            keys.push_back(&key);
    }
    return keys;
}

}  // namespace

bool is_aa(const store::RunSet& runset) {
    const plan::Plan& plan = runset.plan;
    if (plan.arms.size() < 2 || plan.shared_seeds || runset.arms.size() != plan.arms.size()) {
        return false;
    }
    const std::string id = kernel_id(runset.arms.front());
    for (std::size_t i = 0; i < plan.arms.size(); ++i) {
        const plan::Arm& arm = plan.arms[i];
        if (id.empty() || kernel_id(runset.arms[i]) != id || arm.placebo ||
            arm.cmdline != plan.arms[0].cmdline || arm.settings != plan.arms[0].settings) {
            return false;
        }
    }
    return true;
}

bool same_ground(const store::RunSet& earlier, const plan::Plan& plan,
                 const std::map<std::string, std::string>& identity) {
    const plan::Plan& before = earlier.plan;
    const auto iterations = [](const plan::Plan& of) {
        return of.cases.empty() ? 0U : of.cases[0].trial.iterations;
    };
    return before.experiment == plan.experiment &&
           before.experiment_sha256 == plan.experiment_sha256 && before.exact == plan.exact &&
           before.shape == plan.shape && iterations(before) == iterations(plan) &&
           (identity.empty() || earlier.identity == identity);
}

Result<std::vector<Spread>> spreads(const store::RunSet& runset) {
    MANO_ASSIGN(const Collected collected, collect(runset, {}));
    std::vector<Spread> result;
    for (std::size_t c = 0; c < collected.cases.size(); ++c) {
        for (const plan::KeyMetric* key : judged(runset.plan)) {
            std::vector<std::vector<double>> arms;
            std::vector<double> all;
            for (const auto& trials : collected.cells[c]) {
                arms.push_back(known(values_of(trials, key->metric.name)));
                all.insert(all.end(), arms.back().begin(), arms.back().end());
            }
            if (all.size() < kFewest) continue;
            Spread spread;
            spread.case_ = runset.plan.cases[collected.cases[c]].name;
            spread.metric = key->metric.name;
            spread.unit = key->metric.unit;
            spread.primary = key->primary;
            spread.trials = all.size();
            spread.median = stats::median(all).value_or(0);
            spread.floor = key->metric.floor;
            spread.margin = std::max(key->metric.margin_pct / 100 * std::fabs(spread.median),
                                     key->metric.floor);
            spread.pool = stats::pooled_spread(arms);
            result.push_back(std::move(spread));
        }
    }
    return result;
}

Resolution resolution(const Spread& spread, std::size_t n, double alpha) {
    return {n, stats::noise_floor(spread.pool, n, n),
            stats::detectable_shift(spread.pool, n, n, alpha)};
}

Result<std::optional<SeedCorrelation>> seed_correlation(const store::RunSet& runset) {
    using Answer = std::optional<SeedCorrelation>;
    if (!runset.plan.shared_seeds || runset.plan.arms.size() < 2) return Answer();
    MANO_ASSIGN(const Collected collected, collect(runset, {}));
    const auto keys = judged(runset.plan);
    if (keys.empty()) return Answer();
    std::vector<std::pair<std::vector<double>, std::vector<double>>> groups;
    SeedCorrelation answer;
    for (const plan::KeyMetric* key : keys) {
        if (!key->primary && keys.front()->primary) continue;
        for (const auto& cell : collected.cells) {
            const auto base = values_of(cell[0], key->metric.name);
            for (std::size_t arm = 1; arm < cell.size(); ++arm) {
                const auto other = values_of(cell[arm], key->metric.name);
                auto& [a, b] = groups.emplace_back();
                for (std::size_t i = 0; i < base.size(); ++i) {
                    for (std::size_t j = 0; j < other.size(); ++j) {
                        const bool pair =
                            cell[0][i].trial->planned.seed == cell[arm][j].trial->planned.seed &&
                            base[i] && other[j];
                        if (!pair) continue;
                        a.push_back(*base[i]);
                        b.push_back(*other[j]);
                    }
                }
                answer.pairs += a.size();
            }
        }
    }
    const stats::Correlation found = stats::correlation(groups);
    if (!found.rho) return Answer();
    answer.rho = *found.rho;
    answer.p = found.p;
    return Answer(answer);
}

Precision precision(const ReportData& data) {
    Precision result;
    result.widest_pct = 0;
    for (const CaseReport& report : data.cases) {
        for (const MetricRow& row : report.rows) {
            if (!row.key || row.metric.name == kFailedMetric || row.not_observable) continue;
            for (std::size_t i = 0; i < row.changes.size(); ++i) {
                const stats::Comparison& comparison = row.changes[i].comparison;
                const auto& shift = comparison.shift;
                const double scale = std::fabs(row.arms[0].summary.median.value_or(0));
                std::optional<double> half;
                if (shift && shift->ci95) half = (shift->ci95->second - shift->ci95->first) / 2;
                // Within its floor a metric is as well known as it matters.
                if (half && *half <= row.metric.floor) continue;
                if (!half || (scale == 0 && *half > 0)) {
                    return {std::nullopt, row.metric.name, report.name};
                }
                const double pct = *half == 0 ? 0 : 100 * *half / scale;
                if (pct > *result.widest_pct) result = {pct, row.metric.name, report.name};
            }
        }
    }
    return result;
}

Status quote_noise(const store::RunSet& aa, ReportData& data) {
    MANO_ASSIGN(const std::vector<Spread> known_spreads, spreads(aa));
    NoiseSource source{aa.id, aa.started, 0};
    for (CaseReport& report : data.cases) {
        for (MetricRow& row : report.rows) {
            const auto found =
                std::find_if(known_spreads.begin(), known_spreads.end(), [&](const Spread& spread) {
                    return spread.case_ == report.name && spread.metric == row.metric.name;
                });
            if (found == known_spreads.end() || row.changes.empty()) continue;
            const std::size_t n = row.arms[0].summary.n;
            const std::size_t m = row.arms[1].summary.n;
            const auto floor = stats::noise_floor(found->pool, n, m);
            if (!floor) continue;
            Noise noise;
            noise.floor = *floor;
            noise.detectable = stats::detectable_shift(found->pool, n, m, data.header.plan.alpha);
            const double scale = std::fabs(row.arms[0].summary.median.value_or(0));
            if (scale > 0) {
                noise.floor_pct = 100 * noise.floor / scale;
                if (noise.detectable) noise.detectable_pct = 100 * *noise.detectable / scale;
            }
            row.noise = noise;
            source.trials = std::max<std::uint64_t>(source.trials, found->trials);
        }
    }
    if (source.trials > 0) data.noise = source;
    return {};
}

}  // namespace mano::report
