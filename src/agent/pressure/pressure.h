// SPDX-License-Identifier: GPL-2.0-or-later
// A pressure: what brings the machine to a stated level and keeps it there. One table, no
// registration; a new pressure is a line in kPressures (pressure.cpp) and a schema in src/plan.
#pragma once

#include "agent/agent.h"

namespace mano::agent {

struct Pressure {
    plan::LoadId id;
    // Brings the pressure up, verified. false: an ending has been written.
    bool (*start)(Agent& agent);
    // Before and after each iteration: is it still what it should be? Writes its level as values.
    // false: an ending has been written.
    bool (*verify)(Agent& agent, std::uint32_t iteration, std::uint8_t moment);
    void (*stop)(Agent& agent);
};

// nullptr: the plan names a pressure that this agent doesn't have.
const Pressure* find_pressure(plan::LoadId id);

bool hold_start(Agent& agent);
bool hold_verify(Agent& agent, std::uint32_t iteration, std::uint8_t moment);
void hold_stop(Agent& agent);
bool churn_start(Agent& agent);
bool churn_verify(Agent& agent, std::uint32_t iteration, std::uint8_t moment);
bool pageout_start(Agent& agent);
bool pageout_verify(Agent& agent, std::uint32_t iteration, std::uint8_t moment);

// For pressures whose workers do one thing over and over. What they have done so far, as `metric`:
void log_rounds(Agent& agent, std::string_view metric, std::uint32_t iteration,
                std::uint8_t moment);
// false: one of them (`worker`: "a churning worker") has ended; an ending has been written.
bool is_whole(Agent& agent, std::string_view worker);
// Lets them end their round, for a second at most.
void stop_rounds(Agent& agent);

}  // namespace mano::agent
