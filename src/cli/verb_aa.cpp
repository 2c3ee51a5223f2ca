// SPDX-License-Identifier: GPL-2.0-or-later
// aa: one kernel against itself, with no seed in common: how far equal kernels lie apart here, and
// what change of each key metric would be found. Later comparisons quote it.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/evidence.h"
#include "cli/output.h"
#include "cli/run_session.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "stats/power.h"

namespace mano::cli {
namespace {

using nlohmann::json;

struct Options {
    RunVerbOptions run;
    std::string of;
};

constexpr std::array<std::size_t, 3> kSizes{6, 12, 24};  // what fits into 80 columns

json number(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

json count(const std::optional<std::size_t>& value) {
    return value ? json(*value) : json(nullptr);
}

json spread_json(const report::Spread& spread, double alpha) {
    json sizes = json::array();
    for (const std::size_t n : kSizes) {
        const report::Resolution at = report::resolution(spread, n, alpha);
        sizes.push_back({{"trials", n},
                         {"noise_floor", number(at.floor)},
                         {"detectable", number(at.detectable)}});
    }
    return {
        {"case", spread.case_},
        {"metric", spread.metric},
        {"unit", spread.unit},
        {"primary", spread.primary},
        {"trials", spread.trials},
        {"median", spread.median},
        {"margin", spread.margin},
        {"by_trials", sizes},
        {"trials_for_margin", count(stats::trials_to_detect(spread.pool, spread.margin, alpha))}};
}

// In % of the median, or in the unit where that is 0.
std::string size_text(const report::Spread& spread, const std::optional<double>& value) {
    if (!value) return "-";
    if (spread.median == 0) return fmt::format("{:.3g}", *value);
    return fmt::format("{:.2g}%", 100 * *value / std::fabs(spread.median));
}

std::vector<std::string> spread_cells(const report::Spread& spread, double alpha) {
    std::vector<std::string> cells{(spread.case_.empty() ? "" : spread.case_ + " ") +
                                       spread.metric + (spread.primary ? " *" : ""),
                                   fmt::format("{:.4g}", spread.median)};
    for (const std::size_t n : kSizes) {
        const report::Resolution at = report::resolution(spread, n, alpha);
        cells.push_back(size_text(spread, at.floor) + " / " + size_text(spread, at.detectable));
    }
    const auto needed = stats::trials_to_detect(spread.pool, spread.margin, alpha);
    cells.push_back(needed ? fmt::format("{}", *needed) : "-");
    return cells;
}

// Key metrics that were told apart although nothing differs.
std::vector<std::string> told_apart(const report::ReportData& data) {
    std::vector<std::string> names;
    for (const report::CaseReport& report : data.cases) {
        for (const report::MetricRow& row : report.rows) {
            for (const report::Change& change : row.changes) {
                const bool told = change.verdict == stats::Verdict::better ||
                                  change.verdict == stats::Verdict::worse;
                if (row.key && told) {
                    names.push_back((report.name.empty() ? "" : report.name + " ") +
                                    row.metric.name);
                }
            }
        }
    }
    return names;
}

std::string to_text(const store::RunSet& runset, const report::ReportData& data,
                    const std::vector<report::Spread>& spreads,
                    const std::vector<std::string>& apart) {
    const plan::Plan& plan = runset.plan;
    std::string text =
        fmt::format("{}, A/A on {} ({}): {} trials, no seed in common{}\n", plan.experiment,
                    data.arms[0].release, data.arms[0].spec,
                    data.arms[0].trials + data.arms[1].trials, plan.exact ? ", exact" : "");
    if (apart.empty()) {
        text += "told apart: nothing, as it should be\n\n";
    } else {
        std::string names;
        for (const std::string& name : apart)
            names += (names.empty() ? "" : ", ") + name;
        text += fill(fmt::format("told apart although nothing differs: {}. In one of twenty A/A "
                                 "runs that is chance: run another. If it stays, distrust what "
                                 "this experiment says here",
                                 names),
                     0) +
                "\n";
    }
    std::vector<std::vector<std::string>> rows{{"noise / found", "median"}};
    for (const std::size_t n : kSizes)
        rows[0].push_back(fmt::format("at {}", n));
    rows[0].emplace_back("for margin");
    for (const report::Spread& spread : spreads)
        rows.push_back(spread_cells(spread, plan.alpha));
    text += columns(rows, {1, 2, 3, 4, 5});
    text += "\n" + fill(
                       "Noise: equal kernels differ by up to so much in 95 of 100 comparisons. "
                       "Found: a change of so much is seen in 80 of 100. Both at so many trials an "
                       "arm, in % of the median (in the unit where that is 0). For margin: trials "
                       "an arm that find a change of the size of the metric's margin or floor. "
                       "* primary.",
                       0);
    text += "run set " + runset.id + ": quoted in later comparisons of this experiment here\n";
    return printable(text);
}

Result<int> print_noise(const store::RunSet& runset, bool as_json) {
    if (!report::is_aa(runset)) {
        return fail(Code::invalid,
                    "run set {} is no A/A run: expected one kernel in every arm and no seed in "
                    "common, as `manometer aa` makes it",
                    runset.id);
    }
    MANO_ASSIGN(const report::ReportData data, report::build(runset, {}));
    MANO_ASSIGN(const std::vector<report::Spread> spreads, report::spreads(runset));
    const std::vector<std::string> apart = told_apart(data);
    if (as_json) {
        json metrics = json::array();
        for (const report::Spread& spread : spreads)
            metrics.push_back(spread_json(spread, runset.plan.alpha));
        const json value{{"schema", "manometer.aa/1"},
                         {"runset", runset.id},
                         {"experiment", runset.plan.experiment},
                         {"exact", runset.plan.exact},
                         {"release", data.arms[0].release},
                         {"verdict", stats::name_of(data.verdict)},
                         {"told_apart", apart},
                         {"metrics", metrics}};
        MANO_TRY(print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"));
    } else {
        MANO_TRY(print(to_text(runset, data, spreads, apart)));
    }
    if (spreads.empty()) return 3;
    return apart.empty() ? 0 : 4;
}

Result<int> aa(const Options& options, const Call& call) {
    MANO_ASSIGN(const Format format, chosen_format(options.run.format));
    if (format->name != "text" && format->name != "json") {
        return fail(Code::invalid, "aa: --format expects text or json");
    }
    const bool as_json = format->name == "json";
    if (!options.of.empty()) {
        if (!options.run.run.experiment.empty() || !options.run.run.kernels.empty()) {
            return fail(Code::invalid,
                        "--of {}: is printed as it is stored, expected no experiment "
                        "and no kernel beside it",
                        options.of);
        }
        MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.run.store), true));
        MANO_ASSIGN(const store::RunSet runset, store.load(options.of, true, false));
        return print_noise(runset, as_json);
    }
    catch_signals();
    RunVerbOptions run = options.run;
    if (run.run.kernels.size() != 1 || !run.run.arms.empty()) {
        return fail(Code::invalid, "aa: expected one kernel, as in -k debian:7.3");
    }
    if (!run.run.seeds.empty() && run.run.seeds != "disjoint") {
        return fail(Code::invalid,
                    "aa: --seeds {}: with equal seeds equal kernels can't fail, expected disjoint",
                    run.run.seeds);
    }
    // The same kernel twice, under names that say so.
    const std::string given = run.run.kernels.front();
    MANO_ASSIGN(const plan::Arm arm, parse_kernel_option(given));
    run.run.kernels = {"a=" + arm.kernel_spec, "b=" + arm.kernel_spec};
    run.run.seeds = "disjoint";
    MANO_ASSIGN(Planned planned, make_plan(run.run, call.after_dashes));
    planned.plan.paired = false;
    return run_plan(run, std::move(planned), call.after_dashes,
                    [as_json](store::Store&, const store::RunSet& runset) {
                        return print_noise(runset, as_json);
                    });
}

constexpr std::string_view kFooter =
    "Boots one kernel in two arms with no seed in common and prints, for each key metric, how far\n"
    "equal kernels lie apart here and the smallest change that would be found, by number of "
    "trials.\n"
    "Nothing that is smaller can be news on this machine. `compare` and `run` quote the newest "
    "A/A\n"
    "run set of the same experiment, machine, mode and guest.\n"
    "\nExamples:\n"
    "  manometer aa idle -k debian:7.3\n"
    "  manometer aa shm-churn -k debian:7.3 --exact --trials 12\n"
    "  manometer aa --of last --json\n"
    "\nExit codes: 0 nothing was told apart; 1 usage; 2 this machine lacks something; 3 too few\n"
    "trials count; 4 equal kernels were told apart; 130 stopped by Ctrl-C.\n";

}  // namespace

void add_aa(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("aa", "one kernel against itself: what is noise here");
    auto options = std::make_shared<Options>();
    declare_run_options(*verb, options->run.run);
    verb->add_option("--jobs", options->run.jobs,
                     "trials at once (1; in exact mode as many as CPUs and memory allow)");
    verb->add_option("--of", options->of,
                     "runs nothing: the noise of an A/A run set that is stored (id, name or last)");
    declare_store(*verb, options->run.store);
    verb->add_option("--name", options->run.name, "a name for the run set");
    declare_format(*verb, options->run.format);
    verb->add_flag("--quiet", options->run.quiet, "no progress");
    verb->footer(std::string(kFooter));
    verb->callback([options, chosen] {
        *chosen = [options](const Call& call) { return aa(*options, call); };
    });
}

}  // namespace mano::cli
