// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/hold.h"

#include <algorithm>

#include "model/load/kernel_load.h"

namespace mano::model {

Request folio_request(unsigned order, unsigned node) {
    Request request;
    request.flags = gfp::kTranshuge | gfp::kZero;
    request.order = order;
    request.node = node;
    return request;
}

Request page_request(unsigned node) {
    Request request;
    request.flags = gfp::kHighuserMovable | gfp::kZero | gfp::kComp;
    request.node = node;
    return request;
}

class HoldWorker : public Task {
  public:
    HoldWorker(unsigned cpu, AddressSpace& space, const HoldSettings& settings, std::uint64_t seed)
        : Task(Group::load, cpu), space_(space), settings_(settings), rng_(seed) {}

    Step step(Engine& engine, Cpu& cpu) override {
        if (up_ || killed_) return {Step::What::park, 0};
        Step step;
        for (unsigned left = kFaultsAStep; left > 0; --left) {
            if (at_ == space_.table.size()) {
                punch(engine, cpu);
                up_ = true;
                return {Step::What::park, 0};
            }
            if (!fault(engine, cpu, step)) return step;
        }
        return {};
    }

    bool up() const { return up_; }
    bool killed() const { return killed_; }
    const AddressSpace& space() const { return space_; }

  private:
    static constexpr unsigned kFaultsAStep = 8;
    static constexpr std::uint32_t kTablePages = 512;  // a page of page table maps that many

    // One page fault at at_. False: it waits.
    bool fault(Engine& engine, Cpu& cpu, Step& step) {
        Pfn page = kNoPage;
        if (needs_table_) {
            Request table;
            table.flags = gfp::kKernel | gfp::kZero | gfp::kAccount;
            table.node = cpu.node;
            if (!allocate(engine, cpu, table, page, step)) return false;
            needs_table_ = false;
        }
        const bool large = wants_folio();
        const unsigned order = large ? settings_.folio_order : 0;
        const Request request = large ? folio_request(order, cpu.node) : page_request(cpu.node);
        if (!allocate(engine, cpu, request, page, step)) return false;
        if (page == kNoPage && large) {
            // The fault goes on with a single page; its neighbours can't be a folio any more.
            singles_until_ = at_ + (1U << order);
            step = {};
            return true;
        }
        if (page == kNoPage) {
            killed_ = true;
            step = {Step::What::park, 0};
            return false;
        }
        engine.memory().map_folio(space_, at_, page, order);
        cpu.work.add(Work::fault);
        cpu.work.add(Work::zero, 1U << order);
        ++engine.machine().counters()[Counter::pgfault];
        const std::uint32_t before = at_ / kTablePages;
        at_ += 1U << order;
        needs_table_ = at_ / kTablePages != before;
        return true;
    }

    bool wants_folio() const {
        const std::uint32_t pages = 1U << settings_.folio_order;
        return settings_.folio_order != 0 && at_ >= singles_until_ && at_ % pages == 0 &&
               at_ + pages <= space_.table.size();
    }

    // MADV_DONTNEED of drawn chunks.
    void punch(Engine& engine, Cpu& cpu) {
        const std::uint32_t size = settings_.punch_pages;
        const auto chunks = static_cast<std::uint32_t>(space_.table.size()) / size;
        std::vector<std::uint32_t> places(chunks);
        for (std::uint32_t i = 0; i < chunks; ++i)
            places[i] = i;
        shuffle(places, rng_);
        places.resize(static_cast<std::size_t>(settings_.punch * chunks));
        for (const std::uint32_t place : places)
            engine.memory().unmap(cpu, space_, place * size, size);
    }

    AddressSpace& space_;
    HoldSettings settings_;
    Rng rng_;
    std::uint32_t at_ = 0;
    std::uint32_t singles_until_ = 0;
    bool needs_table_ = true;
    bool up_ = false;
    bool killed_ = false;
};

Hold::Hold(Engine& engine, const HoldSettings& settings, std::uint64_t seed) {
    Machine& machine = engine.machine();
    available_ = available_pages(machine);
    demand_ = static_cast<std::uint64_t>(settings.demand * static_cast<double>(available_));
    const double mapped = static_cast<double>(demand_) / (1 - settings.punch);
    const unsigned workers = std::max(1U, settings.workers);
    const Rng rng(seed);
    for (unsigned i = 0; i < workers; ++i) {
        const auto pages = static_cast<std::uint32_t>(mapped / workers);
        AddressSpace& space = engine.memory().make_space(pages);
        auto worker =
            std::make_unique<HoldWorker>(i % machine.cpus(), space, settings, rng.split(i).next());
        workers_.push_back(worker.get());
        const std::uint64_t late = rng.split(100 + i).next() % 1'000'000;
        engine.add(std::move(worker), engine.now() + static_cast<double>(late));
    }
}

bool Hold::up() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const HoldWorker* worker) { return worker->up(); });
}
bool Hold::killed() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const HoldWorker* worker) { return worker->killed(); });
}
std::uint64_t Hold::resident() const {
    std::uint64_t sum = 0;
    for (const HoldWorker* worker : workers_)
        sum += worker->space().resident;
    return sum;
}
std::uint64_t Hold::swapped() const {
    std::uint64_t sum = 0;
    for (const HoldWorker* worker : workers_)
        sum += worker->space().swapped;
    return sum;
}
double Hold::level() const {
    return available_ == 0
               ? 0
               : static_cast<double>(resident() + swapped()) / static_cast<double>(available_);
}

Figures Hold::figures() const {
    return {{"pressure.resident_bytes", static_cast<double>(resident() * kPageBytes)},
            {"pressure.swapped_bytes", static_cast<double>(swapped() * kPageBytes)},
            {"pressure.level_pct", 100 * level()}};
}

}  // namespace mano::model
