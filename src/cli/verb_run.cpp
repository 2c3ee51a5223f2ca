// SPDX-License-Identifier: GPL-2.0-or-later
// run: plan, kernels, guests, store, table. A run that was broken off goes on with --resume.
#include <algorithm>
#include <CLI/CLI.hpp>
#include <thread>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/evidence.h"
#include "cli/kernel_json.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/run_options.h"
#include "cli/run_session.h"
#include "cli/sensitivity.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "runner/runner.h"
#include "substrate/guest/guest.h"
#include "substrate/live/live.h"
#include "substrate/model/model.h"

namespace mano::cli {
namespace {

using Options = RunVerbOptions;

// Everything that one execution needs.
struct Session {
    const Options& options;
    const Finish& finish;
    std::optional<unsigned> jobs;
    store::Store store;
    Progress progress;
    substrate::guest::GuestSubstrate guests;
    substrate::live::LiveSubstrate live;
    substrate::model::ModelSubstrate model = {};

    substrate::Substrate& where(const plan::Plan& plan) {
        if (plan.substrate == "model") return model;
        if (plan.substrate == "live") return live;
        return guests;
    }
};

// A run that goes on elsewhere because the user said --force: the runner must not see the other
// machine.
class ForcedIdentity : public substrate::Substrate {
  public:
    ForcedIdentity(substrate::Substrate& real, substrate::Identity as)
        : real_(real), as_(std::move(as)) {}
    Status prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>& kernels) override {
        return real_.prepare(plan, kernels);
    }
    substrate::Identity identity() const override { return as_; }
    std::vector<std::string> remarks() const override { return real_.remarks(); }
    std::pair<unsigned, std::string> jobs(const plan::Plan& plan, unsigned wanted) const override {
        return real_.jobs(plan, wanted);
    }
    Result<measure::TrialRecord> run(const substrate::TrialRequest& request,
                                     const substrate::TrialProgress& progress,
                                     const std::function<bool()>& stop) override {
        return real_.run(request, progress, stop);
    }

