// SPDX-License-Identifier: GPL-2.0-or-later
// Plan ⇄ canonical JSON. One description of the fields serves both ways (`Writer` and `Reader` have
// the same members), so that a field can't be written and forgotten on reading.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "plan/plan.h"

namespace mano::plan {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxText = std::size_t{64} << 20;
constexpr int kMaxNesting = 16;
constexpr std::size_t kMaxEntries = 1'000'000;

template <typename Enum>
constexpr std::uint64_t last_of();
template <>
constexpr std::uint64_t last_of<Accel>() {
    return static_cast<std::uint64_t>(Accel::tcg);
}
template <>
constexpr std::uint64_t last_of<measure::Kind>() {
    return static_cast<std::uint64_t>(measure::Kind::min);
}
template <>
constexpr std::uint64_t last_of<measure::Better>() {
    return static_cast<std::uint64_t>(measure::Better::neither);
}
template <>
constexpr std::uint64_t last_of<LoadId>() {
    return std::numeric_limits<std::uint16_t>::max();
}

// A key that is missing or wrong, with the way to it; caught in from_json.
struct Fault {
    std::string text;
};

class Writer;
class Reader;
template <typename Archive>
void fields(Archive& archive, GuestShape& shape);
template <typename Archive>
void fields(Archive& archive, Setting& setting);
template <typename Archive>
void fields(Archive& archive, ArmParam& param);
template <typename Archive>
void fields(Archive& archive, Arm& arm);
template <typename Archive>
void fields(Archive& archive, measure::Metric& metric);
template <typename Archive>
void fields(Archive& archive, KeyMetric& key);
template <typename Archive>
void fields(Archive& archive, DerivedMetric& derived);
template <typename Archive>
void fields(Archive& archive, NotObservable& what);
template <typename Archive>
void fields(Archive& archive, Proof& proof);
template <typename Archive>
void fields(Archive& archive, LoadPlan& load);
template <typename Archive>
void fields(Archive& archive, CounterPlan& counter);
template <typename Archive>
void fields(Archive& archive, SwapPlan& swap);
template <typename Archive>
void fields(Archive& archive, TrialPlan& trial);
template <typename Archive>
void fields(Archive& archive, Case& case_);
template <typename Archive>
void fields(Archive& archive, PlannedTrial& trial);
template <typename Archive>
void fields(Archive& archive, Plan& plan);

class Writer {
  public:
    template <typename T>
    void operator()(const char* key, T& value) {
        out_[key] = to(value);
    }
    template <typename T>
    void added(const char* key, T& value, const T& otherwise) {
        if (!(value == otherwise)) (*this)(key, value);
    }
    json take() { return std::move(out_); }

  private:
    static json to(std::string& text) { return text; }
    static json to(bool value) { return value; }
    static json to(double value) { return value; }
    template <typename T>
    requires std::is_integral_v<T>
    static json to(T value) { return value; }
    template <typename T>
    requires std::is_enum_v<T>
    static json to(T value) { return static_cast<std::uint64_t>(value); }
    template <typename T>
    static json to(std::optional<T>& value) {
        return value ? to(*value) : json(nullptr);
    }
    template <typename T>
    static json to(std::vector<T>& values) {
        json array = json::array();
        for (T& value : values)
            array.push_back(to(value));
        return array;
    }
    template <typename T>
    static json to(std::map<std::string, T>& values) {
        json object = json::object();
        for (auto& [key, value] : values)
            object[key] = to(value);
        return object;
    }
    static json to(std::map<std::uint64_t, std::string>& values) {
        json object = json::object();
        for (auto& [key, value] : values)
            object[std::to_string(key)] = value;
        return object;
    }
    template <typename T>
    requires std::is_class_v<T>
    static json to(T& value) {
        Writer inner;
        fields(inner, value);
        return inner.take();
    }

    json out_ = json::object();
};

class Reader {
  public:
    Reader(const json& in, std::string path) : in_(in), path_(std::move(path)) {
        if (!in.is_object()) throw Fault{path_ + " is not an object"};
    }

