// SPDX-License-Identifier: GPL-2.0-or-later
// plan: what `run` would do, in order, and how long that may take. Runs and downloads nothing.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/evidence.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/verb.h"
#include "kernels/lab_spec.h"
#include "report/noise.h"
#include "runner/estimate.h"
#include "stats/power.h"
#include "store/store.h"
#include "substrate/guest/guest.h"
#include "substrate/live/live.h"
#include "substrate/model/model.h"

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
// What isn't a SPEC at all is an error; what isn't there yet is not.
Result<std::vector<ArmKernel>> look_for_kernels(plan::Plan& plan) {
    kernels::Options how;
    how.cache = cache_folder();
    how.offline = true;
    std::vector<ArmKernel> found;
    for (plan::Arm& arm : plan.arms) {
        auto kernel = resolve_spec(plan.substrate, arm.kernel_spec, how);
        const bool to_be_had =
            kernels::looks_like_lab_spec(arm.kernel_spec) || arm.kernel_spec.starts_with("debian:");
        if (!kernel && (kernel.error().code == Code::invalid || !to_be_had)) {
            return wrap(kernel.error(), "kernel of arm {}", arm.name);
        }
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

// What this number of trials will show of a key metric, by an earlier run set's spread.
struct Expected {
    report::Spread spread;
    std::optional<double> detectable;
    std::optional<std::size_t> for_margin, for_until;
};
struct Outlook {
    std::string source;  // the run set; empty: none
    std::vector<Expected> metrics;
};

Outlook look_ahead(const plan::Plan& plan, store::Store& store) {
    const auto earlier = find_earlier(store, plan, {});
    if (!earlier) return {};
    const auto spreads = report::spreads(*earlier);
    if (!spreads) return {};
    Outlook outlook{earlier->id, {}};
    const double alpha =
        plan.alpha / static_cast<double>(std::max<std::size_t>(1, plan.looks.size()));
    const std::size_t n = plan.looks.empty() ? plan.trials_per_cell : plan.looks.front();
    for (const report::Spread& spread : *spreads) {
        if (index_of_case(plan, spread.case_) >= plan.cases.size()) continue;
        Expected expected{spread, report::resolution(spread, n, alpha).detectable,
                          stats::trials_to_detect(spread.pool, spread.margin, alpha), std::nullopt};
        if (plan.until_pct > 0) {
            expected.for_until = stats::trials_for_width(
                spread.pool,
                std::max(plan.until_pct / 100 * std::fabs(spread.median), spread.floor));
        }
        outlook.metrics.push_back(std::move(expected));
    }
    return outlook;
}

std::string outlook_text(const plan::Plan& plan, const Outlook& outlook) {
    if (outlook.metrics.empty()) {
        return "precision: unknown until a first run set of this experiment in this mode and "
               "shape\n";
    }
    const auto trials = [](const std::optional<std::size_t>& count) {
        return count ? fmt::format("{}", *count) : std::string("-");
    };
    const std::size_t n = plan.looks.empty() ? plan.trials_per_cell : plan.looks.front();
    std::vector<std::vector<std::string>> rows{{fmt::format("precision, from {}", outlook.source),
                                                fmt::format("found at {}", n),
                                                "trials for margin"}};
    if (plan.until_pct > 0) rows[0].push_back(fmt::format("trials for +-{:g}%", plan.until_pct));
    for (const Expected& each : outlook.metrics) {
        const double scale = std::fabs(each.spread.median);
        const std::string found = !each.detectable ? "-"
                                  : scale > 0
                                      ? fmt::format("{:.2g}%", 100 * *each.detectable / scale)
                                      : fmt::format("{:.3g}", *each.detectable);
        rows.push_back({(each.spread.case_.empty() ? "" : each.spread.case_ + " ") +
                            each.spread.metric + (each.spread.primary ? " *" : ""),
                        found, trials(each.for_margin)});
        if (plan.until_pct > 0) rows.back().push_back(trials(each.for_until));
    }
    return columns(rows, {1, 2, 3}) +
           fill(
               "Found: the smallest change that 80 of 100 such runs would find. Trials an arm and "
               "case to find one of the size of the metric's margin or floor; -: more than 10,000.",
               0);
}

json outlook_json(const Outlook& outlook) {
    if (outlook.metrics.empty()) return nullptr;
    const auto number = [](const auto& value) { return value ? json(*value) : json(nullptr); };
    json metrics = json::array();
    for (const Expected& each : outlook.metrics) {
        metrics.push_back({{"case", each.spread.case_},
                           {"metric", each.spread.metric},
                           {"median", each.spread.median},
                           {"margin", each.spread.margin},
                           {"detectable", number(each.detectable)},
                           {"trials_for_margin", number(each.for_margin)},
                           {"trials_for_until", number(each.for_until)}});
    }
    return {{"from", outlook.source}, {"metrics", metrics}};
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
                    const Outlook& outlook, const std::string& pairs, unsigned jobs) {
    const plan::Plan& plan = planned.plan;
    std::string text = fmt::format("{}: {}\n", plan.experiment, planned.experiment.title);
    const bool live = plan.substrate == "live";
    if (live) text += fmt::format("live: this host, {} CPUs\n", plan.shape.cpus);
    text +=
        live ? std::string()
             : fmt::format("{}: {} CPU{}, {}, {}{}\n", plan.substrate, plan.shape.cpus,
                           plan.shape.cpus == 1 ? "" : "s", show_bytes(plan.shape.memory_bytes),
                           plan.shape.zram_bytes == 0 ? "no swap"
                                                      : "zram " + show_bytes(plan.shape.zram_bytes),
                           plan.exact ? ", exact" : "");
    for (std::size_t i = 0; i < plan.arms.size(); ++i) {
        const plan::Arm& arm = plan.arms[i];
        text +=
            fmt::format("arm {}{}: {}, {}\n", arm.name, i == 0 ? " (base)" : "", arm.kernel_spec,
                        plan.substrate == "model" ? std::string("simulated")
                        : live                    ? std::string("running here")
                        : kernels[i].kernel ? "cached: " + kernels[i].kernel->provenance.release
                                            : "not cached: " + kernels[i].problem);
    }
    text +=
        fmt::format("{} trials: {} arms x {} cases x {}; {}\n",
                    plan.trials_per_cell * plan.arms.size() * plan.cases.size(), plan.arms.size(),
                    plan.cases.size(), plan.trials_per_cell, seeds_text(plan));
    if (plan.traced_per_cell > 0) {
        text += fmt::format("and {} for attribution: {} of each, the last ones\n",
                            plan.traced_per_cell * plan.arms.size() * plan.cases.size(),
                            plan.traced_per_cell);
    }
    if (!plan.looks.empty()) {
        std::string looks;
        for (const std::uint32_t look : plan.looks)
            looks += fmt::format("{}{}", looks.empty() ? "" : ", ", look);
        text += fill(fmt::format("at most: ends once the key metrics' 95% intervals are within "
                                 "+-{:g}%, looked at after {} trials of each",
                                 plan.until_pct, looks),
                     0);
    }
    if (!pairs.empty()) text += fill(pairs, 0);
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
    text += "\n" + outlook_text(plan, outlook);
    return printable(text);
}

json to_json(const plan::Plan& plan, const std::vector<ArmKernel>& kernels, const Time& time,
             const Outlook& outlook) {
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
            {"precision", outlook_json(outlook)},
            {"kernels", arms},
            {"plan", json::parse(plan::to_json(plan))}};
}

Result<int> show_plan(Options options, const Call& call) {
    kernels::Options known;
    known.cache = cache_folder();
    known.offline = true;
    MANO_TRY(expand_ranges(options.run, known));
    MANO_ASSIGN(Planned planned, make_plan(options.run, call.after_dashes));
    plan::Plan& plan = planned.plan;
    MANO_ASSIGN(const std::vector<ArmKernel> kernels, look_for_kernels(plan));
    std::vector<std::string> ids;
    ids.reserve(kernels.size());
    for (const ArmKernel& each : kernels)
        ids.push_back(each.kernel ? each.kernel->id : "");
    separate_equal_arms(options.run, plan, ids);
    const bool model = plan.substrate == "model";
    std::uint64_t wanted =
        plan.exact || model ? std::max(1U, std::thread::hardware_concurrency()) : 1;
    if (!options.jobs.empty()) {
        MANO_ASSIGN(wanted, parse_count("--jobs", options.jobs, 1, 256));
    }
    const substrate::guest::GuestSubstrate guests({});
    const substrate::model::ModelSubstrate models;
    const substrate::live::LiveSubstrate live({});
    const substrate::Substrate& where = model ? static_cast<const substrate::Substrate&>(models)
                                        : plan.substrate == "live"
                                            ? static_cast<const substrate::Substrate&>(live)
                                            : guests;
    const unsigned jobs = where.jobs(plan, static_cast<unsigned>(wanted)).first;
    const Time time = estimate_time(plan, store_path(options.store), jobs);
    Outlook outlook;
    std::string pairs;
    if (auto store = store::Store::open(store_path(options.store), true)) {
        pairs = settle_pairs(*store, plan);
        outlook = look_ahead(plan, *store);
    } else {
        plan.paired = false;
    }
    if (options.json) {
        const json value = to_json(plan, kernels, time, outlook);
        MANO_TRY(print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    } else {
        MANO_TRY(print(to_text(planned, kernels, time, outlook, pairs, jobs)));
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
