// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/load/mthp_probe.h"

#include <fmt/format.h>

#include "model/load/hold.h"

namespace mano::model {

MthpProbe::MthpProbe(Engine& engine, unsigned cpu, const MthpSettings& settings, std::uint64_t seed)
    : Task(Group::probe, cpu),
      settings_(settings),
      rng_(seed),
      space_(engine.memory().make_space(settings.pages)) {}

void MthpProbe::begin(Engine& engine) {
    ended_ = failed_ = false;
    faults_ = {};
    fault_count_ = rounds_ = touched_ = errors_ = 0;
    at_ = singles_until_ = 0;
    begun_ = -1;
    engine.wake(*this, engine.now() + static_cast<double>(rng_.below(1'000'000)));
}

// One fault at at_: a folio, else a page. False: it waits.
bool MthpProbe::fault(Engine& engine, Cpu& cpu, Step& step) {
    const std::uint32_t folio = 1U << settings_.folio_order;
    const bool large = !single_ && at_ >= singles_until_ && at_ % folio == 0;
    const unsigned order = large ? settings_.folio_order : 0;
    const Request request = large ? folio_request(order, cpu.node) : page_request(cpu.node);
    Pfn page = kNoPage;
    if (!allocate(engine, cpu, request, page, step)) return false;
    if (page == kNoPage && large) {
        ++fell_back_;
        single_ = true;
        singles_until_ = at_ + folio;
        step = {};
        return false;
    }
    if (page == kNoPage) {
        ++errors_;
        failed_ = true;
        return true;
    }
    got_ += large ? 1 : 0;
    engine.memory().map_folio(space_, at_, page, order);
    cpu.work.add(Work::fault);
    cpu.work.add(Work::zero, 1U << order);
    ++engine.machine().counters()[Counter::pgfault];
    touched_ += 1U << order;
    at_ += 1U << order;
    single_ = false;
    return true;
}

// A fault ends with its step; how long it took is known when the next step begins.
Step MthpProbe::step(Engine& engine, Cpu& cpu) {
    if (ended_) return {Step::What::park, 0};
    if (begun_ < 0) {
        begun_ = engine.now();
        cpu_before_ = engine.cpu_ns(Group::probe);
    }
    if (fault_done_) {
        faults_.add(engine.now() - fault_began_);
        ++fault_count_;
        fault_done_ = in_fault_ = false;
    }
    if (at_ == settings_.pages || failed_) return end_round(engine, cpu);
    if (!in_fault_) fault_began_ = engine.now();
    in_fault_ = true;
    Step step;
    if (!fault(engine, cpu, step)) return step;
    fault_done_ = true;
    return {};
}

Step MthpProbe::end_round(Engine& engine, Cpu& cpu) {
    engine.memory().unmap(cpu, space_, 0, settings_.pages);
    cpu.work.add(Work::call);
    at_ = singles_until_ = 0;
    ++rounds_;
    if (!failed_ && engine.now() - begun_ < settings_.duration_ns) return {};
    time_ns_ = engine.now() - begun_;
    cpu_ns_ = engine.cpu_ns(Group::probe) - cpu_before_;
    ended_ = true;
    return {Step::What::park, 0};
}

Figures MthpProbe::figures() const {
    return {{"probe.ops", static_cast<double>(rounds_)},
            {"probe.time_ns", time_ns_},
            {"probe.cpu_ns", cpu_ns_},
            {"probe.faults", static_cast<double>(fault_count_)},
            {"probe.fault_ns_max", faults_.max_ns},
            {"probe.fault_ns_total", faults_.sum_ns},
            {"probe.touched_bytes", static_cast<double>(touched_ * kPageBytes)},
            {"probe.errors", static_cast<double>(errors_)}};
}

Figures MthpProbe::counters() const {
    const std::string size = fmt::format("mthp.{}kB.", 4U << settings_.folio_order);
    return {{size + "anon_fault_alloc", static_cast<double>(got_)},
            {size + "anon_fault_fallback", static_cast<double>(fell_back_)}};
}

}  // namespace mano::model
