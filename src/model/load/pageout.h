// SPDX-License-Identifier: GPL-2.0-or-later
// The pressure `pageout` in the model: workers touch their memory and have it paged out with
// MADV_PAGEOUT, over and over. What of that may be preempted is as in
// madvise_cold_or_pageout_pte_range(): a table of up to 512 entries is gone over under its lock,
// which is let go every `break_every` entries if somebody wants the CPU; what was found is then
// written out, page by page, without the lock.
#pragma once

#include <optional>
#include <vector>

#include "model/load/pressure.h"

namespace mano::model {

struct PageoutSettings {
    unsigned workers = 4;
    std::uint32_t pages = 12288;                         // of each
    double pause_ns = 0;                                 // between two rounds, drawn around this
    std::optional<unsigned> break_every = kSwapCluster;  // entries; nullopt: never
};

class PageoutWorker;

class Pageout : public Pressure {
  public:
    Pageout(Engine& engine, const PageoutSettings& settings, std::uint64_t seed);
    bool up() const override;  // each has paged out its memory once
    bool killed() const override;
    Figures figures() const override;

  private:
    std::vector<PageoutWorker*> workers_;
};

}  // namespace mano::model
