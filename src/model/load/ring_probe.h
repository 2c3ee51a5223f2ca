// SPDX-License-Identifier: GPL-2.0-or-later
// The probe `packet-ring` in the model: rings of blocks, each asked for as one piece without
// straining, then from vmalloc, then as one piece with more effort (alloc_one_pg_vec_page()).
#pragma once

#include <vector>

#include "model/load/probe.h"
#include "model/policy/policy.h"

namespace mano::model {

struct RingSettings {
    unsigned rings = 4;
    std::uint32_t pages = 1024;  // of a ring
    unsigned block_order = 8;
    unsigned rounds = 1;
    const VfreePolicy* vfree = nullptr;
    bool vmalloc_large = true;  // vmalloc tries large orders first (from 6.19 on)
};

class RingProbe : public Task, public Probe {
  public:
    RingProbe(unsigned cpu, const RingSettings& settings, std::uint64_t seed);
    Step step(Engine& engine, Cpu& cpu) override;
    void begin(Engine& engine) override;
    bool ended() const override { return at_ == At::ended; }
    Figures figures() const override;

  private:
    enum class At : std::uint8_t {
        ended,
        start,
        round,
        whole,
        vmalloc,
        again,
        made,
        drop,
        dropped
    };
    struct Block {
        std::vector<Pfn> pages;
        bool whole = false;
    };
    using Ring = std::vector<Block>;
    void begin_ring(Engine& engine);
    Step take_whole(Engine& engine, Cpu& cpu, bool harder);
    Step take_vmalloc(Engine& engine, Cpu& cpu);
    Step block_done(Block block);
    Step ring_done(bool obtained);
    Step made(Engine& engine);
    Step drop(Engine& engine, Cpu& cpu);
    Step dropped(Engine& engine);
    void release(Machine& machine, Cpu& cpu, Ring& ring) const;
    void count_chunks(const Block& block);

    RingSettings settings_;
    Rng rng_;
    At at_ = At::ended;
    unsigned rounds_left_ = 0;
    std::vector<Ring> rings_;
    std::vector<unsigned> places_;  // the order in which they go
    std::size_t place_ = 0;
    Block partial_;  // what vmalloc has so far
    unsigned largest_ = kMaxOrder;
    bool failed_ = false, held_seen_ = false;
    double started_ = 0, iteration_ = 0, cpu_before_ = 0;
    BufferFigures all_;  // of the iteration
    FreeLook look_;
};

}  // namespace mano::model
