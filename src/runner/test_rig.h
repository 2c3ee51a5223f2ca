// SPDX-License-Identifier: GPL-2.0-or-later
// A substrate that never was and a store of its own: what the tests of the runner share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/rng.h"
#include "runner/runner.h"
#include "store/test_data.h"

namespace mano::runner::test {

using measure::Ending;
using measure::Moment;
using measure::TrialRecord;

// Whether a worker thread died while a trial was still running: its child processes would have been
// killed with it.
inline std::atomic<int> running_now = 0;
inline std::atomic<bool> died_early = false;
struct Canary {
    bool here = false;
    ~Canary() {
        if (here && running_now > 0) died_early = true;
    }
};

// A machine that never was: what a trial yields depends on its seed, arm and case alone.
class FakeSubstrate : public substrate::Substrate {
  public:
    using Behave = std::function<Result<TrialRecord>(const substrate::TrialRequest&, TrialRecord,
                                                     const std::function<bool()>& stop)>;
    Behave behave;  // may change what a trial yields
    unsigned most_jobs = 64;
    substrate::Identity machine = {{"accel", "tcg"}, {"qemu", "7.2.22"}};

    std::mutex mutex;
    std::vector<std::uint32_t> order;
    int most_at_once = 0;

    // While workers run, `order` is theirs: how many trials have begun so far.
    std::size_t begun() {
        const std::lock_guard guard(mutex);
        return order.size();
    }

    static TrialRecord record_of(const plan::PlannedTrial& trial) {
        Rng rng = Rng(trial.seed).split(trial.arm * 100 + trial.case_);
        TrialRecord record;
        record.ending = Ending::goodbye;
        for (std::uint32_t i = 0; i < 20; ++i) {
            record.samples.push_back({fmt::format("vmstat.k{}", i), 0, Moment::before, 0});
            record.samples.push_back({fmt::format("vmstat.k{}", i), 0, Moment::after, rng.unit()});
        }
        record.facts = {{"seed", std::to_string(trial.seed)}};
        record.console = std::string(rng.below(3000), 'c');
        record.host_ns = 1'000'000 + rng.below(1000);
        return record;
    }

    Status prepare(const plan::Plan&, const std::vector<kernels::Kernel>&) override { return {}; }
    substrate::Identity identity() const override { return machine; }
    std::vector<std::string> remarks() const override { return {}; }
    std::pair<unsigned, std::string> jobs(const plan::Plan&, unsigned wanted) const override {
        return {std::min(wanted, most_jobs), "memory"};
    }
    Result<TrialRecord> run(const substrate::TrialRequest& request,
                            const substrate::TrialProgress& progress,
                            const std::function<bool()>& stop) override {
        thread_local Canary canary;
        canary.here = true;
        const int at_once = ++running_now;
        {
            const std::lock_guard guard(mutex);
            order.push_back(request.trial.position);
            most_at_once = std::max(most_at_once, at_once);
        }
        struct Leave {
            ~Leave() { --running_now; }
        } leave;
        progress("boot");
        progress("probe 1/1");
        TrialRecord record = record_of(request.trial);
        if (behave) return behave(request, std::move(record), stop);
        return record;
    }
};

inline Result<TrialRecord> wait_for_stop(const std::function<bool()>& stop) {
    while (!stop())
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return fail(Code::interrupted, "stopped");
}

class RunnerTest : public ::testing::Test {
  protected:
    RunnerTest() { died_early = false; }
    std::filesystem::path file() const { return folder_.path() / "store.db"; }
    store::Store open() const {
        auto store = store::Store::open(file());
        if (!store) throw std::runtime_error(store.error().text());
        return std::move(*store);
    }
    Result<Outcome> go(store::Store& store, const std::string& id, FakeSubstrate& fake,
                       const Options& options = {}) {
        const auto runset = store.load(id, false, false);
        const std::vector<kernels::Kernel> kernels(runset->arms.size());
        return execute(store, id, fake, kernels, options);
    }
    // Every trial is done and is what an undisturbed run gives.
    void expect_whole(const std::string& id) const {
        store::Store store = open();
        const auto runset = store.load(id);
        ASSERT_TRUE(runset) << runset.error().text();
        EXPECT_EQ(runset->state, store::RunState::complete);
        for (const store::StoredTrial& trial : runset->trials) {
            ASSERT_TRUE(trial.done) << trial.planned.position;
            const TrialRecord want = FakeSubstrate::record_of(trial.planned);
            EXPECT_EQ(trial.record.ending, want.ending);
            EXPECT_EQ(trial.record.samples, want.samples);
            EXPECT_EQ(trial.record.facts, want.facts);
            EXPECT_EQ(trial.record.console, want.console);
        }
    }

  private:
    TempFolder folder_ = store::test::temp_folder();
};

}  // namespace mano::runner::test