  private:
    substrate::Substrate& real_;
    substrate::Identity as_;
};

std::string resume_line(const Options& options, const std::string& runset) {
    std::vector<std::string> words{"manometer", "run", "--resume", runset};
    if (!options.store.empty()) {
        words.emplace_back("--store");
        words.push_back(options.store);
    }
    return shell_line(words);
}

// nullopt: not given.
Result<std::optional<unsigned>> parse_jobs(const std::string& text) {
    if (text.empty()) return std::optional<unsigned>();
    MANO_ASSIGN(const std::uint64_t jobs, parse_count("--jobs", text, 1, 256));
    return std::optional(static_cast<unsigned>(jobs));
}

unsigned wanted_jobs(const std::optional<unsigned>& given, const plan::Plan& plan,
                     Progress& progress) {
    const bool alone = !plan.exact && plan.substrate != "model";
    if (!given) return alone ? 1 : std::max(1U, std::thread::hardware_concurrency());
    if (*given > 1 && alone) {
        progress.say(
            "note: trials that run at once disturb each other's timing; --jobs above 1 is "
            "meant for --exact");
    }
    return *given;
}

// Prints what there is, as long as every arm has something to say.
Status print_partial(Session& session, const store::RunSet& runset) {
    std::vector<bool> has(runset.plan.arms.size(), false);
    for (const store::StoredTrial& trial : runset.trials) {
        if (trial.done && !trial.planned.traced && trial.standing != measure::Standing::spoiled)
            has[trial.planned.arm] = true;
    }
    if (std::find(has.begin(), has.end(), false) != has.end()) return {};
    const auto printed = session.finish(session.store, runset);
    if (!printed) return tl::unexpected<Error>(printed.error());
    return {};
}

// A look of a sequential run: are the key metrics known as well as --until asks?
Result<bool> precise_enough(Session& session, const std::string& runset, std::uint32_t trials) {
    MANO_ASSIGN(const store::RunSet stored, session.store.load(runset, true, false));
    MANO_ASSIGN(const report::ReportData data, report::build(stored, {}));
    const report::Precision seen = report::precision(data);
    const double wanted = stored.plan.until_pct;
    const std::string where = seen.metric + (seen.case_.empty() ? "" : " (" + seen.case_ + ")");
    const bool enough = seen.widest_pct && *seen.widest_pct <= wanted;
    session.progress.say(
        fmt::format("look after {} trials an arm: {}, wanted within +-{:g}%: {}", trials,
                    !seen.widest_pct ? where + " has no interval yet"
                    : seen.metric.empty()
                        ? "every key metric is known within its floor"
                        : fmt::format("{} is known within +-{:.2g}%", where, *seen.widest_pct),
                    wanted, enough ? "enough" : "going on"));
    return enough;
}

Result<int> execute(Session& session, substrate::Substrate& substrate, const std::string& runset,
                    const plan::Plan& plan, const std::vector<kernels::Kernel>& kernels) {
    runner::Options how;
    how.jobs = wanted_jobs(session.jobs, plan, session.progress);
    how.stop = stop_requested;
    how.listen = [&session](const runner::Event& event) { session.progress.trial(event); };
    how.enough = [&session, &runset](std::uint32_t trials) {
        return precise_enough(session, runset, trials);
    };
    const auto outcome = runner::execute(session.store, runset, substrate, kernels, how);
    session.progress.clear();
    if (!outcome) return tl::unexpected<Error>(outcome.error());
    MANO_ASSIGN(const store::RunSet stored, session.store.load(runset, true, false));
    if (outcome->interrupted) {
        // The table is a courtesy: whoever stopped the run may have closed the terminal as well.
        static_cast<void>(print_partial(session, stored));
        print_error(
            fmt::format("manometer: stopped; {} of {} trials are done and kept. Go on with\n"
                        "  {}\n",
                        outcome->done, plan.trials.size(), resume_line(session.options, runset)));
        return interrupted_exit_code();
    }
    return session.finish(session.store, stored);
}

Result<int> start(Session& session, Planned planned, const std::vector<std::string>& command) {
    plan::Plan& plan = planned.plan;
    MANO_ASSIGN(const std::vector<kernels::Kernel> kernels,
                resolve_arms(plan, kernel_options(session.progress)));
    session.progress.clear();
    std::vector<std::string> ids;
    ids.reserve(kernels.size());
    for (const kernels::Kernel& kernel : kernels)
        ids.push_back(kernel.id);
    separate_equal_arms(session.options.run, plan, ids);
    if (const std::string pairs = settle_pairs(session.store, plan); !pairs.empty()) {
        session.progress.say("note: " + pairs);
    }
    substrate::Substrate& substrate = session.where(plan);
    MANO_TRY(substrate.prepare(plan, kernels));
    store::NewRunSet runset;
    runset.name = session.options.name;
    runset.command_line = reproduce_line(session.options.run, plan, command);
    runset.version = MANO_VERSION;
    for (std::size_t i = 0; i < kernels.size(); ++i)
        runset.arms.push_back({plan.arms[i].name, kernel_json_text(kernels[i])});
    runset.identity = substrate.identity();
    runset.remarks = substrate.remarks();
    for (const std::string& remark : runset.remarks)
        session.progress.say("note: " + remark);
    runset.plan = plan;
    MANO_ASSIGN(const std::string id, session.store.create(runset));
    session.progress.say(fmt::format("run set {}: {} trial{}", id, plan.trials.size(),
                                     plan.trials.size() == 1 ? "" : "s"));
    return execute(session, substrate, id, plan, kernels);
}

Result<std::vector<kernels::Kernel>> same_kernels(Session& session, const store::RunSet& runset) {
    std::vector<kernels::Kernel> kernels;
    for (const store::StoredArm& arm : runset.arms) {
        const auto stored = stored_kernel(arm.kernel_json);
        if (!stored) {
            return fail(Code::invalid, "run set {} has no kernels to go on with (it was imported)",
                        runset.id);
        }
        auto kernel = resolve_spec(runset.plan.substrate, stored->exact_spec,
                                   kernel_options(session.progress));
        if (!kernel) return wrap(kernel.error(), "kernel of arm {}", arm.name);
        if (kernel->id != stored->id) {
            return fail(Code::invalid,
                        "arm {} began with the kernel {} (sha256 {}), but {} is now sha256 {}: put "
                        "the first one back, or start a new run",
                        arm.name, stored->release, stored->id.substr(0, 16), stored->exact_spec,
                        kernel->id.substr(0, 16));
        }
        kernels.push_back(std::move(*kernel));
    }
    session.progress.clear();
    return kernels;
}

std::string differing_keys(const substrate::Identity& before, const substrate::Identity& now) {
    std::string text;
    for (const auto& [key, value] : now) {
        const auto found = before.find(key);
        if (found == before.end() || found->second == value) continue;
        text += fmt::format("{}{} was {} and is {}", text.empty() ? "" : ", ", key, found->second,
                            value);
    }
    return text;
}

Result<int> resume(Session& session) {
    MANO_ASSIGN(const store::RunSet runset,
                session.store.load(session.options.resume, false, false));
    if (runset.state == store::RunState::complete) {
        session.progress.say(fmt::format("run set {} is complete", runset.id));
        MANO_ASSIGN(const store::RunSet whole, session.store.load(runset.id, true, false));
        return session.finish(session.store, whole);
    }
    const auto left = std::count_if(runset.trials.begin(), runset.trials.end(),
                                    [](const store::StoredTrial& trial) { return !trial.done; });
    session.progress.say(
        fmt::format("run set {}: {} of {} trials are left", runset.id, left, runset.trials.size()));
    MANO_ASSIGN(const std::vector<kernels::Kernel> kernels, same_kernels(session, runset));
    substrate::Substrate& substrate = session.where(runset.plan);
    MANO_TRY(substrate.prepare(runset.plan, kernels));
    const std::string differing = differing_keys(runset.identity, substrate.identity());
    if (differing.empty()) {
        return execute(session, substrate, runset.id, runset.plan, kernels);
    }
    if (!session.options.force) {
        return fail(Code::environment,
                    "run set {} can't go on here, since its trials would come from two different "
                    "machines: {}. Go on where it began, start a new run, or say --force",
                    runset.id, differing);
    }
    print_error(
        fmt::format("manometer: --force: the trials of {} come from different machines: {}\n",
                    runset.id, differing));
    ForcedIdentity forced(substrate, runset.identity);
    return execute(session, forced, runset.id, runset.plan, kernels);
}

Status check_resume(const Options& options, const Call& call) {
    const RunOptions& run = options.run;
    const bool more = !run.experiment.empty() || !run.kernels.empty() || !run.arms.empty() ||
                      !run.set.empty() || !run.trials.empty() || !run.iterations.empty() ||
                      !run.cases.empty() || !run.seed.empty() || !run.seeds.empty() || run.exact ||
                      run.placebo || !run.add.empty() || !run.timeout.empty() ||
                      !run.until.empty() || !run.max_trials.empty() || !options.name.empty() ||
                      call.dashes;
    if (!more) return {};
    return fail(Code::invalid,
                "--resume {}: the plan of a run set is fixed, expected only --store, "
                "--jobs, --force, --format, --yes-this-host and --quiet beside it",
                options.resume);
}

Result<int> with_session(const Options& options, const Finish& finish,
                         const std::function<Result<int>(Session&)>& work) {
    MANO_ASSIGN(const std::optional<unsigned> jobs, parse_jobs(options.jobs));
    MANO_ASSIGN(store::Store store, store::Store::open(store_path(options.store)));
    substrate::guest::Options guests;
    guests.cache = cache_folder();
    guests.stop = stop_requested;
    Session session{options,
                    finish,
                    jobs,
                    std::move(store),
                    Progress(options.quiet),
                    substrate::guest::GuestSubstrate(std::move(guests)),
                    substrate::live::LiveSubstrate({.yes_this_host = options.run.yes_this_host})};
    session.guests.show_progress(
        [&session](std::string_view what, std::uint64_t done, std::uint64_t total) {
            session.progress.download(what, done, total);
        });
    return work(session);
}

// --dry-run: what a live run would do to this host.
Result<int> show_intentions(const Options& options, const plan::Plan& plan) {
    if (plan.substrate != "live") {
        return fail(Code::invalid,
                    "--dry-run: says what a run would change on this host, and only --substrate "
                    "live changes anything; what would run is said by: manometer plan");
    }
    substrate::live::LiveSubstrate live({.yes_this_host = options.run.yes_this_host});
    MANO_ASSIGN(const std::vector<std::string> lines, live.intentions(plan));
    std::string text;
    for (const std::string& line : lines)
        text += printable(line) + "\n";
    MANO_TRY(print(text));
    return 0;
}

Result<int> run(const Options& options, const Call& call) {
    catch_signals();
    MANO_ASSIGN(const Format format, chosen_format(options.format));
    if (options.sensitivity && options.resume.empty() && options.run.substrate != "model") {
        return fail(Code::invalid,
                    "--sensitivity sweeps the costs of the model: expected --substrate model with "
                    "it");
    }
    const Finish finish = [format, &options](store::Store& store, const store::RunSet& runset) {
        report::Options how;
        const auto aa = find_aa(store, runset);
        how.aa = aa ? &*aa : nullptr;
        if (!options.sensitivity) return print_result(runset, how, format);
        Progress progress(options.quiet);
        return print_result(runset, how, format, false, [&](report::ReportData& data) {
            return add_sensitivity(runset, how, progress, data);
        });
    };
    // Everything that may be wrong with the words is said before the store is touched.
    MANO_TRY(parse_jobs(options.jobs));
    if (options.resume.empty()) {
        Options words = options;
        Progress progress(options.quiet);
        MANO_TRY(expand_ranges(words.run, kernel_options(progress)));
        MANO_ASSIGN(Planned planned, make_plan(words.run, call.after_dashes));
        if (options.dry_run) return show_intentions(options, planned.plan);
        return run_plan(words, std::move(planned), call.after_dashes, finish);
    }
    MANO_TRY(check_resume(options, call));
    if (options.dry_run) {
        return fail(Code::invalid, "--dry-run: is for a run that hasn't begun, not for --resume");
    }
    return with_session(options, finish, [](Session& session) { return resume(session); });
}

constexpr std::string_view kFooter =
    "Runs every trial of the plan, arms interleaved in a recorded random order, stores each as "
    "it\n"
    "ends, and prints the comparison. Ctrl-C stops within two seconds and keeps what is done.\n"
    "\nExamples:\n"
    "  manometer run idle -k a=debian:7.3 -k b=debian:7.3            the control: no difference\n"
    "  manometer run shm-churn -k 7.1=debian:7.1 -k 7.3=debian:7.3 --exact\n"
    "  manometer run mthp-fault -k old=debian:7.1 -k new=../linux/arch/x86/boot/bzImage --cases "
    "95%\n"
    "  manometer run idle -k base=debian:7.3 --arm calm='sysctl.vm.swappiness=10'\n"
    "  manometer run command -k debian:7.3 --add ./mytest -- mytest --size 64M\n"
    "  manometer run aux-alloc --exact --placebo                     with layout's own spread\n"
    "  manometer run idle -k a=debian:7.1 -k b=debian:7.3 --until 5 --max-trials 40\n"
    "  manometer run aux-alloc --substrate model      the experiment's policies, simulated\n"
    "  manometer run aux-alloc --substrate model --sensitivity    and which costs decide it\n"
    "  manometer run shm-churn -k debian:6.1..7.3 --exact        (then: manometer history "
    "shm-churn)\n"
    "  manometer run command --substrate live -- make -j4          on this machine (docs/live.md)\n"
    "  manometer run --resume last\n"
    "\nExit codes: 0 no regression; 1 usage; 2 this machine lacks something; 3 no answer; 4\n"
    "regression found; 130 stopped by Ctrl-C (128 plus the signal).\n";

}  // namespace

