// SPDX-License-Identifier: GPL-2.0-or-later
// plan: what `run` would do, in order, and how long that may take. Runs and downloads nothing.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "runner/estimate.h"
#include "store/store.h"
#include "substrate/guest/guest.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    RunOptions run;
    std::string store, jobs;
    bool json = false;
};

struct ArmKernel {
    std::optional<kernels::Kernel> kernel;  // nullopt: not cached, or not to be had
    std::string problem;
};

// Without the network; the plan's SPECs become exact where the kernel is cached, as in a run.
std::vector<ArmKernel> look_for_kernels(plan::Plan& plan) {
    kernels::Options how;
    how.cache = cache_folder();
    how.offline = true;
    std::vector<ArmKernel> found;
    for (plan::Arm& arm : plan.arms) {
        auto kernel = kernels::resolve(arm.kernel_spec, how);
        if (!kernel) {
            found.push_back({std::nullopt, kernel.error().text()});
            continue;
        }
        if (!kernel->provenance.exact_spec.empty()) arm.kernel_spec = kernel->provenance.exact_spec;
        found.push_back({std::move(*kernel), ""});
    }
    return found;
}

struct Time {
    double seconds = -1;  // < 0: unknown
    std::string source;   // the run set it comes from
};

std::uint32_t index_of_case(const plan::Plan& plan, const std::string& name) {
    for (std::uint32_t i = 0; i < plan.cases.size(); ++i) {
        if (plan.cases[i].name == name) return i;
    }
    return static_cast<std::uint32_t>(plan.cases.size());
}

std::uint32_t index_of_arm(const plan::Plan& plan, const std::string& spec) {
    for (std::uint32_t i = 0; i < plan.arms.size(); ++i) {
        if (plan.arms[i].kernel_spec == spec) return i;
    }
    return static_cast<std::uint32_t>(plan.arms.size());
}

// The trials of an earlier run set, under this plan's numbers of arms and cases.
runner::Estimate times_of(const store::RunSet& earlier, const plan::Plan& plan, bool& any) {
    runner::Estimate estimate;
    for (const store::StoredTrial& trial : earlier.trials) {
        if (!trial.done || trial.record.host_ns == 0) continue;
        plan::PlannedTrial as = trial.planned;
        as.case_ = index_of_case(plan, earlier.plan.cases.at(trial.planned.case_).name);
        as.arm = index_of_arm(plan, earlier.plan.arms.at(trial.planned.arm).kernel_spec);
        estimate.ended(as, static_cast<double>(trial.record.host_ns) / 1e9);
        any = true;
    }
    return estimate;
}

// From the newest run set of the same experiment in the same mode and shape.
Time estimate_time(const plan::Plan& plan, const std::filesystem::path& path, unsigned jobs) {
    auto store = store::Store::open(path, true);
    if (!store) return {};
    const auto runsets = store->list();
    if (!runsets) return {};
    constexpr std::size_t kLookedAt = 20;
    std::size_t looked_at = 0;
    for (const store::Summary& each : *runsets) {
        if (each.experiment != plan.experiment || each.trials == 0) continue;
        if (++looked_at > kLookedAt) break;
        const auto earlier = store->load(each.id, false, false);
        if (!earlier || earlier->plan.exact != plan.exact || earlier->plan.shape != plan.shape) {
            continue;
        }
        bool any = false;
        const runner::Estimate estimate = times_of(*earlier, plan, any);
        if (any) return {estimate.seconds_left(plan.trials, {}, jobs), each.id};
    }
    return {};
}

std::string seeds_text(const plan::Plan& plan) {
    const std::uint64_t rows = plan.shared_seeds
                                   ? plan.trials_per_cell
                                   : std::uint64_t{plan.trials_per_cell} * plan.arms.size();
    const std::string row =
        rows == 1 ? fmt::format("seed {}", plan.first_seed)
                  : fmt::format("seeds {} to {}", plan.first_seed, plan.first_seed + rows - 1);
    return fmt::format("{}, {}", row,
                       plan.shared_seeds ? "the same in all arms" : "none in common between arms");
}

