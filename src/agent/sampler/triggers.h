// SPDX-License-Identifier: GPL-2.0-or-later
// Would a low-memory killer have acted? PSI triggers, registered as Android's lmkd registers them,
// and the rule by which oomd decides from PSI's averages. Looked at whenever the agent wakes; the
// number of times that each fired in an iteration goes into the log. Knows nothing of loads.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string_view>

#include "plan/plan_view.h"
#include "wire/writer.h"

namespace mano::agent {

class Triggers {
  public:
    // Registers all of the plan's. One that this kernel refuses is said in the log as a loss and
    // stays absent.
    // `probe_pressure`: the memory.pressure of the probe's cgroup, empty where there is none.
    void open(const plan::PlanView& plan, std::string_view probe_pressure, wire::Writer& log);
    // Forgets what fired so far: an iteration begins.
    void start();
    // Counts what has fired since the last look. A PSI trigger fires once in its window at most (of
    // half a second or more), so looking twenty times a second misses none.
    void look();
    // How long after the end of a stall the kernel may still report it: it looks at a trigger's
    // growth ten times in a window. 0: there are none.
    std::uint64_t settle_ns() const { return settle_ns_; }
    void take(wire::Writer& log, std::uint32_t iteration) const;

  private:
    struct Trigger {
        plan::TriggerView what;
        std::uint64_t fired = 0;
        bool open = false;
        // Of the rule: when PSI rose beyond the limit (0: it isn't beyond), the average at the last
        // look, and until when it keeps quiet after having fired.
        std::uint64_t beyond_since = 0, quiet_until = 0;
        double last_avg10 = 100;
    };
    void rule(Trigger& trigger, int fd, std::uint64_t now);

    Trigger triggers_[plan::kMaxTriggers] = {};
    pollfd fds_[plan::kMaxTriggers] = {};
    std::size_t count_ = 0;
    std::uint64_t settle_ns_ = 0;
    std::uint64_t next_rule_ = 0;
};

}  // namespace mano::agent