    template <typename T>
    void operator()(const char* key, T& value) {
        const std::string path = path_.empty() ? key : path_ + "." + key;
        const auto found = in_.find(key);
        if (found == in_.end()) throw Fault{path + " is missing"};
        ++seen_;
        from(*found, value, path);
    }
    // A key that plans didn't always have: written only where it says something else than
    // `otherwise`, so that older plans can be read and keep their hash.
    template <typename T>
    void added(const char* key, T& value, const T& otherwise) {
        value = otherwise;
        if (!in_.contains(key)) return;
        (*this)(key, value);
        if (value == otherwise)
            throw Fault{(path_.empty() ? "" : path_ + ".") + key + " is needless"};
    }
    // Equal plans have equal texts, so a text with more in it is no plan's.
    void finish() const {
        if (seen_ != in_.size())
            throw Fault{(path_.empty() ? "the plan" : path_) + " has more keys"};
    }

  private:
    static void from(const json& in, std::string& text, const std::string& path) {
        if (!in.is_string()) throw Fault{path + " is not a text"};
        text = in.get_ref<const std::string&>();
    }
    static void from(const json& in, bool& value, const std::string& path) {
        if (!in.is_boolean()) throw Fault{path + " is not true or false"};
        value = in.get<bool>();
    }
    static void from(const json& in, double& value, const std::string& path) {
        if (!in.is_number() || !std::isfinite(in.get<double>())) {
            throw Fault{path + " is not a number"};
        }
        value = in.get<double>();
    }
    template <typename T>
    requires std::is_integral_v<T>
    static void from(const json& in, T& value, const std::string& path) {
        const bool natural = in.is_number_unsigned();
        const bool negative = !natural && in.is_number_integer();
        if (natural && std::in_range<T>(in.get<std::uint64_t>())) {
            value = static_cast<T>(in.get<std::uint64_t>());
        } else if (negative && std::in_range<T>(in.get<std::int64_t>())) {
            value = static_cast<T>(in.get<std::int64_t>());
        } else {
            throw Fault{path + " is not a whole number in range"};
        }
    }
    template <typename T>
    requires std::is_enum_v<T>
    static void from(const json& in, T& value, const std::string& path) {
        std::uint64_t number = 0;
        from(in, number, path);
        if (number > last_of<T>()) throw Fault{path + " is out of range"};
        value = static_cast<T>(number);
    }
    template <typename T>
    static void from(const json& in, std::optional<T>& value, const std::string& path) {
        value.reset();
        if (in.is_null()) return;
        from(in, value.emplace(), path);
    }
    template <typename T>
    static void from(const json& in, std::vector<T>& values, const std::string& path) {
        if (!in.is_array() || in.size() > kMaxEntries) throw Fault{path + " is not a list"};
        values.clear();
        for (const json& entry : in) {
            from(entry, values.emplace_back(), fmt::format("{}[{}]", path, values.size() - 1));
        }
    }
    template <typename T>
    static void from(const json& in, std::map<std::string, T>& values, const std::string& path) {
        if (!in.is_object() || in.size() > kMaxEntries) throw Fault{path + " is not an object"};
        values.clear();
        for (const auto& [key, entry] : in.items())
            from(entry, values[key], path + "." + key);
    }
    static void from(const json& in, std::map<std::uint64_t, std::string>& values,
                     const std::string& path) {
        std::map<std::string, std::string> texts;
        from(in, texts, path);
        values.clear();
        for (const auto& [key, text] : texts) {
            // Only the one spelling that to_json gives.
            const json number = json::parse(key, nullptr, false);
            if (!number.is_number_unsigned() || number.dump() != key) {
                throw Fault{path + "." + key + " is not a whole number"};
            }
            values[number.get<std::uint64_t>()] = text;
        }
    }
    template <typename T>
    requires std::is_class_v<T>
    static void from(const json& in, T& value, const std::string& path) {
        Reader inner(in, path);
        fields(inner, value);
        inner.finish();
    }

