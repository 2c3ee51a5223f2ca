// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/pageout.h"

#include <algorithm>

#include "model/load/hold.h"

namespace mano::model {

class PageoutWorker : public Task {
  public:
    PageoutWorker(unsigned cpu, AddressSpace& space, const PageoutSettings& settings,
                  std::uint64_t seed)
        : Task(Group::load, cpu), space_(space), settings_(settings), rng_(seed) {}

    Step step(Engine& engine, Cpu& cpu) override {
        switch (at_) {
            case At::fault:
                return fault(cpu);
            case At::page:
                return page(engine, cpu);
            case At::table:
                return table(engine, cpu);
            case At::write:
                return write(engine, cpu);
            case At::pause:
                at_ = At::fault;
                return {};
            case At::killed:
                break;
        }
        return {Step::What::park, 0};
    }

    std::uint64_t rounds() const { return rounds_; }
    bool killed() const { return at_ == At::killed; }

  private:
    enum class At : std::uint8_t { fault, page, table, write, pause, killed };
    static constexpr std::uint32_t kTable = 512;

    static Step in_kernel(After after) {
        Step step;
        step.inside = Inside::kernel;
        step.after = after;
        return step;
    }

    // The way in, up to where the allocation may sleep.
    Step fault(Cpu& cpu) {
        cpu.work.add(Work::fault);
        at_ = At::page;
        return in_kernel(After::might_sleep);
    }

    Step page(Engine& engine, Cpu& cpu) {
        Pfn page = kNoPage;
        Step step;
        if (!allocate(engine, cpu, page_request(cpu.node), page, step)) return step;
        if (page == kNoPage) {
            at_ = At::killed;
            return {Step::What::park, 0};
        }
        ++engine.machine().counters()[Counter::pgfault];
        if (space_.table[slot_] == AddressSpace::kSwapped) {
            engine.memory().swap_in(cpu, space_, slot_, page);
        } else {
            engine.memory().map_folio(space_, slot_, page, 0);
            cpu.work.add(Work::zero);
        }
        // Pages that reclaim has left alone need no fault.
        do {
            ++slot_;
        } while (slot_ < settings_.pages && space_.is_mapped(slot_));
        at_ = At::fault;
        if (slot_ < settings_.pages) return in_kernel(After::point);
        at_ = At::table;
        slot_ = 0;
        return in_kernel(After::point);
    }

    // Entries under the table's lock: as many as nobody can interrupt.
    Step table(Engine& engine, Cpu& cpu) {
        const std::uint32_t end = std::min(settings_.pages, (slot_ / kTable + 1) * kTable);
        const std::uint32_t most = settings_.break_every.value_or(kTable);
        const std::uint32_t stop = std::min(end, slot_ + most);
        for (; slot_ < stop; ++slot_) {
            cpu.work.add(Work::pte);
            const Pfn head = space_.table[slot_];
            if (!space_.is_mapped(slot_) || engine.machine().map().kind(head) != Kind::lru)
                continue;
            engine.memory().isolate(head);
            found_.push_back(head);
        }
        Step step;
        step.inside = Inside::locked;
        // After the last entry the lock is dropped in any case, but nobody is asked.
        step.after = slot_ < end ? After::if_wanted : After::might_sleep;
        at_ = slot_ < end ? At::table : At::write;
        if (found_.empty() && at_ == At::write) at_ = next(engine);
        return step;
    }

    // shrink_folio_list(): cond_resched() before each page.
    Step write(Engine& engine, Cpu& cpu) {
        engine.memory().page_out(cpu, found_.back());
        found_.pop_back();
        if (!found_.empty()) return in_kernel(After::point);
        at_ = next(engine);
        Step step = in_kernel(After::point);
        if (at_ != At::pause) return step;
        step.what = Step::What::nap;
        step.ns = settings_.pause_ns * (0.5 + rng_.unit());
        return step;
    }

    At next(Engine&) {
        if (slot_ < settings_.pages) return At::table;
        slot_ = 0;
        ++rounds_;
        while (slot_ < settings_.pages && space_.is_mapped(slot_))
            ++slot_;
        if (slot_ == settings_.pages) {
            slot_ = 0;
            return At::table;  // swap had no room for any of it
        }
        return settings_.pause_ns > 0 ? At::pause : At::fault;
    }

    AddressSpace& space_;
    PageoutSettings settings_;
    Rng rng_;
    At at_ = At::fault;
    std::uint32_t slot_ = 0;
    std::vector<Pfn> found_;
    std::uint64_t rounds_ = 0;
};

Pageout::Pageout(Engine& engine, const PageoutSettings& settings, std::uint64_t seed) {
    const Rng rng(seed);
    for (unsigned i = 0; i < std::max(1U, settings.workers); ++i) {
        AddressSpace& space = engine.memory().make_space(settings.pages);
        Rng drawn = rng.split(i);
        auto worker = std::make_unique<PageoutWorker>(i % engine.machine().cpus(), space, settings,
                                                      drawn.next());
        workers_.push_back(worker.get());
        engine.add(std::move(worker), engine.now() + static_cast<double>(drawn.below(2'000'000)));
    }
}

bool Pageout::up() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const PageoutWorker* worker) { return worker->rounds() > 0; });
}
bool Pageout::killed() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const PageoutWorker* worker) { return worker->killed(); });
}
Figures Pageout::figures() const {
    std::uint64_t rounds = 0;
    for (const PageoutWorker* worker : workers_)
        rounds += worker->rounds();
    return {{"pressure.paged_out", static_cast<double>(rounds)}};
}

}  // namespace mano::model
