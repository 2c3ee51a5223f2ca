// SPDX-License-Identifier: GPL-2.0-or-later
// The probe `timer` in the model: on each CPU a real-time task that sleeps to absolute times and
// counts how late it runs.
#pragma once

#include <vector>

#include "model/load/probe.h"

namespace mano::model {

struct TimerSettings {
    double interval_ns = 1e6;
    double duration_ns = 4e9;
};

class Timer;

class TimerProbe : public Probe {
  public:
    TimerProbe(Engine& engine, const TimerSettings& settings, std::uint64_t seed);
    void begin(Engine& engine) override;
    bool ended() const override;
    Figures figures() const override;

  private:
    Engine& engine_;
    std::vector<Timer*> timers_;
    double cpu_before_ = 0;
};

}  // namespace mano::model
