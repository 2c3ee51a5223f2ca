// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/sensitivity.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/run_options.h"
#include "cli/stop.h"
#include "model/counters.h"
#include "substrate/model/model.h"

namespace mano::cli {
namespace {

constexpr double kFactors[] = {0.5, 2};

// A verdict of the run, and where it was another one.
struct Watched {
    std::string case_, arm;
    stats::Verdict verdict = stats::Verdict::inconclusive;
    unsigned runs = 0;
    std::vector<std::string> flips;  // "no-change with scan x2"
};

std::vector<Watched> verdicts_of(const report::ReportData& data) {
    std::vector<Watched> out;
    for (const report::CaseReport& report : data.cases) {
        for (std::size_t i = 0; i < report.verdicts.size(); ++i)
            out.push_back({report.name, data.arms[i + 1].name, report.verdicts[i], 0, {}});
    }
    return out;
}

class Sweep {
  public:
    Sweep(const store::RunSet& runset, const report::Options& how, Progress& progress)
        : runset_(runset), how_(how), progress_(progress) {}

    Status whole(std::vector<Watched>& watched) {
        std::size_t done = 0;
        for (std::size_t i = 0; i < model::kWorks; ++i) {
            const std::string cost(name_of(static_cast<model::Work>(i)));
            for (const double factor : kFactors) {
                tell(cost, factor, done++);
                MANO_ASSIGN(const auto swept, swept_runset(cost, factor));
                if (!swept) {
                    done += 1;  // the other factor is as idle
                    break;
                }
                MANO_ASSIGN(const report::ReportData data, report::build(*swept, how_));
                count_in(watched, verdicts_of(data), fmt::format("{} x{:g}", cost, factor));
            }
        }
        progress_.clear();
        return {};
    }

  private:
    static void count_in(std::vector<Watched>& watched, const std::vector<Watched>& now,
                         const std::string& change) {
        for (std::size_t i = 0; i < watched.size() && i < now.size(); ++i) {
            ++watched[i].runs;
            if (now[i].verdict == watched[i].verdict) continue;
            watched[i].flips.push_back(
                fmt::format("{} with {}", stats::name_of(now[i].verdict), change));
        }
    }

    void tell(const std::string& cost, double factor, std::size_t done) {
        const std::size_t all = model::kWorks * std::size(kFactors);
        const double spent =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        std::string left;
        if (done > 0)
            left =
                ", about " +
                show_seconds(spent / static_cast<double>(done) * static_cast<double>(all - done)) +
                " left";
        progress_.say(
            fmt::format("sensitivity {}/{}: {} x{:g}{}", done + 1, all, cost, factor, left));
    }

    // nullopt: nothing of what these trials do costs that.
    Result<std::optional<store::RunSet>> swept_runset(const std::string& cost, double factor) {
        store::RunSet swept = runset_;
        std::vector<kernels::Kernel> kernels;
        for (plan::Arm& arm : swept.plan.arms) {
            arm.kernel_spec += fmt::format("+cost.{}={:g}", cost, factor);
            MANO_ASSIGN(kernels::Kernel kernel, substrate::model::kernel_of(arm.kernel_spec));
            kernels.push_back(std::move(kernel));
        }
        std::vector<std::size_t> first;
        std::vector<std::size_t> rest;
        for (std::size_t i = 0; i < swept.trials.size(); ++i) {
            if (swept.trials[i].done)
                (swept.trials[i].planned.row == 0 ? first : rest).push_back(i);
        }
        MANO_TRY(run(swept, kernels, first));
        const bool idle = std::all_of(first.begin(), first.end(), [&](std::size_t i) {
            return swept.trials[i].record.samples == runset_.trials[i].record.samples;
        });
        if (idle) return std::optional<store::RunSet>();
        MANO_TRY(run(swept, kernels, rest));
        return std::optional(std::move(swept));
    }

    // These trials, on all CPUs; standings stay as the run has them.
    Status run(store::RunSet& swept, const std::vector<kernels::Kernel>& kernels,
               const std::vector<std::size_t>& which) {
        substrate::model::ModelSubstrate model;
        MANO_TRY(model.prepare(swept.plan, kernels));
        const std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
        std::vector<Status> status(jobs);
        std::vector<std::thread> crew;
        for (std::size_t job = 0; job < jobs; ++job) {
            crew.emplace_back([&, job] {
                for (std::size_t i = job; i < which.size() && status[job]; i += jobs)
                    status[job] = run_one(model, swept, kernels, which[i]);
            });
        }
        for (std::thread& thread : crew)
            thread.join();
        for (const Status& one : status)
            MANO_TRY(one);
        return {};
    }

    static Status run_one(substrate::model::ModelSubstrate& model, store::RunSet& swept,
                          const std::vector<kernels::Kernel>& kernels, std::size_t i) {
        store::StoredTrial& trial = swept.trials[i];
        const substrate::TrialRequest request{swept.plan, trial.planned,
                                              kernels[trial.planned.arm]};
        auto record = model.run(
            request, [](std::string_view) {}, stop_requested);
        if (!record) return tl::unexpected<Error>(record.error());
        trial.record = std::move(*record);
        return {};
    }

    const store::RunSet& runset_;
    const report::Options& how_;
    Progress& progress_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

Status add_sensitivity(const store::RunSet& runset, const report::Options& how, Progress& progress,
                       report::ReportData& data) {
    if (runset.plan.substrate != "model") {
        return fail(Code::invalid,
                    "--sensitivity: {} ran in a guest, whose costs are its own; expected a run set "
                    "of --substrate model",
                    runset.id);
    }
    std::vector<Watched> watched = verdicts_of(data);
    Sweep sweep(runset, how, progress);
    MANO_TRY(sweep.whole(watched));
    for (const Watched& one : watched) {
        std::string where = one.case_;
        if (watched.size() > 1 || where.empty()) where += (where.empty() ? "" : ", ") + one.arm;
        std::string text = fmt::format("sensitivity, {}: {}", where, stats::name_of(one.verdict));
        std::string mend = "no single cost decides it";
        if (one.flips.empty()) {
            text += fmt::format(" in all {} runs with one cost halved or doubled", one.runs);
        } else {
            text += fmt::format(" in {} of {} runs with one cost halved or doubled; ",
                                one.runs - one.flips.size(), one.runs);
            for (const std::string& flip : one.flips)
                text += (&flip == &one.flips.front() ? "" : ", ") + flip;
            mend = "it hangs on costs that are guesses; calibrate them, or ask a kernel";
        }
        data.warnings.push_back({"sensitivity", std::move(text), std::move(mend)});
    }
    return {};
}

}  // namespace mano::cli
