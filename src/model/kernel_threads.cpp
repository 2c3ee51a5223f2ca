// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/kernel_threads.h"

#include <algorithm>

namespace mano::model {
namespace {

// mm/vmscan.c: kswapd(), balance_pgdat().
class Kswapd : public Task {
  public:
    Kswapd(unsigned node, unsigned cpu) : Task(Group::kernel, cpu), node_(node) {}

    Step step(Engine& engine, Cpu& cpu) override {
        Memory& memory = engine.memory();
        Node& node = memory.machine().nodes()[node_];
        if (!node.kswapd_awake) return {Step::What::park, 0};
        if (!running_) begin(engine, node);
        cpu.work.add(Work::slow);
        if (memory.machine().balanced(node, order_, highest_) && boost_left() == 0)
            return finish(engine, node);
        const std::uint64_t before = control_.done.pages;
        shrink_node(memory, cpu, node, control_);
        boosted_ -= std::min(boosted_, control_.done.pages - before);
        // A costly order is kcompactd's, once there is room for it to work.
        if (order_ > 0 && control_.done.pages >=
                              compact_gap(order_, memory.machine().variant().compact_gap_capped)) {
            order_ = 0;
            control_.order = 0;
        }
        const bool progress = control_.done.pages > before;
        if (!progress || control_.done.pages < control_.target) --control_.priority;
        if (control_.priority > 0) return {};
        if (control_.done.pages == 0) ++node.kswapd_failures;
        return finish(engine, node);
    }

  private:
    std::uint64_t boost_left() const { return boosted_; }

    void begin(Engine& engine, Node& node) {
        running_ = true;
        set_memstall(true);
        ++engine.machine().counters()[Counter::pageoutrun];
        order_ = wanted_order_ = node.kswapd_order;
        highest_ = node.kswapd_highest;
        control_ = {};
        control_.kswapd = true;
        control_.order = order_;
        control_.highest = highest_;
        boosted_ = 0;
        std::uint64_t target = 0;
        for (Zone* zone : node.zones) {
            if (zone->index() > highest_) continue;
            zone->reclaim_active = true;
            boosted_ += zone->boost();
            target += std::max<std::uint64_t>(zone->mark(kWmarkHigh), kSwapCluster);
        }
        control_.target = target;
    }

    Step finish(Engine& engine, Node& node) {
        running_ = false;
        set_memstall(false);
        for (Zone* zone : node.zones) {
            zone->reclaim_active = false;
            zone->set_boost(0);
        }
        if (control_.done.pages > 0) node.kswapd_failures = 0;
        if (wanted_order_ > 0 && !node.kcompactd_awake) {
            node.kcompactd_awake = true;
            node.kcompactd_order = wanted_order_;
        }
        const bool again =
            node.kswapd_failures < kMaxRetries && !engine.machine().balanced(node, 0, highest_);
        node.kswapd_order = 0;
        if (again) return {};
        node.kswapd_awake = false;
        node.kswapd_highest = kDma;
        return {Step::What::park, 0};
    }

    unsigned node_;
    bool running_ = false;
    unsigned order_ = 0;
    unsigned wanted_order_ = 0;
    ZoneIndex highest_ = kNormal;
    std::uint64_t boosted_ = 0;
    ReclaimControl control_;
};

// mm/compaction.c: kcompactd_do_work().
class Kcompactd : public Task {
  public:
    Kcompactd(unsigned node, unsigned cpu) : Task(Group::kernel, cpu), node_(node) {}

    Step step(Engine& engine, Cpu& cpu) override {
        Node& node = engine.machine().nodes()[node_];
        if (!node.kcompactd_awake) return {Step::What::park, 0};
        if (!running_) {
            running_ = true;
            set_memstall(true);
            ++engine.machine().counters()[Counter::compact_daemon_wake];
            Request request;
            request.flags = gfp::kKernel;
            request.order = node.kcompactd_order;
            request.node = node_;
            compaction_.start(engine.memory(), request, kWmarkHigh, CompactMode::sync_light, false);
            return {};
        }
        if (compaction_.round(cpu)) return {};
        running_ = false;
        set_memstall(false);
        node.kcompactd_awake = false;
        node.kcompactd_order = 0;
        return {Step::What::park, 0};
    }

  private:
    unsigned node_;
    bool running_ = false;
    Compaction compaction_;
};

}  // namespace

std::unique_ptr<Task> make_kswapd(unsigned node, unsigned cpu) {
    return std::make_unique<Kswapd>(node, cpu);
}
std::unique_ptr<Task> make_kcompactd(unsigned node, unsigned cpu) {
    return std::make_unique<Kcompactd>(node, cpu);
}

}  // namespace mano::model
