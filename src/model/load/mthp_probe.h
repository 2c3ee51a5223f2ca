// SPDX-License-Identifier: GPL-2.0-or-later
// The probe `mthp` in the model: maps memory, touches it in folios of one size, unmaps it, and
// begins again until the time is over.
#pragma once

#include "model/load/probe.h"

namespace mano::model {

struct MthpSettings {
    unsigned folio_order = 4;
    std::uint32_t pages = 16384;  // of the mapping
    double duration_ns = 0;       // 0: once
};

class MthpProbe : public Task, public Probe {
  public:
    MthpProbe(Engine& engine, unsigned cpu, const MthpSettings& settings, std::uint64_t seed);
    Step step(Engine& engine, Cpu& cpu) override;
    void begin(Engine& engine) override;
    bool ended() const override { return ended_; }
    Figures figures() const override;
    Figures counters() const override;

  private:
    bool fault(Engine& engine, Cpu& cpu, Step& step);
    Step end_round(Engine& engine, Cpu& cpu);

    MthpSettings settings_;
    Rng rng_;
    AddressSpace& space_;
    bool ended_ = true;
    bool in_fault_ = false;
    bool fault_done_ = false;
    bool single_ = false;  // this fault has given up on a folio
    bool failed_ = false;
    std::uint32_t at_ = 0;
    std::uint32_t singles_until_ = 0;
    double begun_ = -1, fault_began_ = 0, time_ns_ = 0, cpu_ns_ = 0, cpu_before_ = 0;
    Timed faults_;
    std::uint64_t fault_count_ = 0, rounds_ = 0, touched_ = 0, errors_ = 0;
    std::uint64_t got_ = 0, fell_back_ = 0;  // over all iterations
};

}  // namespace mano::model