Result<int> run_plan(const RunVerbOptions& options, Planned planned,
                     const std::vector<std::string>& command, const Finish& finish) {
    return with_session(options, finish, [&](Session& session) {
        return start(session, std::move(planned), command);
    });
}

void add_run(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand("run", "run an experiment on kernels and print the comparison");
    auto options = std::make_shared<Options>();
    declare_run_options(*verb, options->run);
    verb->add_option("--jobs", options->jobs,
                     "trials at once (1; in exact mode as many as CPUs and memory allow)");
    declare_store(*verb, options->store);
    verb->add_option("--name", options->name, "a name for the run set");
    verb->add_option("--resume", options->resume,
                     "go on with a run set that was broken off: its id, its name, or last");
    verb->add_flag("--force", options->force, "with --resume: on another machine or QEMU as well");
    declare_format(*verb, options->format);
    verb->add_flag("--sensitivity", options->sensitivity,
                   "of the model: the verdicts once more with each cost halved and doubled");
    verb->add_flag("--quiet", options->quiet, "no progress");
    verb->add_flag("--dry-run", options->dry_run,
                   "with --substrate live: only say what would be made, set and put back here");
    verb->footer(std::string(kFooter));
    verb->callback([options, chosen] {
        *chosen = [options](const Call& call) { return run(*options, call); };
    });
}

}  // namespace mano::cli
