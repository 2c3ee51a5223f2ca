// SPDX-License-Identifier: GPL-2.0-or-later
// One execution of a run set: worker threads that take trials in the plan's order, and the caller's
// thread, which tells the listener and asks for the stop. Inside of runner only.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runner/estimate.h"
#include "runner/proof.h"
#include "runner/runner.h"

namespace mano::runner {

// This many environment errors in a row mean that the machine can't do it.
constexpr std::size_t kEnvironmentErrors = 3;

class Crew {
  public:
    // `runset` as loaded from `store`. `jobs` 0: there is nothing left to run. `rows`: only the
    // first so many trials of each arm and case.
    Crew(store::Store& store, const store::RunSet& runset, substrate::Substrate& substrate,
         const std::vector<kernels::Kernel>& kernels, const Options& options, unsigned jobs,
         Proofs proofs, std::uint32_t rows);
    void note(std::string text);
    Result<Outcome> run();

  private:
    using Clock = std::chrono::steady_clock;

    // On worker threads.
    void work();
    void work_on_trials();
    std::optional<plan::PlannedTrial> take();
    Result<measure::TrialRecord> attempt(const plan::PlannedTrial& trial);
    void settle(const plan::PlannedTrial& trial, Result<measure::TrialRecord> result);
    void settle_error(const plan::PlannedTrial& trial, Error error);
    void keep(const plan::PlannedTrial& trial, const measure::TrialRecord& record);
    void keep_deferred();

    // On the caller's thread.
    void follow();
    bool deliver(std::unique_lock<std::mutex>& lock);
    void settle_deferred();
    tl::unexpected<Error> explained(const Error& cause) const;  // when no worker is left

    // From any thread.
    bool ask_stop();
    void give_up(Error error);
    void emit(Event::What what, std::uint32_t position, std::string text);
    void post(Event::What what, std::uint32_t position, std::string text);  // under mutex_
    double seconds_left() const;                                            // under mutex_

    store::Store& store_;
    const store::RunSet& runset_;
    substrate::Substrate& substrate_;
    const std::vector<kernels::Kernel>& kernels_;
    const Options& options_;
    const unsigned jobs_;
    const Proofs proofs_;

    std::atomic<bool> halt_ = false;         // no further trial; those that run give up
    std::atomic<bool> interrupted_ = false;  // because the user said so
    std::mutex stop_mutex_;                  // around options_.stop

    mutable std::mutex mutex_;  // around all that follows
    std::condition_variable news_;
    std::condition_variable all_done_;
    std::deque<Event> events_;
    std::vector<plan::PlannedTrial> todo_;
    std::size_t next_ = 0;
    std::uint32_t total_ = 0;  // trials up to the last of these rows
    std::map<std::uint32_t, std::pair<plan::PlannedTrial, Clock::time_point>> running_;
    unsigned working_ = 0;  // workers that may still take a trial
    Outcome outcome_;
    std::uint32_t ended_here_ = 0;  // trials stored by this execution
    Estimate estimate_;
    std::optional<Error> error_;  // the first that stopped the run
    // Environment errors in a row, not stored until it is known that others can be tried.
    std::vector<std::pair<plan::PlannedTrial, Error>> deferred_;
};

}  // namespace mano::runner