    const json& in_;
    std::string path_;
    std::size_t seen_ = 0;
};

template <typename Archive>
void fields(Archive& archive, GuestShape& shape) {
    archive("memory_bytes", shape.memory_bytes);
    archive("cpus", shape.cpus);
    archive("zram_bytes", shape.zram_bytes);
    archive("zram_compressor", shape.zram_compressor);
    archive("lru_gen", shape.lru_gen);
    archive("thp", shape.thp);
    archive.added("thp_defrag", shape.thp_defrag, std::string("madvise"));
    archive("mthp", shape.mthp);
    archive("extra_cmdline", shape.extra_cmdline);
    archive.added("modules", shape.modules, std::vector<std::string>());
}

template <typename Archive>
void fields(Archive& archive, Setting& setting) {
    archive("path", setting.path);
    archive("value", setting.value);
    archive("required", setting.required);
}

template <typename Archive>
void fields(Archive& archive, ArmParam& param) {
    archive("name", param.name);
    archive("text", param.text);
    archive("value", param.value);
}

template <typename Archive>
void fields(Archive& archive, Arm& arm) {
    archive("name", arm.name);
    archive("kernel_spec", arm.kernel_spec);
    archive("cmdline", arm.cmdline);
    archive("settings", arm.settings);
    archive.added("placebo", arm.placebo, false);
    archive.added("params", arm.params, std::vector<ArmParam>());
}

template <typename Archive>
void fields(Archive& archive, measure::Metric& metric) {
    archive("name", metric.name);
    archive("unit", metric.unit);
    archive("kind", metric.kind);
    archive("better", metric.better);
    archive("floor", metric.floor);
    archive("margin_pct", metric.margin_pct);
    archive("meaning", metric.meaning);
}

template <typename Archive>
void fields(Archive& archive, KeyMetric& key) {
    archive("metric", key.metric);
    archive("primary", key.primary);
    archive("formula", key.formula);
}

template <typename Archive>
void fields(Archive& archive, DerivedMetric& derived) {
    archive("metric", derived.metric);
    archive("formula", derived.formula);
}

template <typename Archive>
void fields(Archive& archive, NotObservable& what) {
    archive("metric", what.metric);
    archive("reason", what.reason);
}

template <typename Archive>
void fields(Archive& archive, Proof& proof) {
    archive("formula", proof.formula);
    archive("at_least", proof.at_least);
    archive("meaning", proof.meaning);
}

template <typename Archive>
void fields(Archive& archive, LoadPlan& load) {
    archive("id", load.id);
    archive("values", load.values);
    archive("text", load.text);
}

template <typename Archive>
void fields(Archive& archive, CounterPlan& counter) {
    archive("metric", counter.metric);
    archive("event", counter.event);
    archive("filter", counter.filter);
}

template <typename Archive>
void fields(Archive& archive, TriggerPlan& trigger) {
    archive("metric", trigger.metric);
    archive("system", trigger.system);
    archive("full", trigger.full);
    archive("stall_us", trigger.stall_us);
    archive("window_us", trigger.window_us);
    archive("rising_pct", trigger.rising_pct);
    archive("during_ns", trigger.during_ns);
}

template <typename Archive>
void fields(Archive& archive, SwapPlan& swap) {
    archive("zram_bytes", swap.zram_bytes);
    archive("compressor", swap.compressor);
}

template <typename Archive>
void fields(Archive& archive, TrialPlan& trial) {
    archive("seed", trial.seed);
    archive("iterations", trial.iterations);
    archive("iteration_gap_ns", trial.iteration_gap_ns);
    archive("pressure_limit_ns", trial.pressure_limit_ns);
    archive("probe_limit_ns", trial.probe_limit_ns);
    archive("swap", trial.swap);
    archive("pressure", trial.pressure);
    archive("probe", trial.probe);
    archive("modules", trial.modules);
    archive("settings", trial.settings);
    archive("counters", trial.counters);
    archive.added("triggers", trial.triggers, std::vector<TriggerPlan>());
}

template <typename Archive>
void fields(Archive& archive, Case& case_) {
    archive("name", case_.name);
    archive("parameters", case_.parameters);
    archive("trial", case_.trial);
}

template <typename Archive>
void fields(Archive& archive, PlannedTrial& trial) {
    archive("position", trial.position);
    archive("arm", trial.arm);
    archive("case", trial.case_);
    archive("row", trial.row);
    archive("seed", trial.seed);
    archive.added("traced", trial.traced, false);
}

template <typename Archive>
void fields(Archive& archive, Plan& plan) {
    archive("experiment", plan.experiment);
    archive("experiment_sha256", plan.experiment_sha256);
    archive("question", plan.question);
    archive("substrate", plan.substrate);
    archive("accel", plan.accel);
    archive("exact", plan.exact);
    archive("paired", plan.paired);
    archive.added("paired_because", plan.paired_because, std::string());
    archive("shared_seeds", plan.shared_seeds);
    archive("first_seed", plan.first_seed);
    archive("order_seed", plan.order_seed);
    archive("trials_per_cell", plan.trials_per_cell);
    archive.added("traced_per_cell", plan.traced_per_cell, std::uint32_t{0});
    archive.added("looks", plan.looks, {});
    archive.added("until_pct", plan.until_pct, 0.0);
    archive("alpha", plan.alpha);
    archive("wall_limit_ns", plan.wall_limit_ns);
    archive("shape", plan.shape);
    archive("arms", plan.arms);
    archive("cases", plan.cases);
    archive("key_metrics", plan.key_metrics);
    archive("derived", plan.derived);
    archive("proofs", plan.proofs);
    archive("not_observable", plan.not_observable);
    archive("expected_differences", plan.expected_differences);
    archive("added_files", plan.added_files);
    archive("trials", plan.trials);
}

// What the fields can't say each for itself.
void check_whole(const Plan& plan) {
    if (!plan.looks.empty()) {
        const bool ascending = std::adjacent_find(plan.looks.begin(), plan.looks.end(),
                                                  std::greater_equal<>()) == plan.looks.end();
        if (!ascending || plan.looks.front() == 0 || plan.looks.back() != plan.trials_per_cell) {
            throw Fault{"looks don't lead up to trials_per_cell"};
        }
    }
    for (const PlannedTrial& trial : plan.trials) {
        if (trial.arm >= plan.arms.size() || trial.case_ >= plan.cases.size()) {
            throw Fault{
                fmt::format("trial {} is of an arm or case that is not there", trial.position)};
        }
    }
    for (const Case& case_ : plan.cases) {
        for (const LoadPlan* load : {&case_.trial.pressure, &case_.trial.probe}) {
            const LoadDef* def = find_load(load->id);
            if (def == nullptr) {
                throw Fault{fmt::format("case '{}' has the unknown load {}", case_.name,
                                        static_cast<unsigned>(load->id))};
            }
        }
    }
}

}  // namespace

std::string to_json(const Plan& plan) {
    Writer writer;
    Plan copy = plan;  // fields() is written for both ways and so takes a reference
    fields(writer, copy);
    // A text that isn't UTF-8 (an odd file name) is stored with replacement characters: no throw.
    return writer.take().dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Plan> from_json(std::string_view text) {
    if (text.size() > kMaxText) {
        return fail(Code::corrupt, "plan: {} bytes are more than the {} allowed", text.size(),
                    kMaxText);
    }
    bool too_deep = false;
    const auto bound = [&too_deep](int depth, json::parse_event_t, json&) {
        too_deep = too_deep || depth > kMaxNesting;
        return depth <= kMaxNesting;
    };
    try {
        const json in = json::parse(text.begin(), text.end(), bound);
        if (too_deep) return fail(Code::corrupt, "plan: nested too deeply");
        Reader reader(in, "");
        Plan plan;
        fields(reader, plan);
        reader.finish();
        check_whole(plan);
        return plan;
    } catch (const Fault& fault) {
        return fail(Code::corrupt, "plan: {}", fault.text);
    } catch (const json::exception& error) {
        return fail(Code::corrupt, "plan: {}", error.what());
    }
}

}  // namespace mano::plan
