// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/decode.h"

#include <charconv>
#include <map>

#include "procfs/procfs.h"
#include "substrate/guest/console.h"
#include "trace/parts.h"

namespace mano::substrate::guest {
namespace {

using measure::Moment;
using measure::Sample;
using wire::Source;

procfs::Parsed parse(Source source, std::string_view text) {
    switch (source) {
        case Source::vmstat:
            return procfs::parse_vmstat(text);
        case Source::meminfo:
            return procfs::parse_meminfo(text);
        case Source::buddyinfo:
            return procfs::parse_buddyinfo(text);
        case Source::pagetypeinfo:
            return procfs::parse_pagetypeinfo(text);
        case Source::zoneinfo:
            return procfs::parse_zoneinfo(text);
        case Source::proc_stat:
            return procfs::parse_stat(text);
        case Source::system_memory_pressure:
            return procfs::parse_psi("system", "memory", text);
        case Source::system_io_pressure:
            return procfs::parse_psi("system", "io", text);
        case Source::system_cpu_pressure:
            return procfs::parse_psi("system", "cpu", text);
        case Source::probe_memory_pressure:
            return procfs::parse_psi("probe", "memory", text);
        case Source::probe_io_pressure:
            return procfs::parse_psi("probe", "io", text);
        case Source::probe_cpu_pressure:
            return procfs::parse_psi("probe", "cpu", text);
        case Source::probe_memory_stat:
            return procfs::parse_memory_stat("probe", text);
        case Source::load_memory_stat:
            return procfs::parse_memory_stat("load", text);
        case Source::probe_cpu_stat:
            return procfs::parse_cpu_stat("probe", text);
        case Source::mthp_stats:
            return procfs::parse_mthp_stats(text);
        case Source::swaps:
            break;
    }
    procfs::Parsed none;
    none.losses.push_back({"wire", 1, "a reading of a source unknown to this version"});
    return none;
}

class Decoder {
  public:
    Decoder(const plan::TrialPlan& plan, measure::TrialRecord& record)
        : plan_(plan), record_(record) {}

    void frame(const wire::Frame& frame);
    void finish();

  private:
    std::optional<std::uint32_t> iteration(std::uint32_t number) {
        if (number == wire::kNoIteration) return std::nullopt;
        return number;
    }
    void reading(const wire::Reading& reading);
    void value(const wire::Value& value);
    void counter(const wire::CounterHead& counter);
    void fact(const wire::Fact& fact);
    bool trace(const std::string& payload);
    // Losses of the same source and meaning are one, with their counts added up.
    void loss(const std::string& source, std::uint64_t count, const std::string& meaning) {
        losses_[{source, meaning}] += count;
    }
    void drop_short_psi();
    bool known_iteration(std::uint32_t number) const {
        return number == wire::kNoIteration || number < plan_.iterations;
    }

