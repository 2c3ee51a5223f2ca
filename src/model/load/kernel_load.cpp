// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/kernel_load.h"

#include <algorithm>

namespace mano::model {
namespace {

struct Piece {
    Pfn head;
    unsigned order;
};

// Slab sizes: mostly single pages, now and then up to order 3; some reclaimable (inodes, dentries).
Request slab_request(Rng& rng, unsigned node) {
    Request request;
    request.node = node;
    request.flags = gfp::kKernel | gfp::kComp | gfp::kNowarn;
    if (rng.below(3) == 0) request.flags |= gfp::kReclaimable;
    const std::uint64_t dice = rng.below(20);
    request.order = dice < 14 ? 0 : dice < 17 ? 1 : dice < 19 ? 2 : 3;
    return request;
}

class Background : public Task {
  public:
    Background(unsigned cpu, double rate, std::uint64_t seed)
        : Task(Group::kernel, cpu), gap_ns_(1e9 / rate), rng_(seed) {}

    Step step(Engine& engine, Cpu& cpu) override {
        Step step;
        if (!asked_) {
            if (held_.size() > kMost || (held_.size() > kLeast && rng_.below(2) == 0)) {
                const std::size_t which = rng_.below(held_.size());
                engine.machine().free_pages(cpu, held_[which].head, held_[which].order);
                held_[which] = held_.back();
                held_.pop_back();
                return nap();
            }
            request_ = slab_request(rng_, cpu.node);
            asked_ = true;
        }
        Pfn page = kNoPage;
        if (!allocate(engine, cpu, request_, page, step)) return step;
        asked_ = false;
        if (page != kNoPage) held_.push_back({page, request_.order});
        return nap();
    }

  private:
    static constexpr std::size_t kMost = 400;
    static constexpr std::size_t kLeast = 100;
    Step nap() { return {Step::What::nap, gap_ns_ * (0.5 + rng_.unit())}; }

    double gap_ns_;
    Rng rng_;
    bool asked_ = false;
    Request request_;
    std::vector<Piece> held_;
};

}  // namespace

void boot(Memory& memory, const BootLoad& load) {
    Machine& machine = memory.machine();
    Rng& rng = memory.rng();
    std::vector<Piece> held;
    std::uint64_t pages = 0;
    const auto most =
        static_cast<std::uint64_t>(static_cast<double>(load.pages) * (1 + load.churn));
    Cpu cpu;
    while (pages < most) {
        cpu.id = static_cast<unsigned>(rng.below(machine.cpus()));
        cpu.node = machine.node_of_cpu(cpu.id);
        const Request request = slab_request(rng, cpu.node);
        const Pfn head = machine.try_alloc(cpu, request);
        if (head == kNoPage) break;
        held.push_back({head, request.order});
        pages += std::uint64_t{1} << request.order;
    }
    shuffle(held, rng);
    for (; !held.empty() && pages > load.pages; held.pop_back()) {
        cpu.id = static_cast<unsigned>(rng.below(machine.cpus()));
        machine.free_pages(cpu, held.back().head, held.back().order);
        pages -= std::uint64_t{1} << held.back().order;
    }
    for (Node& node : machine.nodes()) {
        node.kswapd_awake = false;
        node.kswapd_order = 0;
    }
    machine.counters() = {};
}

std::unique_ptr<Task> make_background(unsigned cpu, double rate, std::uint64_t seed) {
    return std::make_unique<Background>(cpu, rate, seed);
}

std::uint64_t available_pages(Machine& machine) {
    std::uint64_t reserve = 0;  // totalreserve_pages
    for (std::size_t i = 0; i < machine.zone_count(); ++i) {
        const Zone& zone = machine.zone(i);
        const auto& reserves = zone.constants().lowmem_reserve;
        const std::uint64_t most = *std::max_element(reserves.begin(), reserves.end());
        reserve += std::min(zone.managed(), most + zone.constants().high);
    }
    const std::uint64_t free = machine.free_pages_total();
    return free > reserve ? free - reserve : 0;
}

}  // namespace mano::model
