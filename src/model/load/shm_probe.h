// SPDX-License-Identifier: GPL-2.0-or-later
// The probe `shm` in the model: workers make, touch and remove shared-memory files, and between two
// files make threads that die at once; a thread's stack comes from vmalloc and goes back by a
// VfreePolicy after a grace period, on the CPU where it died.
#pragma once

#include <memory>
#include <vector>

#include "model/load/probe.h"
#include "model/policy/policy.h"

namespace mano::model {

struct ShmSettings {
    unsigned workers = 4;
    std::uint32_t pages = 2048;  // of a file
    unsigned threads = 8;        // between two files
    double duration_ns = 3e9;
    const VfreePolicy* vfree = nullptr;
    bool large_stacks = true;  // vmalloc tries order 2 for a stack first (from 6.19 on)
};

class ShmWorker;
class StackReaper;

class ShmProbe : public Probe {
  public:
    ShmProbe(Engine& engine, const ShmSettings& settings, std::uint64_t seed);
    void begin(Engine& engine) override;
    bool ended() const override;
    Figures figures() const override;
    Figures counters() const override;

  private:
    Engine& engine_;
    ShmSettings settings_;
    std::vector<ShmWorker*> workers_;
    std::vector<StackReaper*> reapers_;
    double begun_ = 0, cpu_before_ = 0;
};

}  // namespace mano::model