    const plan::TrialPlan& plan_;
    measure::TrialRecord& record_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> losses_;
    double hz_ = 0;
};

bool is_name(std::string_view name) {
    if (name.empty() || name.size() > 160) return false;
    for (const char c : name) {
        const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '/';
        if (!ok) return false;
    }
    return true;
}

void Decoder::frame(const wire::Frame& frame) {
    bool understood = true;
    auto with = [&understood](auto&& payload, auto&& use) {
        understood = payload.has_value();
        if (payload) use(*payload);
    };
    switch (frame.type) {
        case wire::FrameType::hello:
        case wire::FrameType::ending:
        case wire::FrameType::goodbye:
            break;
        case wire::FrameType::fact:
            with(wire::as_fact(frame), [this](const wire::Fact& f) { fact(f); });
            break;
        case wire::FrameType::reading:
            with(wire::as_reading(frame), [this](const wire::Reading& r) { reading(r); });
            break;
        case wire::FrameType::value:
            with(wire::as_value(frame), [this](const wire::Value& v) { value(v); });
            break;
        case wire::FrameType::loss:
            with(wire::as_loss(frame), [this](const wire::LossFrame& l) {
                loss(clean(l.source), l.count, clean(l.meaning));
            });
            break;
        case wire::FrameType::trace:
            understood = trace(frame.payload);
            break;
        case wire::FrameType::counter:
            with(wire::as_counter(frame), [this](const wire::CounterHead& c) { counter(c); });
            break;
        default:
            understood = false;
    }
    if (!understood) loss("wire", 1, "a record that no agent writes");
}

// Kept as it came: what it means is worked out when somebody asks.
bool Decoder::trace(const std::string& payload) {
    trace::Part part;
    if (!plan_.traced || !trace::read_frame(payload, part)) return false;
    trace::add_part(record_.trace, part.head, part.bytes);
    return true;
}

void Decoder::fact(const wire::Fact& fact) {
    if (!is_name(fact.key)) return loss("wire", 1, "a fact without a proper name");
    std::string value = clean(fact.value);
    while (!value.empty() && (value.back() == '\n' || value.back() == ' '))
        value.pop_back();
    if (fact.key == "kernel.hz") {
        std::from_chars(value.data(), value.data() + value.size(), hz_);
    }
    record_.facts.push_back({fact.key, std::move(value)});
}

void Decoder::reading(const wire::Reading& reading) {
    if (!known_iteration(reading.head.iteration)) {
        return loss("wire", 1, "a reading of an iteration that the plan doesn't have");
    }
    procfs::Parsed parsed = parse(reading.head.source, reading.text);
    for (const measure::Loss& lost : parsed.losses)
        loss(lost.source, lost.count, lost.meaning);
    // The reading before any pressure is a state of the trial as a whole.
    const auto number = iteration(reading.head.iteration);
    const auto moment = static_cast<Moment>(reading.head.moment);
    if (!number) return;
    for (procfs::Value& value : parsed.values) {
        record_.samples.push_back({std::move(value.name), number, moment, value.value});
    }
}

void Decoder::value(const wire::Value& value) {
    if (!is_name(value.metric) || !known_iteration(value.head.iteration)) {
        return loss("wire", 1, "a value without a proper name or iteration");
    }
    std::optional<double> number;
    if (value.head.known != 0) number = value.head.value;
    record_.samples.push_back({value.metric, iteration(value.head.iteration),
                               static_cast<Moment>(value.head.moment), number});
}

void Decoder::counter(const wire::CounterHead& counter) {
    if (counter.index >= plan_.counters.size() || !known_iteration(counter.iteration)) {
        return loss("wire", 1, "a counter that the plan doesn't have");
    }
    const std::string& metric = plan_.counters[counter.index].metric;
    if (counter.running < counter.enabled) {
        loss(metric, 1, "the kernel multiplexed this counter: its value is a lower bound");
    }
    record_.samples.push_back({metric, iteration(counter.iteration),
                               static_cast<Moment>(counter.moment),
                               static_cast<double>(counter.value)});
}

// Iterations whose probe ran too shortly for PSI: their totals are unknown, not 0.
void Decoder::drop_short_psi() {
    if (hz_ <= 0) return;
    struct Span {
        std::optional<double> before, after;
        double used() const { return before && after ? *after - *before : -1; }
    };
    std::map<std::uint32_t, Span> cpu;
    std::map<std::uint32_t, Span> stalled;
    for (const Sample& sample : record_.samples) {
        if (!sample.iteration) continue;
        const bool is_cpu = sample.metric == "cpu.probe.usage_usec";
        if (!is_cpu && sample.metric != "psi.probe.memory.some.total_us") continue;
        Span& span = (is_cpu ? cpu : stalled)[*sample.iteration];
        (sample.moment == Moment::before ? span.before : span.after) = sample.value;
    }
    for (const auto& [number, span] : cpu) {
        const auto stall = stalled.find(number);
        if (span.used() < 0 || stall == stalled.end()) continue;
        const double jiffies = (span.used() + std::max(0.0, stall->second.used())) * hz_ / 1e6;
        if (jiffies >= kMinNonIdleJiffies) continue;
        loss("psi.probe", 1,
             "iterations with fewer than 10 non-idle jiffies of the probe: its PSI isn't known");
        for (Sample& sample : record_.samples) {
            if (sample.iteration == number && sample.metric.starts_with("psi.probe.")) {
                sample.value.reset();
            }
        }
    }
}

void Decoder::finish() {
    if (!record_.trace.empty()) {
        record_.trace = trace::without_needless_symbols(std::move(record_.trace));
    }
    drop_short_psi();
    for (const auto& [what, count] : losses_) {
        record_.losses.push_back({what.first, count, what.second});
    }
}

}  // namespace

void decode_frames(std::span<const wire::Frame> frames, const plan::TrialPlan& plan,
                   measure::TrialRecord& record) {
    Decoder decoder(plan, record);
    for (const wire::Frame& frame : frames)
        decoder.frame(frame);
    decoder.finish();
}

}  // namespace mano::substrate::guest
