// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/aux_probe.h"

#include <algorithm>
#include <bit>

namespace mano::model {

AuxProbe::AuxProbe(unsigned cpu, const AuxProbeSettings& settings, std::uint64_t seed)
    : Task(Group::probe, cpu), settings_(settings), rng_(seed) {}

void AuxProbe::begin(Engine& engine) {
    at_ = At::round;
    rounds_left_ = settings_.rounds;
    all_ = {};
    all_.buffer_pages = settings_.area.pages;
    look_.reset();
    held_seen_ = false;
    look_.blocks(engine.machine(), "before");
    // As the agent's probe: somewhere inside a millisecond, by the seed.
    engine.wake(*this, engine.now() + static_cast<double>(rng_.below(1'000'000)));
    iteration_ = -1;
}

void AuxProbe::begin_round(Engine& engine) {
    const unsigned cpus = engine.machine().cpus();
    places_.resize(cpus);
    for (unsigned i = 0; i < cpus; ++i)
        places_[i] = i;
    shuffle(places_, rng_);
    buffers_.assign(cpus, {});
    place_ = 0;
    begin_buffer();
}

void AuxProbe::begin_buffer() {
    at_ = At::data;
    obtained_ = false;
    ++all_.asked;
}

unsigned AuxProbe::first_order() const {
    const auto& area = settings_.area;
    const auto rest = area.pages - static_cast<unsigned>(buffers_[places_[place_]].aux.size());
    const unsigned fits = static_cast<unsigned>(std::bit_width(rest)) - 1;
    return std::min({settings_.policy->max_order(area), fits, kMaxOrder, sticky_limit_});
}

Step AuxProbe::step(Engine& engine, Cpu& cpu) {
    switch (at_) {
        case At::round:
            if (iteration_ < 0) {
                iteration_ = engine.now();
                cpu_before_ = engine.cpu_ns(Group::probe);
            }
            begin_round(engine);
            return {};
        case At::data:
            return take_data(engine, cpu);
        case At::area:
            return take_area(engine, cpu);
        case At::mapped:
            return end_map(engine);
        case At::unmap:
            return unmap(engine, cpu);
        case At::unmapped:
            all_.unmap.add(engine.now() - started_);
            if (++place_ < places_.size()) {
                at_ = At::unmap;
                return {};
            }
            if (--rounds_left_ > 0) {
                at_ = At::round;
                return {};
            }
            all_.time_ns = engine.now() - iteration_;
            all_.cpu_ns = engine.cpu_ns(Group::probe) - cpu_before_;
            look_.blocks(engine.machine(), "after");
            at_ = settings_.later_ns > 0 ? At::later : At::ended;
            return {settings_.later_ns > 0 ? Step::What::nap : Step::What::park,
                    settings_.later_ns};
        case At::later:
            look_.blocks(engine.machine(), "later");
            at_ = At::ended;
            return {Step::What::park, 0};
        case At::ended:
            break;
    }
    return {Step::What::park, 0};
}

// The event's ring buffer: one page after the other, not timed.
Step AuxProbe::take_data(Engine& engine, Cpu& cpu) {
    constexpr unsigned kPagesAStep = 32;
    Buffer& buffer = buffers_[places_[place_]];
    Step step;
    Request request;
    request.flags = gfp::kKernel | gfp::kZero;
    request.node = engine.machine().node_of_cpu(places_[place_]);
    for (unsigned left = kPagesAStep; left > 0 && buffer.data.size() <= settings_.data_pages;
         --left) {
        Pfn page = kNoPage;
        if (!allocate(engine, cpu, request, page, step)) return step;
        if (page == kNoPage) return end_area(engine, cpu, false);
        cpu.work.add(Work::zero);
        buffer.data.push_back(page);
    }
    if (buffer.data.size() > settings_.data_pages) {
        at_ = At::area;
        started_ = -1;
        trying_.reset();
        chunk_orders_.clear();
        sticky_limit_ = kMaxOrder;
    }
    return {};
}

Step AuxProbe::take_area(Engine& engine, Cpu& cpu) {
    constexpr unsigned kChunksAStep = 32;
    if (started_ < 0) {
        started_ = engine.now();
        cpu.work.add(Work::call);
    }
    const Buffer& buffer = buffers_[places_[place_]];
    Step step;
    bool failed = false;
    for (unsigned left = kChunksAStep; left > 0 && buffer.aux.size() < settings_.area.pages;
         --left) {
        if (!take_chunk(engine, cpu, step, failed)) return step;
        if (failed) return end_area(engine, cpu, false);
    }
    if (buffer.aux.size() < settings_.area.pages) return {};
    // Snapshot mode without scatter-gather: one piece of the whole size or nothing.
    const bool whole = settings_.area.capability != AuxArea::Capability::no_sg ||
                       !settings_.area.overwrite ||
                       chunk_orders_.front() == settings_.policy->max_order(settings_.area);
    return end_area(engine, cpu, whole);
}

// One chunk, from its first order downwards. False: it waits.
bool AuxProbe::take_chunk(Engine& engine, Cpu& cpu, Step& step, bool& failed) {
    Buffer& buffer = buffers_[places_[place_]];
    if (!trying_) trying_ = first_order();
    while (true) {
        Request request;
        request.flags = settings_.policy->flags(settings_.area, *trying_);
        request.order = *trying_;
        request.node = engine.machine().node_of_cpu(places_[place_]);
        Pfn head = kNoPage;
        if (!allocate(engine, cpu, request, head, step)) return false;
        if (head != kNoPage) {
            const unsigned order = *trying_;
            cpu.work.add(Work::zero, 1U << order);
            engine.machine().split(head, order);
            for (Pfn page = head; page < head + (1U << order); ++page)
                buffer.aux.push_back(page);
            chunk_orders_.push_back(order);
            if (settings_.policy->remembers_failures()) sticky_limit_ = order;
            trying_.reset();
            return true;
        }
        if (*trying_ == 0) {
            failed = true;
            trying_.reset();
            return true;
        }
        trying_ = settings_.policy->next_order(settings_.area, *trying_);
    }
}

Step AuxProbe::end_area(Engine& engine, Cpu& cpu, bool obtained) {
    Buffer& buffer = buffers_[places_[place_]];
    obtained_ = obtained;
    if (!obtained) {
        settings_.policy->release(engine.machine(), cpu, buffer.aux);
        buffer.aux.clear();
        if (at_ == At::data) started_ = -1;
    }
    at_ = At::mapped;
    return {};
}

Step AuxProbe::end_map(Engine& engine) {
    if (started_ >= 0) all_.map.add(engine.now() - started_);
    look_.lowest(engine.machine());
    if (obtained_) {
        ++all_.got;
        for (const unsigned order : chunk_orders_)
            ++all_.chunks[order];
    }
    if (++place_ < places_.size()) {
        begin_buffer();
        return {};
    }
    if (!held_seen_) look_.blocks(engine.machine(), "held");
    held_seen_ = true;
    shuffle(places_, rng_);
    place_ = 0;
    at_ = At::unmap;
    return {};
}

Step AuxProbe::unmap(Engine& engine, Cpu& cpu) {
    Buffer& buffer = buffers_[places_[place_]];
    started_ = engine.now();
    settings_.policy->release(engine.machine(), cpu, buffer.aux);
    for (const Pfn page : buffer.data)
        engine.machine().free_pages(cpu, page, 0);
    buffer = {};
    cpu.work.add(Work::call);
    at_ = At::unmapped;
    return {};
}

Figures AuxProbe::figures() const {
    Figures out;
    all_.add_to(out);
    look_.add_to(out);
    return out;
}

}  // namespace mano::model
