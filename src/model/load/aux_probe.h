// SPDX-License-Identifier: GPL-2.0-or-later
// The probe `aux` in the model: one task maps an AUX area for each CPU and unmaps them, some rounds
// long, by an AuxPolicy.
#pragma once

#include <optional>
#include <vector>

#include "model/load/probe.h"
#include "model/policy/policy.h"

namespace mano::model {

struct AuxProbeSettings {
    AuxArea area{AuxArea::Capability::prefer_large, 1024, 0, false};
    unsigned data_pages = 256;
    unsigned rounds = 1;
    double later_ns = 0;  // free blocks are counted once more that long after; 0: not
    const AuxPolicy* policy = nullptr;
};

class AuxProbe : public Task, public Probe {
  public:
    AuxProbe(unsigned cpu, const AuxProbeSettings& settings, std::uint64_t seed);
    Step step(Engine& engine, Cpu& cpu) override;
    void begin(Engine& engine) override;
    bool ended() const override { return at_ == At::ended; }
    Figures figures() const override;

  private:
    enum class At : std::uint8_t { ended, round, data, area, mapped, unmap, unmapped, later };
    struct Buffer {
        std::vector<Pfn> data;
        std::vector<Pfn> aux;
    };
    void begin_round(Engine& engine);
    void begin_buffer();
    Step take_data(Engine& engine, Cpu& cpu);
    Step take_area(Engine& engine, Cpu& cpu);
    bool take_chunk(Engine& engine, Cpu& cpu, Step& step, bool& failed);
    Step end_area(Engine& engine, Cpu& cpu, bool obtained);
    Step end_map(Engine& engine);
    Step unmap(Engine& engine, Cpu& cpu);
    unsigned first_order() const;

    AuxProbeSettings settings_;
    Rng rng_;
    At at_ = At::ended;
    unsigned rounds_left_ = 0;
    std::vector<unsigned> places_;  // CPUs in the order of this round
    std::size_t place_ = 0;
    std::vector<Buffer> buffers_;  // by CPU
    std::vector<unsigned> chunk_orders_;
    std::optional<unsigned> trying_;  // order of the chunk that is being asked for
    unsigned sticky_limit_ = kMaxOrder;
    bool obtained_ = false;
    double started_ = 0;    // of the area that is mapped or unmapped now
    double iteration_ = 0;  // when this iteration began
    double cpu_before_ = 0;
    BufferFigures all_;  // of the iteration
    FreeLook look_;
    bool held_seen_ = false;
};

}  // namespace mano::model
