// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/shm_probe.h"

#include <algorithm>
#include <cassert>

#include "model/load/hold.h"

namespace mano::model {

namespace {
constexpr unsigned kStackOrder = 2;  // 16 KiB
constexpr unsigned kStackPages = 1U << kStackOrder;
}  // namespace

// Stacks of dead threads of one CPU, freed in one go when their grace period is over
// (kernel/fork.c: thread_stack_free_rcu; two stacks a CPU are kept for the next threads).
class StackReaper : public Task {
  public:
    StackReaper(unsigned cpu, const VfreePolicy& policy)
        : Task(Group::kernel, cpu), policy_(policy) {}

    using Stack = std::array<Pfn, kStackPages>;
    void bury(Engine& engine, const Stack& stack) {
        if (cached_.size() < kCached) {
            cached_.push_back(stack);
            return;
        }
        dead_.push_back(stack);
        constexpr double kGraceNs = 8e6;
        engine.wake(*this, engine.now() + kGraceNs);
    }
    bool reuse(Stack& stack) {
        if (cached_.empty()) return false;
        stack = cached_.back();
        cached_.pop_back();
        return true;
    }

    Step step(Engine& engine, Cpu& cpu) override {
        constexpr std::size_t kAStep = 16;
        for (std::size_t i = 0; i < kAStep && !dead_.empty(); ++i) {
            policy_.release(engine.machine(), cpu, dead_.back());
            dead_.pop_back();
        }
        return dead_.empty() ? Step{Step::What::park, 0} : Step{};
    }

  private:
    static constexpr std::size_t kCached = 2;  // NR_CACHED_STACKS
    const VfreePolicy& policy_;
    std::vector<Stack> cached_;
    std::vector<Stack> dead_;
};

class ShmWorker : public Task {
  public:
    ShmWorker(unsigned cpu, AddressSpace& space, const ShmSettings& settings, StackReaper& reaper,
              std::uint64_t seed)
        : Task(Group::probe, cpu),
          space_(space),
          settings_(settings),
          reaper_(reaper),
          rng_(seed) {}

    void begin(Engine& engine) {
        ended_ = false;
        ops_ = 0;
        until_ = engine.now() + settings_.duration_ns;
        engine.wake(*this, engine.now() + static_cast<double>(rng_.below(1'000'000)));
    }
    bool ended() const { return ended_; }
    std::uint64_t ops() const { return ops_; }
    std::uint64_t errors() const { return errors_; }
    std::uint64_t threads_made() const { return threads_made_; }
    double ended_at() const { return ended_at_; }

    Step step(Engine& engine, Cpu& cpu) override {
        if (ended_) return {Step::What::park, 0};
        Step step;
        switch (at_) {
            case At::touch:
                for (unsigned left = kAStep; left > 0; --left) {
                    if (!touch(engine, cpu, step)) return step;
                    if (at_ != At::touch) return {};
                }
                return {};
            case At::remove:
                return remove(engine, cpu);
            case At::threads:
                return threads(engine, cpu);
        }
        return {};
    }

  private:
    enum class At : std::uint8_t { touch, remove, threads };
    static constexpr unsigned kAStep = 32;

    bool touch(Engine& engine, Cpu& cpu, Step& step) {
        Pfn page = kNoPage;
        Request request = page_request(cpu.node);
        request.flags |= gfp::kRetryMayfail;
        if (!allocate(engine, cpu, request, page, step)) return false;
        if (page == kNoPage) {
            ++errors_;
            at_ = At::remove;
            return true;
        }
        engine.memory().map_folio(space_, slot_++, page, 0);
        cpu.work.add(Work::fault);
        cpu.work.add(Work::zero);
        ++engine.machine().counters()[Counter::pgfault];
        if (slot_ == settings_.pages) at_ = At::remove;
        return true;
    }

    // Truncation in folio batches.
    Step remove(Engine& engine, Cpu& cpu) {
        const std::uint32_t pages = std::min(slot_, kAStep);
        if (pages > 0) {
            engine.memory().unmap(cpu, space_, slot_ - pages, pages);
            slot_ -= pages;
            return {};
        }
        ++ops_;
        cpu.work.add(Work::call);
        threads_left_ = settings_.threads;
        at_ = At::threads;
        return {};
    }

