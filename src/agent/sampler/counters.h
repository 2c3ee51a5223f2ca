// SPDX-License-Identifier: GPL-2.0-or-later
// Tracepoint counters: perf_event_open, one event per CPU and counter, with the plan's filter; ids
// come from the running kernel's tracefs. Opened before the pressure, read into the log.
#pragma once

#include <cstdint>

#include "plan/plan_view.h"
#include "wire/writer.h"

namespace mano::agent {

class Counters {
  public:
    // Opens all of the plan's counters. A counter that this kernel can't give (no such event,
    // filter refused) is said in the log as a loss and stays absent: not available here, never
    // zero.
    void open(const plan::PlanView& plan, wire::Writer& log);
    void take(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment) const;

  private:
    static constexpr std::size_t kMaxFds = 4096;
    struct Counter {
        std::uint32_t first = 0;  // index of its first descriptor
        std::uint32_t cpus = 0;   // 0: not available
        std::uint16_t index = 0;  // into the plan
    };
    Counter counters_[plan::kMaxCounters] = {};
    std::size_t count_ = 0;
    int* fds_ = nullptr;
    std::size_t fd_count_ = 0;
};

}  // namespace mano::agent
