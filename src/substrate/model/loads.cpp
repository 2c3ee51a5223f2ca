// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/model/loads.h"

#include <algorithm>
#include <array>
#include <bit>

#include "model/load/aux_probe.h"
#include "model/load/hold.h"
#include "model/load/mthp_probe.h"
#include "model/load/pageout.h"
#include "model/load/ring_probe.h"
#include "model/load/shm_probe.h"
#include "model/load/timer_probe.h"

namespace mano::substrate::model {
namespace {

using plan::LoadId;
namespace pm = mano::model;

// A parameter by its name in the schema; the plan has one value for each.
std::int64_t value_of(const plan::LoadPlan& load, std::string_view name) {
    const plan::LoadDef* def = plan::find_load(load.id);
    const auto place = def == nullptr ? std::nullopt : plan::find_param(*def, name);
    return place && *place < load.values.size() ? load.values[*place] : 0;
}

std::uint32_t pages_of(std::int64_t bytes) {
    return static_cast<std::uint32_t>(bytes / static_cast<std::int64_t>(pm::kPageBytes));
}

unsigned order_of(std::int64_t bytes) {
    const std::uint32_t pages = pages_of(bytes);
    return pages <= 1 ? 0 : static_cast<unsigned>(std::bit_width(pages)) - 1;
}

// The probe that only waits.
class Idle : public pm::Task, public pm::Probe {
  public:
    explicit Idle(double ns) : Task(pm::Group::probe, 0), ns_(ns) {}
    pm::Step step(pm::Engine& engine, pm::Cpu&) override {
        if (until_ < 0) return {pm::Step::What::park, 0};
        if (engine.now() < until_) return {pm::Step::What::nap, until_ - engine.now()};
        until_ = -1;
        return {pm::Step::What::park, 0};
    }
    void begin(pm::Engine& engine) override {
        until_ = engine.now() + ns_;
        engine.wake(*this, until_);
    }
    bool ended() const override { return until_ < 0; }
    pm::Figures figures() const override { return {{"probe.time_ns", ns_}}; }

