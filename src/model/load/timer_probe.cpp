// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/timer_probe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mano::model {

class Timer : public Task {
  public:
    Timer(unsigned cpu, const TimerSettings& settings, std::uint64_t seed)
        : Task(Group::probe, cpu, true), settings_(settings), rng_(seed) {}

    void begin(Engine& engine) {
        late_.clear();
        woken_ = 0;
        ended_ = false;
        start_ = engine.now() +
                 static_cast<double>(rng_.below(static_cast<std::uint64_t>(settings_.interval_ns)));
        due_ = start_;
        engine.wake(*this, due_);
    }
    bool ended() const { return ended_; }
    double time_ns() const { return ended_at_ - start_; }
    const std::vector<double>& late() const { return late_; }

    Step step(Engine& engine, Cpu& cpu) override {
        if (ended_) return {Step::What::park, 0};
        cpu.work.add(Work::wake);
        const double now = engine.now() + engine.cost(Work::wake);
        // As the agent's: the first wake-ups aren't counted.
        constexpr unsigned kWarm = 8;
        if (woken_++ >= kWarm) late_.push_back(now - due_);
        // Times that went by while it was late are one wake-up, not many.
        const double missed = std::floor((now - due_) / settings_.interval_ns);
        due_ += settings_.interval_ns * (1 + missed);
        if (due_ - start_ < settings_.duration_ns) return {Step::What::nap, due_ - now};
        ended_ = true;
        ended_at_ = now;
        return {Step::What::park, 0};
    }

  private:
    TimerSettings settings_;
    Rng rng_;
    bool ended_ = true;
    double start_ = 0, due_ = 0, ended_at_ = 0;
    unsigned woken_ = 0;
    std::vector<double> late_;
};

TimerProbe::TimerProbe(Engine& engine, const TimerSettings& settings, std::uint64_t seed)
    : engine_(engine) {
    const Rng rng(seed);
    for (unsigned cpu = 0; cpu < engine.machine().cpus(); ++cpu) {
        auto timer = std::make_unique<Timer>(cpu, settings, rng.split(cpu).next());
        timers_.push_back(timer.get());
        engine.add(std::move(timer), engine.now());
    }
}

void TimerProbe::begin(Engine& engine) {
    cpu_before_ = engine.cpu_ns(Group::probe);
    for (Timer* timer : timers_)
        timer->begin(engine);
}

bool TimerProbe::ended() const {
    return std::all_of(timers_.begin(), timers_.end(),
                       [](const Timer* timer) { return timer->ended(); });
}

Figures TimerProbe::figures() const {
    std::vector<double> late;
    double time = 0;
    for (const Timer* timer : timers_) {
        late.insert(late.end(), timer->late().begin(), timer->late().end());
        time += timer->time_ns();
    }
    Figures out{{"probe.time_ns", time},
                {"probe.cpu_ns", engine_.cpu_ns(Group::probe) - cpu_before_},
                {"probe.timer.wakeups", static_cast<double>(late.size())},
                {"probe.timer.page_faults", 0}};
    if (late.empty()) return out;
    std::sort(late.begin(), late.end());
    const auto count = static_cast<double>(late.size());
    out["probe.timer.max_ns"] = late.back();
    out["probe.timer.mean_ns"] = std::accumulate(late.begin(), late.end(), 0.0) / count;
    struct Quantile {
        const char* name;
        double share;
    };
    // A quantile means something where ten wake-ups lie above it.
    for (const Quantile& one :
         {Quantile{"probe.timer.p50_ns", 0.5}, Quantile{"probe.timer.p99_ns", 0.99},
          Quantile{"probe.timer.p99_9_ns", 0.999}, Quantile{"probe.timer.p99_99_ns", 0.9999}}) {
        if (count * (1 - one.share) >= 10)
            out[one.name] = late[static_cast<std::size_t>(one.share * count)];
    }
    return out;
}

}  // namespace mano::model
