// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner/runner.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "runner/crew.h"
#include "runner/proof.h"

namespace mano::runner {

namespace {

// Exact results hold for one machine, QEMU and accelerator: a run set must not mix two.
Status same_machine(const store::RunSet& runset, const substrate::Identity& here) {
    std::string differences;
    for (const auto& [key, value] : here) {
        const auto before = runset.identity.find(key);
        if (before == runset.identity.end() || before->second == value) continue;
        if (!differences.empty()) differences += ", ";
        differences += fmt::format("{} was {} and is {}", key, before->second, value);
    }
    if (differences.empty()) return {};
    return fail(Code::environment,
                "run set {} can't go on here, since its trials would come from two different "
                "machines: {}. Go on where it began, or start a new run",
                runset.id, differences);
}

// The trials of the first `rows` rows of each arm and case that aren't done.
Result<Outcome> run_stage(store::Store& store, const store::RunSet& runset,
                          substrate::Substrate& substrate,
                          const std::vector<kernels::Kernel>& kernels, const Options& options,
                          std::uint32_t rows) {
    MANO_ASSIGN(Proofs proofs, Proofs::parse(runset.plan));
    const auto left = static_cast<unsigned>(
        std::count_if(runset.trials.begin(), runset.trials.end(),
                      [&](const auto& trial) { return !trial.done && trial.planned.row < rows; }));
    const unsigned wanted = std::clamp(options.jobs, 1U, std::max(1U, left));
    const auto [possible, why] = substrate.jobs(runset.plan, wanted);
    const unsigned jobs = std::clamp(possible, 1U, wanted);
    Crew crew(store, runset, substrate, kernels, options, left == 0 ? 0 : jobs, std::move(proofs),
              rows);
    if (jobs < wanted)
        crew.note(fmt::format("{} trials at once instead of {}: {}", jobs, wanted, why));
    return crew.run();
}

Result<Outcome> run_rest(store::Store& store, const store::RunSet& runset,
                         substrate::Substrate& substrate,
                         const std::vector<kernels::Kernel>& kernels, const Options& options) {
    if (kernels.size() != runset.plan.arms.size()) {
        return fail(Code::internal, "run set {} has {} arms, but {} kernels are given", runset.id,
                    runset.plan.arms.size(), kernels.size());
    }
    MANO_TRY(same_machine(runset, substrate.identity()));
    std::vector<std::uint32_t> looks = runset.plan.looks;
    if (looks.empty()) looks = {runset.plan.trials_per_cell};
    store::RunSet current = runset;
    for (std::size_t i = 0;; ++i) {
        const bool last = i + 1 == looks.size();
        // The last stage takes all that is left, whatever its number: a stored plan may be odd.
        const std::uint32_t rows = last ? std::numeric_limits<std::uint32_t>::max() : looks[i];
        MANO_ASSIGN(const Outcome outcome,
                    run_stage(store, current, substrate, kernels, options, rows));
        if (last || outcome.interrupted) return outcome;
        if (!options.enough) continue;
        MANO_ASSIGN(const bool enough, options.enough(looks[i]));
        if (enough) {
            MANO_TRY(store.complete(runset.id, true));
            return outcome;
        }
        MANO_ASSIGN(current, store.load(runset.id, false, false));
    }
}

}  // namespace

Result<Outcome> execute(store::Store& store, const std::string& runset,
                        substrate::Substrate& substrate,
                        const std::vector<kernels::Kernel>& kernels, const Options& options) {
    try {
        MANO_ASSIGN(const Fd claim, store.claim(runset));
        MANO_ASSIGN(const store::RunSet loaded, store.load(runset, false, false));
        return run_rest(store, loaded, substrate, kernels, options);
    } catch (const std::exception& error) {
        return fail(Code::internal, "running {}: {}", runset, error.what());
    }
}

}  // namespace mano::runner
