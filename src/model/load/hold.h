// SPDX-License-Identifier: GPL-2.0-or-later
// The pressure `hold` in the model: workers fill memory, punch holes, and sleep. What the agent's
// hold does in a guest, with the same words.
#pragma once

#include <vector>

#include "model/load/pressure.h"

namespace mano::model {

struct HoldSettings {
    double demand = 0.9;  // held in the end ÷ available at the start
    unsigned workers = 4;
    unsigned folio_order = 0;  // asked for by madvise; 0: base pages
    double punch = 0;          // share of chunks given back
    unsigned punch_pages = 4;  // of a chunk
};

class HoldWorker;

class Hold : public Pressure {
  public:
    Hold(Engine& engine, const HoldSettings& settings, std::uint64_t seed);
    bool up() const override;  // every worker holds its share
    bool killed() const override;
    Figures figures() const override;
    std::uint64_t resident() const;  // pages
    std::uint64_t swapped() const;
    std::uint64_t demand_pages() const { return demand_; }
    // (resident + swapped) ÷ available at the start.
    double level() const;

  private:
    std::vector<HoldWorker*> workers_;
    std::uint64_t available_ = 0;
    std::uint64_t demand_ = 0;
};

// How an anonymous fault takes its page: by mTHP order first (alloc_anon_folio, defrag=madvise and
// the range madvised), else a single page. Shared by the loads that touch memory.
Request folio_request(unsigned order, unsigned node);
Request page_request(unsigned node);

}  // namespace mano::model
