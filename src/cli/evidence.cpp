// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/evidence.h"

#include <functional>

namespace mano::cli {
namespace {

constexpr std::size_t kLookedAt = 40;

// Newest first, without samples, until `wanted` says yes; then with samples.
std::optional<store::RunSet> find(store::Store& store, const std::string& experiment,
                                  const std::function<bool(const store::RunSet&)>& wanted) {
    const auto runsets = store.list();
    if (!runsets) return std::nullopt;
    std::size_t looked_at = 0;
    for (const store::Summary& each : *runsets) {
        if (each.experiment != experiment || each.trials == 0) continue;
        if (++looked_at > kLookedAt) break;
        const auto header = store.load(each.id, false, false);
        if (!header || !wanted(*header)) continue;
        auto whole = store.load(each.id, true, false);
        if (whole) return std::move(*whole);
    }
    return std::nullopt;
}

}  // namespace

std::optional<store::RunSet> find_aa(store::Store& store, const store::RunSet& runset) {
    return find(store, runset.plan.experiment, [&](const store::RunSet& other) {
        return other.id != runset.id && report::is_aa(other) &&
               report::same_ground(other, runset.plan, runset.identity);
    });
}

std::optional<store::RunSet> find_earlier(store::Store& store, const plan::Plan& plan,
                                          const std::map<std::string, std::string>& identity) {
    const auto on_ground = [&](const store::RunSet& other) {
        return report::same_ground(other, plan, identity);
    };
    auto aa = find(store, plan.experiment, [&](const store::RunSet& other) {
        return report::is_aa(other) && on_ground(other);
    });
    return aa ? std::move(aa) : find(store, plan.experiment, on_ground);
}

std::string settle_pairs(store::Store& store, plan::Plan& plan) {
    constexpr double kLeast = 0.3;
    constexpr double kAlpha = 0.05;
    constexpr std::size_t kPairs = 8;
    if (!plan.paired) return "";
    plan.paired = false;
    plan.paired_because.clear();
    if (!plan.shared_seeds) return "no pairs: the arms have no seed in common";
    const auto earlier = find(store, plan.experiment, [&](const store::RunSet& other) {
        return other.plan.shared_seeds && other.plan.arms.size() > 1 &&
               report::same_ground(other, plan, {});
    });
    if (!earlier) return "no pairs: no earlier run set shows whether equal seeds correlate";
    const auto found = report::seed_correlation(*earlier);
    if (!found || !*found)
        return "no pairs: run set " + earlier->id + " has no values to correlate";
    const report::SeedCorrelation& seen = **found;
    const std::string words = fmt::format(
        "correlation {:.2f} (Spearman, p {:.2g}) over {} pairs in "
        "run set {}",
        seen.rho, seen.p, seen.pairs, earlier->id);
    if (seen.rho < kLeast || seen.p > kAlpha || seen.pairs < kPairs) return "no pairs: " + words;
    plan.paired = true;
    plan.paired_because = words;
    return "equal seeds are compared in pairs: " + words;
}

}  // namespace mano::cli
