// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/ring_probe.h"

#include <algorithm>
#include <bit>

namespace mano::model {
namespace {

constexpr Gfp kOptional = gfp::kKernel | gfp::kComp | gfp::kZero | gfp::kNowarn | gfp::kNoretry;

}  // namespace

RingProbe::RingProbe(unsigned cpu, const RingSettings& settings, std::uint64_t seed)
    : Task(Group::probe, cpu), settings_(settings), rng_(seed) {}

void RingProbe::begin(Engine& engine) {
    at_ = At::start;
    rounds_left_ = std::max(1U, settings_.rounds);
    all_ = {};
    all_.buffer_pages = settings_.pages;
    look_.reset();
    held_seen_ = false;
    look_.blocks(engine.machine(), "before");
    engine.wake(*this, engine.now() + static_cast<double>(rng_.below(1'000'000)));
}

Step RingProbe::step(Engine& engine, Cpu& cpu) {
    switch (at_) {
        case At::start:
            iteration_ = engine.now();
            cpu_before_ = engine.cpu_ns(Group::probe);
            at_ = At::round;
            [[fallthrough]];
        case At::round:
            rings_.assign(settings_.rings, {});
            place_ = 0;
            begin_ring(engine);
            cpu.work.add(Work::call);
            return {};
        case At::whole:
            return take_whole(engine, cpu, false);
        case At::vmalloc:
            return take_vmalloc(engine, cpu);
        case At::again:
            return take_whole(engine, cpu, true);
        case At::made:
            if (failed_) release(engine.machine(), cpu, rings_[place_]);
            return made(engine);
        case At::drop:
            return drop(engine, cpu);
        case At::dropped:
            return dropped(engine);
        case At::ended:
            break;
    }
    return {Step::What::park, 0};
}

void RingProbe::begin_ring(Engine& engine) {
    at_ = At::whole;
    started_ = engine.now();
    failed_ = false;
    ++all_.asked;
}

// The block as one piece: optional at first, and in the end as the last resort.
Step RingProbe::take_whole(Engine& engine, Cpu& cpu, bool harder) {
    Request request;
    request.flags = harder ? kOptional & ~gfp::kNoretry : kOptional;
    request.order = settings_.block_order;
    request.node = cpu.node;
    Pfn head = kNoPage;
    Step step;
    if (!allocate(engine, cpu, request, head, step)) return step;
    if (head != kNoPage) {
        Block block;
        block.whole = true;
        for (Pfn page = head; page < head + (1U << request.order); ++page)
            block.pages.push_back(page);
        cpu.work.add(Work::zero, 1U << request.order);
        return block_done(std::move(block));
    }
    if (harder) return ring_done(false);
    at_ = At::vmalloc;
    partial_ = {};
    largest_ = settings_.vmalloc_large ? kMaxOrder : 0;
    return {};
}

// vm_area_alloc_pages(): large orders without waiting, none tried twice; then single pages.
Step RingProbe::take_vmalloc(Engine& engine, Cpu& cpu) {
    const std::size_t wanted = std::size_t{1} << settings_.block_order;
    constexpr unsigned kPiecesAStep = 32;
    for (unsigned left = kPiecesAStep; left > 0 && partial_.pages.size() < wanted; --left) {
        const auto rest = static_cast<unsigned>(wanted - partial_.pages.size());
        Request request;
        request.flags = gfp::kKernel | gfp::kZero | gfp::kNowarn;
        request.order = std::min(largest_, static_cast<unsigned>(std::bit_width(rest)) - 1);
        request.node = cpu.node;
        if (request.order > 0) request.flags &= ~gfp::kDirectReclaim;
        Pfn head = kNoPage;
        Step step;
        if (!allocate(engine, cpu, request, head, step)) return step;
        if (head == kNoPage && request.order == 0) {
            settings_.vfree->release(engine.machine(), cpu, partial_.pages);
            at_ = At::again;
            return {};
        }
        if (head == kNoPage) {
            largest_ = request.order - 1;
            continue;
        }
        engine.machine().split(head, request.order);
        cpu.work.add(Work::zero, 1U << request.order);
        for (Pfn page = head; page < head + (1U << request.order); ++page)
            partial_.pages.push_back(page);
    }
    if (partial_.pages.size() < wanted) return {};
    return block_done(std::move(partial_));
}

Step RingProbe::block_done(Block block) {
    Ring& ring = rings_[place_];
    ring.push_back(std::move(block));
    const std::size_t blocks = settings_.pages >> settings_.block_order;
    at_ = At::whole;
    return ring.size() < blocks ? Step{} : ring_done(true);
}

Step RingProbe::ring_done(bool obtained) {
    failed_ = !obtained;
    at_ = At::made;
    return {};
}

Step RingProbe::made(Engine& engine) {
    all_.map.add(engine.now() - started_);
    look_.lowest(engine.machine());
    if (!failed_) {
        ++all_.got;
        for (const Block& block : rings_[place_])
            count_chunks(block);
    }
    if (++place_ < rings_.size()) {
        begin_ring(engine);
        return {};
    }
    if (!held_seen_) look_.blocks(engine.machine(), "held");
    held_seen_ = true;
    places_.resize(rings_.size());
    for (unsigned i = 0; i < places_.size(); ++i)
        places_[i] = i;
    shuffle(places_, rng_);
    place_ = 0;
    at_ = At::drop;
    return {};
}

Step RingProbe::drop(Engine& engine, Cpu& cpu) {
    started_ = engine.now();
    release(engine.machine(), cpu, rings_[places_[place_]]);
    cpu.work.add(Work::call);
    at_ = At::dropped;
    return {};
}

Step RingProbe::dropped(Engine& engine) {
    all_.unmap.add(engine.now() - started_);
    at_ = At::drop;
    if (++place_ < places_.size()) return {};
    at_ = At::round;
    if (--rounds_left_ > 0) return {};
    all_.time_ns = engine.now() - iteration_;
    all_.cpu_ns = engine.cpu_ns(Group::probe) - cpu_before_;
    look_.blocks(engine.machine(), "after");
    at_ = At::ended;
    return {Step::What::park, 0};
}

void RingProbe::release(Machine& machine, Cpu& cpu, Ring& ring) const {
    for (const Block& block : ring) {
        if (block.whole) {
            machine.free_pages(cpu, block.pages.front(), settings_.block_order);
        } else {
            settings_.vfree->release(machine, cpu, block.pages);
        }
    }
    ring.clear();
}

// What a reader of the page map would see: aligned pieces of runs of consecutive frames.
void RingProbe::count_chunks(const Block& block) {
    for_each_run(block.pages, [&](Pfn first, std::size_t count) {
        while (count > 0) {
            const auto aligned = static_cast<unsigned>(std::countr_zero(first | 1U << kMaxOrder));
            const auto fits = static_cast<unsigned>(std::bit_width(count)) - 1;
            const unsigned order = std::min(aligned, fits);
            ++all_.chunks[order];
            first += 1U << order;
            count -= std::size_t{1} << order;
        }
    });
}

Figures RingProbe::figures() const {
    Figures out;
    all_.add_to(out);
    look_.add_to(out);
    return out;
}

}  // namespace mano::model