  private:
    double ns_;
    double until_ = -1;
};

pm::AuxProbeSettings aux_of(const plan::LoadPlan& probe, const pm::Arm& arm) {
    using Capability = pm::AuxArea::Capability;
    pm::AuxProbeSettings settings;
    const std::int64_t said = value_of(probe, "capability");
    // The schema's choices: pages, prefer-large, no-sg, default.
    settings.area.capability = said == 1   ? Capability::prefer_large
                               : said == 2 ? Capability::no_sg
                                           : Capability::pages;
    settings.area.pages = pages_of(value_of(probe, "size"));
    settings.area.watermark_pages = pages_of(value_of(probe, "watermark"));
    settings.area.overwrite = value_of(probe, "overwrite") != 0;
    settings.data_pages = static_cast<unsigned>(value_of(probe, "data_pages"));
    settings.rounds = static_cast<unsigned>(value_of(probe, "rounds"));
    settings.later_ns = static_cast<double>(value_of(probe, "linger"));
    settings.policy = arm.aux;
    return settings;
}

pm::ShmSettings shm_of(const plan::LoadPlan& probe, const pm::Arm& arm) {
    pm::ShmSettings settings;
    settings.workers = static_cast<unsigned>(value_of(probe, "workers"));
    settings.pages = pages_of(value_of(probe, "size"));
    settings.threads = static_cast<unsigned>(value_of(probe, "threads"));
    settings.duration_ns = static_cast<double>(value_of(probe, "duration"));
    settings.vfree = arm.vfree;
    settings.large_stacks = arm.variant->vfree_bulk;
    return settings;
}

pm::RingSettings ring_of(const plan::LoadPlan& probe, const pm::Arm& arm) {
    pm::RingSettings settings;
    settings.rings = static_cast<unsigned>(value_of(probe, "rings"));
    settings.pages = pages_of(value_of(probe, "size"));
    settings.block_order = order_of(value_of(probe, "block"));
    settings.rounds = static_cast<unsigned>(value_of(probe, "rounds"));
    settings.vfree = arm.vfree;
    settings.vmalloc_large = arm.variant->vfree_bulk;
    return settings;
}

pm::HoldSettings hold_of(const plan::LoadPlan& pressure) {
    constexpr double kPpm = 1e6;
    pm::HoldSettings settings;
    settings.demand = static_cast<double>(value_of(pressure, "demand")) / kPpm;
    settings.workers = static_cast<unsigned>(value_of(pressure, "workers"));
    settings.folio_order = order_of(value_of(pressure, "folio"));
    settings.punch = static_cast<double>(value_of(pressure, "punch")) / kPpm;
    settings.punch_pages = std::max(1U, pages_of(value_of(pressure, "punch_chunk")));
    return settings;
}

pm::PageoutSettings pageout_of(const plan::LoadPlan& pressure, const pm::Arm& arm) {
    pm::PageoutSettings settings;
    settings.workers = static_cast<unsigned>(value_of(pressure, "workers"));
    settings.pages = pages_of(value_of(pressure, "size"));
    settings.pause_ns = static_cast<double>(value_of(pressure, "pause"));
    settings.break_every = arm.break_every;
    return settings;
}

std::string_view name_of_load(LoadId id) {
    const plan::LoadDef* def = plan::find_load(id);
    return def == nullptr ? "?" : def->name;
}

}  // namespace

std::string missing_load(const plan::TrialPlan& trial) {
    constexpr std::array kPressures{LoadId::none, LoadId::hold, LoadId::pageout};
    constexpr std::array kProbes{LoadId::aux,         LoadId::shm,   LoadId::mthp,
                                 LoadId::packet_ring, LoadId::timer, LoadId::idle};
    const auto sentence = [](const char* what, LoadId id, const auto& known) {
        std::string names;
        for (const LoadId one : known)
            names += (names.empty() ? "" : ", ") + std::string(name_of_load(one));
        return fmt::format(
            "the model has no {} '{}', expected one of {}: run this experiment in a guest", what,
            name_of_load(id), names);
    };
    if (std::find(kPressures.begin(), kPressures.end(), trial.pressure.id) == kPressures.end())
        return sentence("pressure", trial.pressure.id, kPressures);
    if (std::find(kProbes.begin(), kProbes.end(), trial.probe.id) == kProbes.end())
        return sentence("probe", trial.probe.id, kProbes);
    return {};
}

double swap_ratio_of(const plan::LoadPlan& pressure) {
    // What a compressed page leaves is its random part, and some of the allocator's own waste.
    constexpr double kWaste = 0.05;
    constexpr double kHalf = 0.5;  // of each page that `pageout` writes is noise
    if (pressure.id == LoadId::hold)
        return 1 - static_cast<double>(value_of(pressure, "compressible")) / 1e6 + kWaste;
    return pressure.id == LoadId::pageout ? kHalf + kWaste : pm::MachineShape{}.swap_ratio;
}

std::unique_ptr<pm::Pressure> make_pressure(pm::Engine& engine, const plan::LoadPlan& pressure,
                                            const pm::Arm& arm, std::uint64_t seed) {
    if (pressure.id == LoadId::hold)
        return std::make_unique<pm::Hold>(engine, hold_of(pressure), seed);
    if (pressure.id == LoadId::pageout)
        return std::make_unique<pm::Pageout>(engine, pageout_of(pressure, arm), seed);
    return nullptr;
}

LoadedProbe::LoadedProbe(pm::Engine& engine, const plan::LoadPlan& probe, const pm::Arm& arm,
                         std::uint64_t seed) {
    const auto as_task = [&](auto made) {
        probe_ = made.get();
        engine.add(std::move(made), engine.now());
    };
    switch (probe.id) {
        case LoadId::aux:
            as_task(std::make_unique<pm::AuxProbe>(0, aux_of(probe, arm), seed));
            break;
        case LoadId::mthp: {
            pm::MthpSettings settings;
            settings.folio_order = order_of(value_of(probe, "folio"));
            settings.pages = pages_of(value_of(probe, "size"));
            settings.duration_ns = static_cast<double>(value_of(probe, "duration"));
            as_task(std::make_unique<pm::MthpProbe>(engine, 0, settings, seed));
            break;
        }
        case LoadId::shm:
            owned_ = std::make_unique<pm::ShmProbe>(engine, shm_of(probe, arm), seed);
            probe_ = owned_.get();
            break;
        case LoadId::packet_ring:
            as_task(std::make_unique<pm::RingProbe>(0, ring_of(probe, arm), seed));
            break;
        case LoadId::timer: {
            pm::TimerSettings settings;
            settings.interval_ns = static_cast<double>(value_of(probe, "interval"));
            settings.duration_ns = static_cast<double>(value_of(probe, "duration"));
            owned_ = std::make_unique<pm::TimerProbe>(engine, settings, seed);
            probe_ = owned_.get();
            break;
        }
        case LoadId::idle:
            as_task(std::make_unique<Idle>(static_cast<double>(value_of(probe, "duration"))));
            break;
        default:
            break;
    }
}

}  // namespace mano::substrate::model
