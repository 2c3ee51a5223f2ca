// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/trial_plan.h"

#include <limits>

#include "base/checksum.h"
#include "plan/plan_view.h"

namespace mano::plan {
namespace {

class Writer {
  public:
    template <typename T>
    void number(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void text(std::string_view value) {
        if (value.size() > std::numeric_limits<std::uint16_t>::max()) {
            fits_ = false;
            return;
        }
        number(static_cast<std::uint16_t>(value.size()));
        bytes_.append(value);
    }
    void count(std::size_t entries, std::size_t limit) {
        fits_ = fits_ && entries <= limit;
        number(static_cast<std::uint16_t>(entries));
    }
    void load(const LoadPlan& load) {
        number(static_cast<std::uint16_t>(load.id));
        count(load.values.size(), kMaxValues);
        for (const std::int64_t value : load.values)
            number(value);
        text(load.text);
    }
    bool fits() const { return fits_; }
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
    bool fits_ = true;
};

}  // namespace

Status check_workers(const TrialPlan& plan) {
    for (const LoadPlan* load : {&plan.pressure, &plan.probe}) {
        const LoadDef* def = find_load(load->id);
        const auto place = def == nullptr ? std::nullopt : find_param(*def, "workers");
        if (!place || *place >= load->values.size()) continue;
        if (load->values[*place] <= static_cast<std::int64_t>(kMaxWorkers)) continue;
        return fail(Code::invalid,
                    "{}.workers={}: outside of the model there is room for {} workers",
                    load == &plan.probe ? "probe" : "pressure", load->values[*place], kMaxWorkers);
    }
    return {};
}

Result<std::string> encode(const TrialPlan& plan) {
    Writer body;
    body.number(plan.seed);
    body.number(plan.iterations);
    body.number(plan.iteration_gap_ns);
    body.number(plan.pressure_limit_ns);
    body.number(plan.probe_limit_ns);
    body.number(plan.spare_cpus);
    body.number(static_cast<std::uint8_t>(plan.traced));
    body.number(plan.swap.zram_bytes);
    body.text(plan.swap.compressor);
    body.load(plan.pressure);
    body.load(plan.probe);
    body.count(plan.modules.size(), kMaxModules);
    for (const std::string& name : plan.modules)
        body.text(name);
    body.count(plan.settings.size(), kMaxSettings);
    for (const Setting& setting : plan.settings) {
        body.text(setting.path);
        body.text(setting.value);
        body.number(static_cast<std::uint8_t>(setting.required));
    }
    body.count(plan.counters.size(), kMaxCounters);
    for (const CounterPlan& counter : plan.counters) {
        body.text(counter.metric);
        body.text(counter.event);
        body.text(counter.filter);
    }
    body.count(plan.triggers.size(), kMaxTriggers);
    for (const TriggerPlan& trigger : plan.triggers) {
        body.text(trigger.metric);
        body.number(static_cast<std::uint8_t>(trigger.system));
        body.number(static_cast<std::uint8_t>(trigger.full));
        body.number(trigger.stall_us);
        body.number(trigger.window_us);
        body.number(trigger.rising_pct);
        body.number(trigger.during_ns);
    }
    if (!body.fits() || body.bytes().size() > kMaxPlanBytes - 16) {
        return fail(
            Code::invalid,
            "the trial's plan is too large for the agent: at most {} counters, {} triggers, {} "
            "settings, {} modules, {} bytes in all",
            kMaxCounters, kMaxTriggers, kMaxSettings, kMaxModules, kMaxPlanBytes);
    }
    Writer whole;
    whole.number(kPlanMagic);
    whole.number(kPlanVersion);
    whole.number(static_cast<std::uint32_t>(body.bytes().size()));
    whole.number(checksum(body.bytes().data(), body.bytes().size()));
    return whole.bytes() + body.bytes();
}

}  // namespace mano::plan
