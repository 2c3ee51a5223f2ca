// SPDX-License-Identifier: GPL-2.0-or-later
// __alloc_pages_slowpath() as a state machine: an allocation that the fast path couldn't serve,
// stage by stage, so that kswapd and others run in between. Knows memory and compaction; time only
// as the naps it asks for.
#pragma once

#include "model/compaction.h"

namespace mano::model {

constexpr double kJiffyNs = 4e6;  // HZ=250

// One pass of direct reclaim at one priority over the request's nodes (shrink_zones); shared with
// kswapd by its parts.
struct ReclaimControl {
    unsigned order = 0;
    ZoneIndex highest = kNormal;
    unsigned priority = kDefPriority;
    std::uint64_t target = kSwapCluster;
    Reclaimed done;
    bool kswapd = false;
    bool compaction_ready = false;
};
void shrink_node(Memory& memory, Cpu& cpu, Node& node, ReclaimControl& control);

struct Stage {
    enum class What : std::uint8_t { again, nap, done } what = What::again;
    double nap_ns = 0;
    Pfn page = kNoPage;  // when done: kNoPage is a failure
};

class SlowPath {
  public:
    void start(Memory& memory, const Request& request);
    Stage step(Cpu& cpu);
    // Whether the stage that comes is inside psi_memstall_enter() … _leave().
    bool in_memstall() const { return memstall_; }
    bool out_of_memory() const { return oom_; }

  private:
    enum class At : std::uint8_t {
        retry,
        decide_reclaim,
        throttle,
        reclaim,
        after_reclaim,
        compact_start,
        compact,
        judge,
        oom,
    };
    Stage on(At next) {
        at_ = next;
        return {};
    }
    Stage done(Pfn page) {
        memstall_ = false;
        if (page != kNoPage) memory_->machine().got(request_);
        return {Stage::What::done, 0, page};
    }
    Stage fail();
    Stage retry(Cpu& cpu);
    Stage throttle();
    Stage begin_reclaim();
    Stage reclaim(Cpu& cpu);
    Stage after_reclaim(Cpu& cpu);
    Stage begin_compaction();
    Stage compact(Cpu& cpu);
    Stage judge();
    Stage out_of_memory_stage(Cpu& cpu);
    bool should_reclaim_retry();
    bool should_compact_retry();
    void count_allocstall();
    AllocFlags reserve_flags() const;
    bool has(Gfp flag) const { return (request_.flags & flag) != 0; }

    Memory* memory_ = nullptr;
    Request request_;
    At at_ = At::retry;
    AllocFlags flags_ = 0;
    ZoneIndex highest_ = kNormal;
    CompactMode mode_ = CompactMode::sync_light;
    bool compact_first_ = false;
    bool memstall_ = false;
    bool oom_ = false;
    bool drained_ = false;
    unsigned no_progress_ = 0;
    unsigned compactions_ = 0;
    unsigned naps_ = 0;
    std::uint64_t progress_ = 0;
    ReclaimControl control_;
    Compaction compaction_;
    CompactResult compact_result_ = CompactResult::skipped;
};

}  // namespace mano::model
