// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner/crew.h"

#include <exception>
#include <system_error>
#include <thread>

namespace mano::runner {

namespace {

// How often the stop is asked for when nothing happens: well below the two seconds within which a
// run has to end.
constexpr auto kTick = std::chrono::milliseconds(50);

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) * 1e-9;
}

measure::TrialRecord harness_fault(const Error& error) {
    measure::TrialRecord record;
    record.ending = measure::Ending::harness_fault;
    record.evidence = error.text();
    return record;
}

}  // namespace

Crew::Crew(store::Store& store, const store::RunSet& runset, substrate::Substrate& substrate,
           const std::vector<kernels::Kernel>& kernels, const Options& options, unsigned jobs,
           Proofs proofs, std::uint32_t rows)
    : store_(store),
      runset_(runset),
      substrate_(substrate),
      kernels_(kernels),
      options_(options),
      jobs_(jobs),
      proofs_(std::move(proofs)) {
    outcome_.runset = runset.id;
    for (const store::StoredTrial& trial : runset.trials) {
        if (trial.done || trial.planned.row < rows) ++total_;
        if (!trial.done) {
            if (trial.planned.row < rows) todo_.push_back(trial.planned);
            continue;
        }
        ++outcome_.done;
        if (trial.standing == measure::Standing::failed) ++outcome_.failed;
        if (trial.standing == measure::Standing::spoiled) {
            ++outcome_.spoiled;
        } else if (trial.record.host_ns > 0) {
            estimate_.ended(trial.planned, seconds(trial.record.host_ns));
        }
    }
}

void Crew::note(std::string text) {
    emit(Event::What::note, 0, std::move(text));
}

Result<Outcome> Crew::run() {
    working_ = jobs_;
    std::vector<std::thread> threads;
    try {
        for (unsigned i = 0; i < jobs_; ++i)
            threads.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
        // With at least one worker the run only takes longer.
        if (threads.empty()) {
            return fail(Code::environment, "no thread can be made: {}", error.what());
        }
        const std::lock_guard guard(mutex_);
        working_ -= jobs_ - static_cast<unsigned>(threads.size());
        all_done_.notify_all();
    }
    follow();
    for (std::thread& thread : threads)
        thread.join();
    settle_deferred();
    // Only now is it known how many trials are kept: others ended while the run was being stopped.
    if (error_) return explained(*error_);
    outcome_.interrupted = interrupted_;
    if (outcome_.done == runset_.trials.size()) {
        outcome_.interrupted = false;
        if (Status status = store_.complete(runset_.id); !status) {
            return explained(status.error());
        }
    }
    return outcome_;
}

void Crew::work() {
    try {
        work_on_trials();
    } catch (const std::exception& error) {
        give_up(Error{Code::internal, fmt::format("a worker died: {}", error.what()), nullptr});
    }
    // A child process dies with the thread that made it, and a substrate may hand children on: no
    // thread ends before all are done.
    std::unique_lock lock(mutex_);
    --working_;
    news_.notify_all();
    all_done_.notify_all();
    all_done_.wait(lock, [this] { return working_ == 0; });
}

void Crew::work_on_trials() {
    while (const std::optional<plan::PlannedTrial> trial = take()) {
        emit(Event::What::trial_started, trial->position,
             fmt::format("{}{}{}", runset_.plan.arms[trial->arm].name,
                         runset_.plan.cases[trial->case_].name.empty() ? "" : " ",
                         runset_.plan.cases[trial->case_].name));
        Result<measure::TrialRecord> result = attempt(*trial);
        settle(*trial, std::move(result));
        const std::lock_guard guard(mutex_);
        running_.erase(trial->position);
    }
}

std::optional<plan::PlannedTrial> Crew::take() {
    const std::lock_guard guard(mutex_);
    if (halt_ || next_ >= todo_.size()) return std::nullopt;
    const plan::PlannedTrial trial = todo_[next_++];
    running_[trial.position] = {trial, Clock::now()};
    return trial;
}

Result<measure::TrialRecord> Crew::attempt(const plan::PlannedTrial& trial) {
    const Clock::time_point start = Clock::now();
    const substrate::TrialProgress progress = [this, &trial](std::string_view phase) {
        emit(Event::What::trial_phase, trial.position, std::string(phase));
    };
    try {
        auto result = substrate_.run({runset_.plan, trial, kernels_[trial.arm]}, progress,
                                     [this] { return halt_.load(); });
        if (result && result->host_ns == 0) {
            result->host_ns = static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
        }
        return result;
    } catch (const std::exception& error) {
        return fail(Code::internal, "the substrate threw: {}", error.what());
    } catch (...) {
        return fail(Code::internal, "the substrate threw something unknown");
    }
}

void Crew::settle(const plan::PlannedTrial& trial, Result<measure::TrialRecord> result) {
    if (!result) return settle_error(trial, std::move(result).error());
    proofs_.judge(*result);
    // A terminal's Ctrl-C reaches the guests too, and so may an operator's kill: a trial that such
    // a stop spoiled stays planned, to be run by --resume.
    const bool spoiled = measure::standing(result->ending) == measure::Standing::spoiled;
    if (spoiled && (ask_stop() || halt_)) return;
    keep_deferred();
    keep(trial, *result);
}

