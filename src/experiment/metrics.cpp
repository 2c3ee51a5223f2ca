// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment/metrics.h"

#include <algorithm>
#include <set>

#include "base/units.h"
#include "experiment/values.h"
#include "measure/formula.h"
#include "measure/metric.h"

namespace mano::experiment {
namespace {

constexpr std::size_t kMaxFormula = 1024;
constexpr std::size_t kMaxEvent = 96;
constexpr std::size_t kMaxFilter = 256;

// Part of a metric's name that an experiment makes up.
bool is_own_name(std::string_view name) {
    return !name.empty() && name.size() <= 32 && name[0] >= 'a' && name[0] <= 'z' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
           });
}

constexpr std::string_view kOwnName =
    "expected lower-case letters, digits and '_', a letter first, at most 32";

class MetricReader {
  public:
    MetricReader(Section& top, Faults& faults, std::vector<std::string> new_metrics,
                 Experiment& experiment, plan::TrialPlan& trial)
        : top_(top),
          faults_(faults),
          experiment_(experiment),
          trial_(trial),
          names_(std::move(new_metrics)) {}

    MetricNames run() {
        tracepoints();
        triggers();
        derived();
        key_metrics();
        proofs();
        return std::move(names_);
    }

  private:
    void tracepoints() {
        std::set<std::string> seen;
        for (const Node* node : top_.tables("tracepoint")) {
            Section in(*node, "[[tracepoint]]", faults_);
            const auto name = in.text("name", true);
            const auto event = in.text("event", true);
            const auto filter = in.text("filter", false, kMaxFilter);
            in.finish();
            if (name && !is_own_name(*name)) in.fault(*in.take("name"), std::string(kOwnName));
            if (name && !seen.insert(*name).second) {
                in.fault(*in.take("name"), fmt::format("'{}' is there twice", *name));
            }
            if (event) check_event(in, *event);
            if (filter && (!is_plain_text(*filter, kMaxFilter) ||
                           !is_made_of(*filter, " =!<>&|()~\"*.-", kMaxFilter))) {
                in.fault(*in.take("filter"),
                         "expected the kernel's filter language such as \"order == 0\"");
            }
            if (!name || !event) continue;
            trial_.counters.push_back({"tp." + *name, *event, filter.value_or("")});
            names_.declare("tp." + *name);
        }
        if (trial_.counters.size() > plan::kMaxCounters) {
            top_.fault(*top_.take("tracepoint"),
                       fmt::format("expected at most {} tracepoints", plan::kMaxCounters));
        }
    }

    void triggers() {
        std::set<std::string> seen;
        for (const Node* node : top_.tables("trigger")) {
            Section in(*node, "[[trigger]]", faults_);
            plan::TriggerPlan made;
            const auto name = in.text("name", true);
            if (name && !is_own_name(*name)) in.fault(*in.take("name"), std::string(kOwnName));
            if (name && !seen.insert(*name).second) {
                in.fault(*in.take("name"), fmt::format("'{}' is there twice", *name));
            }
            made.metric = "trigger." + name.value_or("");
            made.system = one_of(in, "of", "probe", "system");
            made.full = one_of(in, "pressure", "some", "full");
            if (in.take("rising_beyond") != nullptr) {
                oomd_rule(in, made);
            } else {
                psi_trigger(in, made);
            }
            in.finish();
            trial_.triggers.push_back(made);
            names_.declare(made.metric);
        }
        if (trial_.triggers.size() > plan::kMaxTriggers) {
            top_.fault(*top_.take("trigger"),
                       fmt::format("expected at most {} triggers", plan::kMaxTriggers));
        }
    }

    // Which of two words stands at `key`: true, the second. Left out: the first.
    static bool one_of(Section& in, std::string_view key, std::string_view first,
                       std::string_view second) {
        const auto word = in.text(key, false);
        if (word && *word != first && *word != second)
            in.fault(*in.take(key), fmt::format("expected \"{}\" or \"{}\"", first, second));
        return word && *word == second;
    }

    static std::optional<std::uint64_t> duration(Section& in, std::string_view key) {
        const auto text = in.text(key, true);
        if (!text) return std::nullopt;
        const auto ns = parse_duration_ns(*text);
        if (ns) return *ns;
        in.fault(*in.take(key), ns.error().message);
        return std::nullopt;
    }

