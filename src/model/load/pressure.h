// SPDX-License-Identifier: GPL-2.0-or-later
// What the pressures of the model share: they come up by themselves, and then stay.
#pragma once

#include "model/load/probe.h"

namespace mano::model {

class Pressure {
  public:
    virtual ~Pressure() = default;
    virtual bool up() const = 0;
    // One of its tasks found no memory at all.
    virtual bool killed() const = 0;
    // As it stands, under the metrics' names; read before and after an iteration.
    virtual Figures figures() const = 0;
};

}  // namespace mano::model