    Step threads(Engine& engine, Cpu& cpu) {
        if (threads_left_ == 0) {
            // They lived side by side, so that they need stacks of their own, and die together.
            for (const StackReaper::Stack& stack : alive_)
                reaper_.bury(engine, stack);
            alive_.clear();
            at_ = At::touch;
            if (engine.now() < until_) return {};
            ended_ = true;
            ended_at_ = engine.now();
            return {Step::What::park, 0};
        }
        StackReaper::Stack stack{};
        Step step;
        if (taken_ == 0 && reaper_.reuse(stack)) return live(cpu, stack);
        // vm_area_alloc_pages(): order 2 without waiting, then single pages.
        if (taken_ == 0 && settings_.large_stacks) {
            Request large;
            large.flags = (gfp::kKernel | gfp::kZero | gfp::kNowarn) & ~gfp::kDirectReclaim;
            large.order = kStackOrder;
            large.node = cpu.node;
            const Pfn head = engine.machine().try_alloc(cpu, large);
            if (head != kNoPage) {
                engine.machine().split(head, kStackOrder);
                for (unsigned i = 0; i < kStackPages; ++i)
                    stack[i] = head + i;
                return live(cpu, stack);
            }
        }
        Request single;
        single.flags = gfp::kKernel | gfp::kZero | gfp::kAccount;
        single.node = cpu.node;
        while (taken_ < kStackPages) {
            Pfn page = kNoPage;
            if (!allocate(engine, cpu, single, page, step)) return step;
            if (page == kNoPage) {
                ++errors_;
                break;
            }
            pieces_[taken_++] = page;
        }
        if (taken_ == kStackPages) {
            stack = pieces_;
            taken_ = 0;
            return live(cpu, stack);
        }
        for (; taken_ > 0; --taken_)
            engine.machine().free_pages(cpu, pieces_[taken_ - 1], 0);
        --threads_left_;
        return {};
    }

    Step live(Cpu& cpu, const StackReaper::Stack& stack) {
        cpu.work.add(Work::call, 10);  // clone, run, exit, wait
        alive_.push_back(stack);
        ++threads_made_;
        --threads_left_;
        return {};
    }

    AddressSpace& space_;
    ShmSettings settings_;
    StackReaper& reaper_;
    Rng rng_;
    At at_ = At::touch;
    bool ended_ = true;
    std::uint32_t slot_ = 0;
    unsigned threads_left_ = 0;
    unsigned taken_ = 0;
    StackReaper::Stack pieces_{};
    std::vector<StackReaper::Stack> alive_;
    double until_ = 0, ended_at_ = 0;
    std::uint64_t ops_ = 0, errors_ = 0, threads_made_ = 0;
};

ShmProbe::ShmProbe(Engine& engine, const ShmSettings& settings, std::uint64_t seed)
    : engine_(engine), settings_(settings) {
    const unsigned cpus = engine.machine().cpus();
    assert(cpus > 0 && "no machine is without a CPU");
    for (unsigned cpu = 0; cpu < cpus; ++cpu) {
        auto reaper = std::make_unique<StackReaper>(cpu, *settings.vfree);
        reapers_.push_back(reaper.get());
        engine.add(std::move(reaper), engine.now());
    }
    const Rng rng(seed);
    for (unsigned i = 0; i < settings.workers; ++i) {
        AddressSpace& space = engine.memory().make_space(settings.pages);
        // Over the whole machine, where there are fewer than CPUs.
        const unsigned cpu = settings.workers < cpus ? i * cpus / settings.workers : i % cpus;
        auto worker =
            std::make_unique<ShmWorker>(cpu, space, settings, *reapers_[cpu], rng.split(i).next());
        workers_.push_back(worker.get());
        engine.add(std::move(worker), engine.now());
    }
}

void ShmProbe::begin(Engine& engine) {
    begun_ = engine.now();
    cpu_before_ = engine.cpu_ns(Group::probe);
    for (ShmWorker* worker : workers_)
        worker->begin(engine);
}

bool ShmProbe::ended() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const ShmWorker* worker) { return worker->ended(); });
}

Figures ShmProbe::counters() const {
    std::uint64_t made = 0;
    for (const ShmWorker* worker : workers_)
        made += worker->threads_made();
    return {{"stat.processes", static_cast<double>(made)}};
}

Figures ShmProbe::figures() const {
    std::uint64_t ops = 0;
    std::uint64_t errors = 0;
    double end = begun_;
    for (const ShmWorker* worker : workers_) {
        ops += worker->ops();
        errors += worker->errors();
        end = std::max(end, worker->ended_at());
    }
    return {{"probe.ops", static_cast<double>(ops)},
            {"probe.errors", static_cast<double>(errors)},
            {"probe.time_ns", end - begun_},
            {"probe.cpu_ns", engine_.cpu_ns(Group::probe) - cpu_before_}};
}

}  // namespace mano::model