    // The kernel's limits: psi_trigger_create() in kernel/sched/psi.c.
    static void psi_trigger(Section& in, plan::TriggerPlan& made) {
        constexpr std::uint64_t kLeastWindowUs = 500'000;
        constexpr std::uint64_t kMostWindowUs = 10'000'000;
        const auto stall = duration(in, "stall");
        const auto window = duration(in, "window");
        if (!stall || !window) return;
        made.stall_us = *stall / 1000;
        made.window_us = *window / 1000;
        if (made.window_us < kLeastWindowUs || made.window_us > kMostWindowUs) {
            in.fault(*in.take("window"), "the kernel takes windows from 500ms to 10s");
        } else if (made.stall_us == 0 || made.stall_us > made.window_us) {
            in.fault(*in.take("stall"), "expected a time above 0 and within the window");
        }
    }

    static void oomd_rule(Section& in, plan::TriggerPlan& made) {
        made.during_ns = duration(in, "during").value_or(0);
        const auto text = in.text("rising_beyond", true);
        if (!text) return;
        const auto share = parse_share_ppm(*text);
        if (!share || *share < 10'000 || *share >= 1'000'000) {
            in.fault(*in.take("rising_beyond"), "expected a share from 1% to 99%");
            return;
        }
        made.rising_pct = static_cast<std::uint32_t>(*share / 10'000);
    }

    static void check_event(Section& in, std::string_view event) {
        const std::size_t slash = event.find('/');
        const bool good = event.size() <= kMaxEvent && slash != std::string_view::npos &&
                          is_made_of(event.substr(0, slash), "-", kMaxEvent) &&
                          is_made_of(event.substr(slash + 1), "-", kMaxEvent);
        if (good) return;
        std::string text =
            "expected SYSTEM/EVENT as below /sys/kernel/tracing/events, such as "
            "\"kmem/mm_page_alloc\"";
        const std::size_t colon = event.find(':');
        if (colon != std::string_view::npos && is_made_of(event, ":-", kMaxEvent)) {
            text += fmt::format("; did you mean '{}/{}'?", event.substr(0, colon),
                                event.substr(colon + 1));
        }
        in.fault(*in.take("event"), text);
    }

    void derived() {
        const Entry* all = top_.take("derived");
        if (all == nullptr) return;
        if (all->value.kind != Node::Kind::table) {
            return top_.fault(*all, "expected tables written as [derived.NAME]");
        }
        for (const Entry& entry : all->value.entries) {
            Section in(entry.value, fmt::format("[derived.{}]", entry.key.substr(0, 64)), faults_);
            plan::DerivedMetric made;
            made.metric.name = "derived." + entry.key;
            made.metric.kind = measure::Kind::ratio;
            made.formula = in.text("formula", true, kMaxFormula).value_or("");
            made.metric.unit = in.text("unit", true, 16).value_or("");
            made.metric.meaning = in.text("meaning", true, 300).value_or("");
            rule(in, made.metric);
            in.finish();
            if (!is_own_name(entry.key)) {
                faults_.add(entry.place, fmt::format("[derived]: {}", kOwnName));
                continue;
            }
            formula(in, made.formula);
            names_.declare(made.metric.name);
            experiment_.base.derived.push_back(std::move(made));
        }
    }

    // What decides verdicts, where the file has something else to say than the catalogue.
    static void rule(Section& in, measure::Metric& metric) {
        if (const auto better = in.text("better", false)) {
            if (const auto known = measure::better_from(*better)) {
                metric.better = *known;
            } else {
                in.fault(*in.take("better"),
                         expected_one_of(*better, {"lower", "higher", "neither"}));
            }
        }
        if (const Entry* entry = in.take("margin")) {
            const plan::ParamDef param{"margin", plan::ParamType::share, "", 0, 100, 1'000'000, ""};
            const auto held = parse_value(param, {}, entry->value.text);
            if (entry->value.kind != Node::Kind::text || !held) {
                in.fault(*entry,
                         "expected a share of the base in quotes such as \"5%\", 0.01% to "
                         "100%");
            } else {
                metric.margin_pct = static_cast<double>(held->number) / 10'000;
            }
        }
        if (const auto floor = in.number("floor", false)) {
            if (*floor < 0) in.fault(*in.take("floor"), "expected a number not below 0");
            metric.floor = *floor;
        }
    }

    // Syntax, and every name in it. An empty one is a fault that was said already.
    void formula(Section& in, const std::string& text) {
        const Entry* entry = in.take("formula");
        if (entry == nullptr || text.empty()) return;
        const auto parsed = measure::Formula::parse(text);
        if (!parsed) {
            std::string message = parsed.error().message;
            if (message.starts_with("column")) message.replace(0, 6, "character");
            return in.fault(*entry, message);
        }
        for (const std::string& name : parsed->names()) {
            if (name.starts_with("derived.")) {
                in.fault(
                    *entry,
                    fmt::format("'{}' is derived itself, expected measured metrics only", name));
            } else if (!names_.know(name)) {
                faults_.add(place_inside(*entry, text.find(name)),
                            "formula: " + names_.complaint(name));
            }
        }
    }

    // Where in the file a character of a text is: exact for one written on one line.
    static Place place_inside(const Entry& entry, std::size_t at) {
        Place place = entry.value.place;
        if (at != std::string::npos && entry.value.text.find('\n') == std::string::npos) {
            place.column += static_cast<std::uint32_t>(at) + 1;
        }
        return place;
    }

    void key_metrics() {
        if (const Entry* entry = top_.take("primary")) {
            key_metric(entry->value, "[primary]", true);
        } else {
            top_.missing("primary", "a table [primary] with the metric that answers the question");
        }
        for (const Node* node : top_.tables("secondary")) {
            key_metric(*node, "[[secondary]]", false);
        }
    }

    void key_metric(const Node& node, const std::string& shown, bool primary) {
        Section in(node, shown, faults_);
        const auto name = in.text("metric", true);
        plan::KeyMetric key;
        key.primary = primary;
        const bool known = name && names_.know(*name);
        if (known) {
            key.metric = measure::find_metric(*name).value_or(measure::Metric{});
            key.metric.name = *name;
            take_derived(*name, key);
        }
        rule(in, key.metric);
        in.finish();
        if (!name) return;
        if (!known) return in.fault(*in.take("metric"), names_.complaint(*name));
        for (const plan::KeyMetric& other : experiment_.base.key_metrics) {
            if (other.metric.name != *name) continue;
            return in.fault(*in.take("metric"), fmt::format("'{}' is there twice", *name));
        }
        if (primary && key.metric.better == measure::Better::neither) {
            in.missing("better",
                       "\"lower\" or \"higher\": a verdict needs a direction, and "
                       "this metric has none of its own");
        }
        experiment_.base.key_metrics.push_back(std::move(key));
    }

    // A derived metric that is judged isn't listed among those that are only shown.
    void take_derived(const std::string& name, plan::KeyMetric& key) {
        auto& all = experiment_.base.derived;
        const auto found = std::find_if(
            all.begin(), all.end(), [&name](const auto& one) { return one.metric.name == name; });
        if (found == all.end()) return;
        key.metric = found->metric;
        key.formula = found->formula;
        all.erase(found);
    }

    void proofs() {
        for (const Node* node : top_.tables("proof")) {
            Section in(*node, "[[proof]]", faults_);
            plan::Proof proof;
            proof.formula = in.text("formula", true, kMaxFormula).value_or("");
            const auto at_least = in.number("at_least", true);
            proof.meaning = in.text("meaning", true, 300).value_or("");
            in.finish();
            formula(in, proof.formula);
            if (!at_least) continue;
            proof.at_least = *at_least;
            experiment_.base.proofs.push_back(std::move(proof));
        }
    }

    Section& top_;
    Faults& faults_;
    Experiment& experiment_;
    plan::TrialPlan& trial_;
    MetricNames names_;
};

}  // namespace

bool MetricNames::know(std::string_view name) const {
    if (std::find(declared_.begin(), declared_.end(), name) != declared_.end()) return true;
    // Any tp.NAME and trigger.NAME is in the catalogue's families, but only declared ones are
    // counted.
    return !name.starts_with("tp.") && !name.starts_with("trigger.") &&
           measure::is_known_metric(name);
}

std::string MetricNames::complaint(std::string_view name) const {
    std::string text = fmt::format("no metric '{}'", name.substr(0, 64));
    if (name.starts_with("tp.")) text += ", expected one declared by [[tracepoint]]";
    if (name.starts_with("trigger.")) text += ", expected one declared by [[trigger]]";
    const std::string nearest = measure::nearest_metric(name, declared_);
    if (!nearest.empty()) return text + fmt::format("; did you mean '{}'?", nearest);
    return text +
           "; docs/experiments.md lists them, and experiment.new_metrics admits those of "
           "newer kernels";
}

MetricNames read_metrics(Section& top, Faults& faults, std::vector<std::string> new_metrics,
                         Experiment& experiment, plan::TrialPlan& trial) {
    return MetricReader(top, faults, std::move(new_metrics), experiment, trial).run();
}

}  // namespace mano::experiment