void Crew::settle_error(const plan::PlannedTrial& trial, Error error) {
    if (ask_stop() || halt_) return;
    if (error.code == Code::interrupted) {
        interrupted_ = true;
        halt_ = true;
        return;
    }
    if (error.code != Code::environment) {
        keep_deferred();
        keep(trial, harness_fault(error));
        return;
    }
    bool hopeless = false;
    {
        const std::lock_guard guard(mutex_);
        deferred_.emplace_back(trial, error);
        hopeless = deferred_.size() >= kEnvironmentErrors;
    }
    if (hopeless) give_up(std::move(error));
}

void Crew::keep_deferred() {
    std::vector<std::pair<plan::PlannedTrial, Error>> deferred;
    {
        const std::lock_guard guard(mutex_);
        // A run that is being stopped leaves them planned, for --resume.
        if (halt_) return;
        deferred.swap(deferred_);
    }
    for (const auto& [trial, error] : deferred)
        keep(trial, harness_fault(error));
}

void Crew::keep(const plan::PlannedTrial& trial, const measure::TrialRecord& record) {
    const Status stored = store_.finish_trial(runset_.id, trial.position, record);
    if (!stored) return give_up(stored.error());
    const measure::Standing standing = measure::standing(record.ending);
    const std::lock_guard guard(mutex_);
    running_.erase(trial.position);
    ++ended_here_;
    ++outcome_.done;
    if (standing == measure::Standing::failed) ++outcome_.failed;
    if (standing == measure::Standing::spoiled) ++outcome_.spoiled;
    if (standing != measure::Standing::spoiled && record.host_ns > 0) {
        estimate_.ended(trial, seconds(record.host_ns));
    }
    // Counted and told under one lock: the listener sees every count once.
    post(Event::What::trial_ended, trial.position, std::string(measure::name_of(record.ending)));
}

// The last trials of a run may fail for want of something: with nothing else ended in this
// execution the machine can't do it at all; otherwise these trials are spoiled like any other.
void Crew::settle_deferred() {
    if (error_ || interrupted_ || deferred_.empty()) return;
    if (ended_here_ == 0) {
        error_ = deferred_.back().second;
        return;
    }
    keep_deferred();
    std::unique_lock lock(mutex_);
    deliver(lock);
}

void Crew::follow() {
    std::unique_lock lock(mutex_);
    while (true) {
        news_.wait_for(lock, kTick, [this] { return !events_.empty() || working_ == 0; });
        if (!deliver(lock)) return;
        if (working_ == 0 && events_.empty()) return;
        lock.unlock();
        try {
            ask_stop();
        } catch (const std::exception& error) {
            give_up(Error{Code::internal, fmt::format("asking for the stop: {}", error.what()),
                          nullptr});
            return;
        }
        lock.lock();
    }
}

// Tells the listener all events so far, without the lock, so that a slow terminal holds up nobody.
bool Crew::deliver(std::unique_lock<std::mutex>& lock) {
    std::deque<Event> events;
    events.swap(events_);
    if (!options_.listen) return true;
    lock.unlock();
    bool good = true;
    try {
        for (const Event& event : events)
            options_.listen(event);
    } catch (const std::exception& error) {
        give_up(
            Error{Code::internal, fmt::format("showing the progress: {}", error.what()), nullptr});
        good = false;
    }
    lock.lock();
    return good;
}

bool Crew::ask_stop() {
    const std::lock_guard guard(stop_mutex_);
    if (!interrupted_ && options_.stop && options_.stop()) {
        interrupted_ = true;
        halt_ = true;
    }
    return interrupted_;
}

void Crew::give_up(Error error) {
    const std::lock_guard guard(mutex_);
    if (!error_) error_ = std::move(error);
    halt_ = true;
}

void Crew::emit(Event::What what, std::uint32_t position, std::string text) {
    const std::lock_guard guard(mutex_);
    post(what, position, std::move(text));
}

void Crew::post(Event::What what, std::uint32_t position, std::string text) {
    const double left = seconds_left();
    // A substrate may tell phases faster than a terminal can show them: the newest is enough.
    const bool replaces = what == Event::What::trial_phase && !events_.empty() &&
                          events_.back().what == what && events_.back().position == position;
    if (replaces) events_.pop_back();
    events_.push_back({what, position, outcome_.done, total_, left, std::move(text)});
    news_.notify_all();
}

double Crew::seconds_left() const {
    std::vector<Estimate::Running> running;
    const Clock::time_point now = Clock::now();
    for (const auto& [position, one] : running_) {
        running.push_back({one.first, std::chrono::duration<double>(now - one.second).count()});
    }
    return estimate_.seconds_left(std::span(todo_).subspan(next_), running, jobs_);
}

tl::unexpected<Error> Crew::explained(const Error& cause) const {
    return wrap(cause,
                "the run stopped with {} of {} trials done; they are kept in the store. When the "
                "cause is mended, go on with `manometer run --resume {} --store {}`",
                outcome_.done, runset_.trials.size(), runset_.id, store_.path().string());
}

}  // namespace mano::runner
