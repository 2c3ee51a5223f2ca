// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/run_options.h"

#include <algorithm>
#include <charconv>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "kernels/lab_spec.h"
#include "kernels/range.h"
#include "measure/metric.h"
#include "stats/power.h"
#include "substrate/guest/guest.h"
#include "substrate/live/host.h"
#include "substrate/model/model.h"

namespace mano::cli {
namespace {

constexpr std::uint64_t kMaxSeed = std::uint64_t{1} << 62;

// A live host runs the kernel that it runs.
Status add_live_arms(const RunOptions& options, std::vector<plan::Arm>& arms) {
    const std::string spec = substrate::live::host_kernel().provenance.spec;
    if (!options.kernels.empty()) {
        return fail(Code::invalid,
                    "-k {}: a live host runs the kernel that was booted, which is {}: leave -k "
                    "out. To compare kernels, run the same experiment once on each boot, with "
                    "--arm NAME, and then: manometer compare RUNSET RUNSET",
                    options.kernels.front().substr(0, 100), spec);
    }
    for (const std::string& text : options.arms) {
        MANO_ASSIGN(plan::Arm arm, parse_live_arm(text, spec));
        arms.push_back(std::move(arm));
    }
    if (arms.empty()) {
        plan::Arm arm;
        arm.name = arm_name_of(spec);
        arm.kernel_spec = spec;
        arms.push_back(std::move(arm));
    }
    return {};
}

Result<std::vector<plan::Arm>> parse_arms(const RunOptions& options) {
    std::vector<plan::Arm> arms;
    const bool live = options.substrate == "live";
    if (live) MANO_TRY(add_live_arms(options, arms));
    for (const std::string& text : options.kernels) {
        MANO_ASSIGN(plan::Arm arm, parse_kernel_option(text));
        arms.push_back(std::move(arm));
    }
    for (const std::string& text : live ? std::vector<std::string>() : options.arms) {
        const auto base = arms.empty() ? std::nullopt : std::optional(arms.front());
        MANO_ASSIGN(plan::Arm arm, parse_arm_option(text, base));
        arms.push_back(std::move(arm));
    }
    for (std::size_t i = 0; i < arms.size(); ++i) {
        for (std::size_t other = 0; other < i; ++other) {
            if (arms[i].name != arms[other].name) continue;
            return fail(Code::invalid, "two arms are named '{}', expected different names: {}",
                        arms[i].name,
                        live ? std::string("--arm a --arm b='sysctl.vm.swappiness=10'")
                             : fmt::format("-k a={} -k b={}", arms[other].kernel_spec,
                                           arms[i].kernel_spec));
        }
    }
    return arms;
}

// One of a few words, with the nearest when it is none of them.
Result<std::string> choose(std::string_view option, const std::string& text,
                           const std::vector<std::string_view>& choices) {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
    std::string expected;
    for (const std::string_view choice : choices)
        expected += (expected.empty() ? "" : ", ") + std::string(choice);
    const std::string near = measure::nearest_name(text, choices);
    return fail(Code::invalid, "{} {}: expected {}{}{}", option, text,
                choices.size() > 1 ? "one of " : "", expected,
                near.empty() ? "" : "; did you mean '" + near + "'?");
}

Result<experiment::PlanOptions> plan_options(const RunOptions& options) {
    experiment::PlanOptions out;
    MANO_ASSIGN(out.arms, parse_arms(options));
    const auto small = [](std::string_view name, const std::string& text,
                          std::optional<std::uint32_t>& value) -> Status {
        if (text.empty()) return {};
        MANO_ASSIGN(const std::uint64_t number, parse_count(name, text, 1, 10000));
        value = static_cast<std::uint32_t>(number);
        return {};
    };
    MANO_TRY(small("--trials", options.trials, out.trials));
    MANO_TRY(small("--iterations", options.iterations, out.iterations));
    if (!options.cases.empty()) {
        MANO_ASSIGN(out.cases, parse_list("--cases", options.cases));
    }
    MANO_ASSIGN(out.set, parse_settings(options.set));
    if (!options.seed.empty()) {
        MANO_ASSIGN(out.first_seed, parse_count("--seed", options.seed, 0, kMaxSeed));
    }
    if (!options.seeds.empty()) {
        MANO_ASSIGN(const std::string how,
                    choose("--seeds", options.seeds, {"shared", "disjoint"}));
        out.shared_seeds = how == "shared";
    }
    MANO_ASSIGN(const std::string accel, choose("--accel", options.accel, {"auto", "kvm", "tcg"}));
    out.accel = accel == "kvm"   ? plan::Accel::kvm
                : accel == "tcg" ? plan::Accel::tcg
                                 : plan::Accel::automatic;
    out.exact = options.exact;
    out.placebo = options.placebo;
    if (!options.timeout.empty()) {
        const auto limit = parse_duration_ns(options.timeout);
        if (!limit) return wrap(limit.error(), "--timeout {}", options.timeout);
        constexpr std::uint64_t kLeast = 5'000'000'000;
        constexpr std::uint64_t kMost = 86'400'000'000'000;
        if (*limit < kLeast || *limit > kMost) {
            return fail(Code::invalid, "--timeout {}: expected 5s to 24h", options.timeout);
        }
        out.wall_limit_ns = *limit;
    }
    std::set<std::string> added;
    for (const std::string& file : options.add) {
        auto described = substrate::guest::describe_added_file(file);
        if (!described) return fail(Code::invalid, "--add: {}", described.error().text());
        const std::string name = std::filesystem::path(file).filename().string();
        if (!added.insert(name).second) {
            return fail(Code::invalid, "--add {}: a second file '{}', and /bin holds one", file,
                        name);
        }
        out.added_files.push_back(std::move(*described));
    }
    return out;
}

// A placebo is an arm that is the base but for its layout, whether --placebo made it or the user
// wrote its SPEC. Only kernels that are built here have one.
Status settle_placebos(const RunOptions& options, plan::Plan& plan) {
    const std::string& base_spec = plan.arms.front().kernel_spec;
    const bool built = kernels::looks_like_lab_spec(base_spec);
    if (!built) {
        if (!options.placebo) return {};
        return fail(Code::invalid,
                    "--placebo: the base is built once more in another layout, but {} isn't built "
                    "here; expected a base as source:7.3 or tree:DIR",
                    base_spec);
    }
    MANO_ASSIGN(kernels::LabSpec base, kernels::parse_lab_spec(base_spec));
    if (base.placebo != 0) {
        if (!options.placebo) return {};
        return fail(Code::invalid, "--placebo: the base {} is a placebo itself", base_spec);
    }
    for (plan::Arm& arm : plan.arms) {
        if (!kernels::looks_like_lab_spec(arm.kernel_spec)) continue;
        MANO_ASSIGN(kernels::LabSpec spec, kernels::parse_lab_spec(arm.kernel_spec));
        if (spec.placebo == 0) continue;
        spec.placebo = 0;
        arm.placebo = spec.text() == base.text() && arm.same_setup(plan.arms.front());
    }
    return {};
}

// --until and --max-trials: after how many trials the run may end.
Status plan_looks(const RunOptions& options, plan::Plan& plan) {
    if (options.until.empty()) {
        if (options.max_trials.empty()) return {};
        return fail(Code::invalid,
                    "--max-trials {}: is the end of --until PCT, which isn't given; for a fixed "
                    "number say --trials {}",
                    options.max_trials, options.max_trials);
    }
    double pct = 0;
    const char* end = options.until.data() + options.until.size();
    const bool sign = options.until.ends_with('%');
    const auto [stop, error] = std::from_chars(options.until.data(), end - (sign ? 1 : 0), pct);
    if (error != std::errc() || stop != end - (sign ? 1 : 0) || !(pct >= 0.01 && pct <= 100)) {
        return fail(Code::invalid, "--until {}: expected per cent from 0.01 to 100, as in 5",
                    options.until);
    }
    constexpr std::uint32_t kTimes = 5;
    std::uint64_t most = std::uint64_t{plan.trials_per_cell} * kTimes;
    if (!options.max_trials.empty()) {
        MANO_ASSIGN(most, parse_count("--max-trials", options.max_trials, 1, 10000));
        if (most < plan.trials_per_cell) {
            return fail(Code::invalid, "--max-trials {}: expected at least --trials, which is {}",
                        most, plan.trials_per_cell);
        }
    }
    plan.until_pct = pct;
    plan.looks = stats::looks(plan.trials_per_cell, static_cast<std::uint32_t>(most));
    plan.trials_per_cell = plan.looks.back();
    const std::uint64_t all =
        std::uint64_t{plan.trials_per_cell} * plan.arms.size() * plan.cases.size();
    constexpr std::uint64_t kMostTrials = 100'000;
    if (all > kMostTrials) {
        return fail(Code::invalid, "--max-trials {}: makes {} trials, expected at most {}", most,
                    all, kMostTrials);
    }
    const std::size_t needed =
        stats::trials_needed(plan.alpha / static_cast<double>(plan.looks.size()));
    if (plan.looks.front() < needed) {
        return fail(Code::invalid,
                    "--trials {}: with {} looks nothing could be significant at the first, "
                    "expected at least {}",
                    plan.looks.front(), plan.looks.size(), needed);
    }
    plan::lay_out_trials(plan);
    return {};
}

// --attribute: trials beside those that are timed.
Status plan_attribution(const RunOptions& options, plan::Plan& plan) {
    if (options.attribute.empty()) return {};
    if (options.substrate != "guest") {
        return fail(Code::invalid, "--attribute {}: stalls are recorded in guests, not on {}",
                    options.attribute, options.substrate);
    }
    if (!options.until.empty()) {
        return fail(Code::invalid,
                    "--attribute and --until: a run that may end early doesn't know which trials "
                    "are its last; give the attribution trials a run of their own: --trials 1 "
                    "--attribute {}",
                    options.attribute);
    }
    MANO_ASSIGN(const std::uint64_t number, parse_count("--attribute", options.attribute, 1, 1000));
    plan.traced_per_cell = static_cast<std::uint32_t>(number);
    plan::lay_out_trials(plan);
    return {};
}

// An arm that sets huge pages or lru_gen itself is meant to differ in them.
void expect_arm_differences(plan::Plan& plan) {
    for (const plan::Arm& arm : plan.arms) {
        for (const plan::Setting& setting : arm.settings) {
            const bool thp = setting.path.ends_with("/transparent_hugepage/enabled");
            if (!thp && !setting.path.ends_with("/lru_gen/enabled")) continue;
            const std::string fact = thp ? "state.thp" : "state.lru_gen";
            auto& expected = plan.expected_differences;
            if (std::find(expected.begin(), expected.end(), fact) == expected.end()) {
                expected.push_back(fact);
            }
        }
    }
}

}  // namespace

void declare_run_options(CLI::App& app, RunOptions& options) {
    app.add_option("EXPERIMENT", options.experiment,
                   "a built-in name (manometer experiments) or a path to a .toml file");
    app.add_option("-k,--kernel", options.kernels,
                   "an arm; the first is the base. SPEC: debian:7.3, debian:7.3.4-rt, "
                   "debian:6.1..7.3 (an arm for each series in between), "
                   "source:7.3[+FILE.patch] and tree:DIR[@REV] (built here), "
                   "a path to a bzImage[,modules=DIR][,config=FILE], or a name from `kernel add`")
        ->allow_extra_args(false);
    app.add_option("--arm", options.arms,
                   "an arm with settings of its own: NAME='KEY=VALUE ...', keys kernel=SPEC (left "
                   "out: the base's), cmdline=WORD, sysctl.vm.swappiness=10, thp=madvise, "
                   "lru_gen=y, probe.PARAMETER=VALUE; on a live host also a NAME alone")
        ->allow_extra_args(false);
    app.add_flag("--placebo", options.placebo,
                 "one arm more: the base built once more in another layout, which shows how far "
                 "equal kernels lie apart (for source: and tree: kernels)");
    app.add_option("--trials", options.trials,
                   "boots of each arm in each case (6 are comfortable)");
    app.add_option("--until", options.until,
                   "add trials until the 95% intervals of the key metrics' changes are within "
                   "+-PCT % of the base (or their floors), looking after --trials, half as many "
                   "again, and so on; p-values pay for the looks");
    app.add_option("--max-trials", options.max_trials,
                   "with --until: at most so many of each arm in each case (5 times --trials)");
    app.add_option("--attribute", options.attribute,
                   "attribution trials of each arm in each case, beside the others: stalls with "
                   "kernel stacks, for `manometer why`; their values enter no statistics");
    app.add_option("--iterations", options.iterations, "runs of the probe inside one boot");
    app.add_option("--cases", options.cases, "only these cases, as A,B: --cases 90%,95%");
    app.add_option("--set", options.set,
                   "a parameter of the experiment (manometer describe NAME lists them)")
        ->allow_extra_args(false);
    app.add_option("--seed", options.seed, "first seed (1)");
    app.add_option(
        "--seeds", options.seeds,
        "shared: the same seeds in all arms; disjoint: none in common. Left out: shared, "
        "but disjoint when all arms are one kernel");
    app.add_flag("--exact", options.exact,
                 "deterministic guests that count instructions: equal seeds give equal values");
    app.add_option("--accel", options.accel, "auto, kvm or tcg");
    app.add_option("--substrate", options.substrate,
                   "where trials run: guest (a kernel in QEMU), live (this very machine: its "
                   "kernel, and settings as arms), or model (a simulation of the page "
                   "allocator; needs no kernel: -k model:7.3+aux=no-reclaim)");
    app.add_flag("--yes-this-host", options.yes_this_host,
                 "with --substrate live: pressures, and probes that load the machine, may run on "
                 "this very host, within the memory of guest.memory");
    app.add_option("--timeout", options.timeout, "host time that one trial may take: 5min");
    app.add_option("--add", options.add, "a file for the guest's /bin; a program must be static")
        ->allow_extra_args(false);
}

Result<experiment::Experiment> load_experiment(const std::string& name) {
    auto loaded = experiment::load(name);
    if (!loaded && loaded.error().code == Code::environment) {
        return fail(Code::invalid,
                    "{}; expected an experiment file, or a built-in name (manometer "
                    "experiments)",
                    loaded.error().text());
    }
    return loaded;
}

Status expand_ranges(RunOptions& options, const kernels::Options& how) {
    std::vector<std::string> expanded;
    for (const std::string& text : options.kernels) {
        const std::size_t equals = text.find('=');
        const bool named = equals != std::string::npos &&
                           kernels::is_range(std::string_view(text).substr(equals + 1));
        if (named) {
            return fail(Code::invalid,
                        "-k {}: a range is several arms, named by their versions; leave out '{}='",
                        text, text.substr(0, equals));
        }
        if (!kernels::is_range(text)) {
            expanded.push_back(text);
            continue;
        }
        const auto specs = kernels::expand_range(text, how);
        if (!specs) return wrap(specs.error(), "-k");
        expanded.insert(expanded.end(), specs->begin(), specs->end());
    }
    options.kernels = std::move(expanded);
    return {};
}

Result<Planned> make_plan(const RunOptions& options, const std::vector<std::string>& command) {
    MANO_ASSIGN(const std::string substrate,
                choose("--substrate", options.substrate, {"guest", "live", "model"}));
    if (substrate != "guest" && options.exact) {
        return fail(Code::invalid, "--exact is a mode of guests{}: leave it out",
                    substrate == "model" ? "; the model gives equal values for equal seeds anyway"
                                         : "; a live host's clock is the world's");
    }
    if (substrate != "live" && options.yes_this_host) {
        return fail(Code::invalid,
                    "--yes-this-host: nothing is done to this host by {}; leave it "
                    "out, or say --substrate live",
                    substrate == "guest" ? "guests" : "the model");
    }
    if (substrate == "live" && options.accel != "auto") {
        return fail(Code::invalid, "--accel {}: is about guests; leave it out", options.accel);
    }
    if (options.experiment.empty()) {
        return fail(Code::invalid,
                    "no experiment given, expected a name such as idle (manometer "
                    "experiments lists them) or a path to a .toml file");
    }
    Planned planned;
    MANO_ASSIGN(planned.experiment, load_experiment(options.experiment));
    MANO_ASSIGN(experiment::PlanOptions wanted, plan_options(options));
    wanted.substrate = substrate;
    wanted.loads_host = options.yes_this_host;
    wanted.host_cpus = substrate::live::online_cpus();
    const auto is_blank = [](const std::string& word) {
        return word.find_first_not_of(" \t\n") == std::string::npos;
    };
    if (!command.empty() && is_blank(command.front())) {
        return fail(Code::invalid,
                    "the command after -- is empty, expected a program or a shell line (an unset "
                    "variable?)");
    }
    wanted.command = probe_command(command);
    MANO_ASSIGN(planned.plan, experiment::make_plan(planned.experiment, wanted));
    MANO_TRY(settle_placebos(options, planned.plan));
    expect_arm_differences(planned.plan);
    MANO_TRY(plan_looks(options, planned.plan));
    MANO_TRY(plan_attribution(options, planned.plan));
    return planned;
}

Result<kernels::Kernel> resolve_spec(const std::string& substrate, const std::string& spec,
                                     const kernels::Options& options) {
    namespace model = substrate::model;
    if (substrate == "model") return model::kernel_of(spec);
    if (substrate == "live") return substrate::live::kernel_of(spec);
    if (spec.starts_with(model::kSpecPrefix)) {
        return fail(Code::invalid, "{} is an arm of the model, expected --substrate model with it",
                    spec.substr(0, 100));
    }
    return kernels::resolve(spec, options);
}

Result<std::vector<kernels::Kernel>> resolve_arms(plan::Plan& plan,
                                                  const kernels::Options& options) {
    std::map<std::string, kernels::Kernel> by_spec;
    std::vector<kernels::Kernel> kernels;
    for (plan::Arm& arm : plan.arms) {
        auto known = by_spec.find(arm.kernel_spec);
        if (known == by_spec.end()) {
            auto resolved = resolve_spec(plan.substrate, arm.kernel_spec, options);
            if (!resolved) return wrap(resolved.error(), "kernel of arm {}", arm.name);
            known = by_spec.emplace(arm.kernel_spec, std::move(*resolved)).first;
        }
        kernels.push_back(known->second);
        const std::string& exact = known->second.provenance.exact_spec;
        if (!exact.empty()) arm.kernel_spec = exact;
    }
    return kernels;
}

void separate_equal_arms(const RunOptions& options, plan::Plan& plan,
                         const std::vector<std::string>& kernel_ids) {
    if (!options.seeds.empty() || !plan.shared_seeds || plan.arms.size() < 2) return;
    const plan::Arm& base = plan.arms.front();
    for (std::size_t i = 0; i < plan.arms.size(); ++i) {
        const plan::Arm& arm = plan.arms[i];
        const bool equal =
            !kernel_ids[i].empty() && kernel_ids[i] == kernel_ids[0] && arm.same_setup(base);
        if (!equal) return;
    }
    plan.shared_seeds = false;
    plan::lay_out_trials(plan);
}

std::string reproduce_line(const RunOptions& options, const plan::Plan& plan,
                           const std::vector<std::string>& command) {
    std::vector<std::string> words{"manometer", "run", options.experiment};
    const auto add = [&](const std::string& option, const std::string& value) {
        words.push_back(option);
        words.push_back(value);
    };
    const bool live = plan.substrate == "live";
    for (const plan::Arm& arm : plan.arms) {
        if (options.placebo && arm.placebo && arm.name == "placebo") continue;
        const auto given =
            std::find_if(options.arms.begin(), options.arms.end(),
                         [&](const std::string& text) { return text.starts_with(arm.name + "="); });
        // A live host's kernel is the one that was booted.
        std::string keys = live ? "" : "kernel=" + arm.kernel_spec;
        if (live && given == options.arms.end()) {
            add("--arm", arm.name);
            continue;
        }
        if (given == options.arms.end() && !arm.params.empty()) {
            for (const plan::ArmParam& param : arm.params)
                keys += " " + param.name + "=" + param.text;
            add("--arm", arm.name + "=" + keys);
            continue;
        }
        if (given == options.arms.end()) {
            add("-k", arm.name + "=" + arm.kernel_spec);
            continue;
        }
        const auto rest = given->substr(arm.name.size() + 1);
        for (std::size_t at = 0; at < rest.size();) {
            const std::size_t end = std::min(rest.find(' ', at), rest.size());
            const std::string word = rest.substr(at, end - at);
            if (!word.empty() && !word.starts_with("kernel="))
                keys += (keys.empty() ? "" : " ") + word;
            at = end + 1;
        }
        add("--arm", arm.name + "=" + keys);
    }
    if (options.placebo) words.emplace_back("--placebo");
    if (plan.exact) words.emplace_back("--exact");
    if (plan.substrate != "guest") add("--substrate", plan.substrate);
    if (options.yes_this_host) words.emplace_back("--yes-this-host");
    if (plan.looks.empty()) {
        add("--trials", std::to_string(plan.trials_per_cell));
    } else {
        add("--trials", std::to_string(plan.looks.front()));
        add("--until", fmt::format("{:g}", plan.until_pct));
        add("--max-trials", std::to_string(plan.trials_per_cell));
    }
    if (plan.traced_per_cell > 0) add("--attribute", std::to_string(plan.traced_per_cell));
    if (!options.iterations.empty()) add("--iterations", options.iterations);
    if (!options.cases.empty()) add("--cases", options.cases);
    for (const std::string& text : options.set)
        add("--set", text);
    if (plan.first_seed != 1) add("--seed", std::to_string(plan.first_seed));
    if (!options.seeds.empty() || !plan.shared_seeds) {
        add("--seeds", plan.shared_seeds ? "shared" : "disjoint");
    }
    if (options.accel != "auto") add("--accel", options.accel);
    if (!options.timeout.empty()) add("--timeout", options.timeout);
    for (const std::string& file : options.add)
        add("--add", file);
    if (!command.empty()) {
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
    }
    return shell_line(words);
}

std::filesystem::path store_path(const std::string& option) {
    return option.empty() ? data_folder() / "store.db" : std::filesystem::path(option);
}

void declare_store(CLI::App& app, std::string& option) {
    app.add_option("--store", option, "the store's file ($XDG_DATA_HOME/manometer/store.db)");
}

}  // namespace mano::cli