std::string to_text(const Planned& planned, const std::vector<ArmKernel>& kernels, const Time& time,
                    unsigned jobs) {
    const plan::Plan& plan = planned.plan;
    std::string text = fmt::format("{}: {}\n", plan.experiment, planned.experiment.title);
    text += fmt::format(
        "guest: {} CPU{}, {}, {}{}\n", plan.shape.cpus, plan.shape.cpus == 1 ? "" : "s",
        show_bytes(plan.shape.memory_bytes),
        plan.shape.zram_bytes == 0 ? "no swap" : "zram " + show_bytes(plan.shape.zram_bytes),
        plan.exact ? ", exact" : "");
    for (std::size_t i = 0; i < plan.arms.size(); ++i) {
        const plan::Arm& arm = plan.arms[i];
        text +=
            fmt::format("arm {}{}: {}, {}\n", arm.name, i == 0 ? " (base)" : "", arm.kernel_spec,
                        kernels[i].kernel ? "cached: " + kernels[i].kernel->provenance.release
                                          : "not cached: " + kernels[i].problem);
    }
    text +=
        fmt::format("{} trials: {} arms x {} cases x {}; {}\n", plan.trials.size(),
                    plan.arms.size(), plan.cases.size(), plan.trials_per_cell, seeds_text(plan));
    text += fmt::format("plan {}\n\n", plan::hash(plan));
    std::vector<std::vector<std::string>> rows{{"trial", "arm", "case", "seed"}};
    for (const plan::PlannedTrial& trial : plan.trials) {
        rows.push_back({fmt::format("{}", trial.position), plan.arms[trial.arm].name,
                        plan.cases[trial.case_].name.empty() ? "-" : plan.cases[trial.case_].name,
                        fmt::format("{}", trial.seed)});
    }
    text += columns(rows, {0, 3});
    text += time.seconds < 0 ? std::string("\ntime: unknown until a first trial\n")
                             : fmt::format("\ntime: about {}, {} at once (as trials took in {})\n",
                                           show_seconds(time.seconds), jobs, time.source);
    return printable(text);
}

json to_json(const plan::Plan& plan, const std::vector<ArmKernel>& kernels, const Time& time) {
    json arms = json::array();
    for (std::size_t i = 0; i < plan.arms.size(); ++i) {
        const auto& kernel = kernels[i].kernel;
        arms.push_back({{"arm", plan.arms[i].name},
                        {"spec", plan.arms[i].kernel_spec},
                        {"cached", kernel.has_value()},
                        {"release", kernel ? json(kernel->provenance.release) : json(nullptr)}});
    }
    return {{"schema", "manometer.plan/1"},
            {"hash", plan::hash(plan)},
            {"estimated_seconds", time.seconds < 0 ? json(nullptr) : json(time.seconds)},
            {"estimated_from", time.seconds < 0 ? json(nullptr) : json(time.source)},
            {"kernels", arms},
            {"plan", json::parse(plan::to_json(plan))}};
}

Result<int> show_plan(const Options& options, const Call& call) {
    MANO_ASSIGN(Planned planned, make_plan(options.run, call.after_dashes));
    plan::Plan& plan = planned.plan;
    const std::vector<ArmKernel> kernels = look_for_kernels(plan);
    std::vector<std::string> ids;
    for (const ArmKernel& each : kernels)
        ids.push_back(each.kernel ? each.kernel->id : "");
    separate_equal_arms(options.run, plan, ids);
    std::uint64_t wanted = plan.exact ? std::max(1U, std::thread::hardware_concurrency()) : 1;
    if (!options.jobs.empty()) {
        MANO_ASSIGN(wanted, parse_count("--jobs", options.jobs, 1, 256));
    }
    const substrate::guest::GuestSubstrate guests({});
    const unsigned jobs = guests.jobs(plan, static_cast<unsigned>(wanted)).first;
    const Time time = estimate_time(plan, store_path(options.store), jobs);
    if (options.json) {
        const json value = to_json(plan, kernels, time);
        MANO_TRY(print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    } else {
        MANO_TRY(print(to_text(planned, kernels, time, jobs)));
    }
    return 0;
}

}  // namespace

void add_plan(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("plan", "what a run would do, in order; runs nothing");
    auto options = std::make_shared<Options>();
    declare_run_options(*verb, options->run);
    verb->add_option("--jobs", options->jobs, "trials at once, for the time");
    declare_store(*verb, options->store);
    verb->add_flag("--json", options->json, "the whole plan as JSON");
    verb->footer(
        "\nTakes the options of `run`, looks at nothing but the cache, and downloads "
        "nothing. The plan's\nhash is the one that the run will be stored with.\n\n"
        "Example: manometer plan mthp-fault -k debian:7.1 -k debian:7.3 --cases 95%\n\n"
        "Exit codes: 0; 1 usage or invalid input.\n");
    verb->callback([options, chosen] {
        *chosen = [options](const Call& call) { return show_plan(*options, call); };
    });
}

}  // namespace mano::cli
