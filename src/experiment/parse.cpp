// SPDX-License-Identifier: GPL-2.0-or-later
// The experiment file's grammar, section by section; docs/experiments.md is its reference.
#include <algorithm>
#include <set>

#include "base/digest.h"
#include "experiment/experiment.h"
#include "experiment/metrics.h"
#include "experiment/section.h"
#include "experiment/settings.h"
#include "experiment/tree.h"
#include "experiment/values.h"

namespace mano::experiment {
namespace {

using plan::LoadDef;
using plan::LoadKind;
using plan::ParamDef;
using plan::ParamType;

constexpr std::size_t kMaxSweep = 64;
constexpr std::size_t kMaxArms = 16;

bool is_experiment_name(std::string_view name) {
    return name.size() <= 32 && !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
           });
}

class Parser {
  public:
    Parser(std::string_view text, std::string_view file) : faults_(file) {
        experiment_.text = std::string(text);
        experiment_.source = std::string(file);
        experiment_.base.experiment_sha256 = sha256(text);
        trial_.pressure = default_load(*plan::find_load(plan::LoadId::none));
        trial_.probe = default_load(*plan::find_load(plan::LoadId::idle));
    }

    Result<Experiment> run(std::string_view file) {
        MANO_ASSIGN(const Node root, read_toml(experiment_.text, file, faults_));
        Section top(root, "the file", faults_);
        set_defaults(draft());
        head(top);
        loads(top);
        plain_settings(top, "guest", guest_settings());
        plain_settings(top, "run", run_settings());
        experiment_.default_trials = trials_;
        sweep(top);
        const MetricNames names =
            read_metrics(top, faults_, std::move(new_metrics_), experiment_, trial_);
        equivalence(top);
        exact(top, names);
        experiment_.default_arms = arms(top, "[[arm]]");
        model(top, names);
        top.finish();
        cases();
        if (!faults_.none()) return tl::unexpected<Error>(faults_.error());
        experiment_.parameters = list_parameters(draft());
        experiment_.needs = needs();
        return std::move(experiment_);
    }

  private:
    Draft draft() {
        return {experiment_.base.shape, trial_, experiment_.base.wall_limit_ns, trials_,
                experiment_.base.paired};
    }

    // nullptr, after a fault when it is required, where the file hasn't got it.
    const Node* table(Section& top, std::string_view key, bool required) {
        if (const Entry* entry = top.take(key)) {
            places_[std::string(key)] = entry->value.place;
            return &entry->value;
        }
        if (required) top.missing(key, fmt::format("a table [{}]", key));
        return nullptr;
    }

    void head(Section& top) {
        const Node* node = table(top, "experiment", true);
        if (node == nullptr) return;
        Section in(*node, "[experiment]", faults_);
        if (const auto name = in.text("name", true)) {
            if (is_experiment_name(*name)) {
                experiment_.name = *name;
            } else {
                in.fault(*in.take("name"),
                         "expected lower-case letters, digits and '-', at most 32");
            }
        }
        one_line(in, "title", 100, experiment_.title);
        one_line(in, "question", 200, experiment_.base.question);
        experiment_.about = in.text("about", false, 16384).value_or("");
        new_metrics_ = in.texts("new_metrics");
        in.finish();
        experiment_.base.experiment = experiment_.name;
    }

    void one_line(Section& in, std::string_view key, std::size_t limit, std::string& out) {
        const auto text = in.text(key, true, limit);
        if (!text) return;
        if (text->find('\n') != std::string::npos) {
            in.fault(*in.take(key), "expected a single line");
        }
        out = *text;
    }

    void loads(Section& top) {
        load(top, "pressure", LoadKind::pressure, trial_.pressure);
        load(top, "probe", LoadKind::probe, trial_.probe);
    }

    void load(Section& top, std::string_view key, LoadKind kind, plan::LoadPlan& out) {
        const Node* node = table(top, key, true);
        if (node == nullptr) return;
        Section in(*node, fmt::format("[{}]", key), faults_);
        const auto name = in.text("kind", true);
        const LoadDef* def = name ? plan::find_load(kind, *name) : nullptr;
        if (def == nullptr) {
            if (name) {
                std::vector<std::string_view> names;
                for (const LoadDef& known :
                     kind == LoadKind::pressure ? plan::pressures() : plan::probes()) {
                    names.push_back(known.name);
                }
                in.fault(*in.take("kind"), fmt::format("no {} '{}', {}", key, name->substr(0, 64),
                                                       expected_one_of(*name, names)));
            }
            return;  // which keys it may have is unknown
        }
        out = default_load(*def);
        for (const ParamDef& param : def->params)
            set(in, key, param);
        if (def->id == plan::LoadId::command) {
            if (const auto text = in.text("command", false, 4096)) {
                if (is_plain_text(*text, 4096)) {
                    out.text = *text;
                } else {
                    in.fault(*in.take("command"), "expected printable ASCII");
                }
            }
        }
        in.finish();
    }

    void plain_settings(Section& top, std::string_view key, std::span<const SettingDef> defs) {
        const bool guest = key == "guest";
        const Node* node = table(top, key, guest);
        if (node == nullptr) return;
        Section in(*node, fmt::format("[{}]", key), faults_);
        for (const SettingDef& def : defs)
            set(in, key, def.param);
        if (guest) {
            sub_table(in, "mthp", true);
            sub_table(in, "sysctl", false);
            modules(in);
            cmdline(in);
        }
        in.finish();
    }

    // [guest.mthp] and [guest.sysctl]: the keys are names of their own.
    void sub_table(Section& in, std::string_view key, bool texts_only) {
        const Entry* entry = in.take(key);
        if (entry == nullptr) return;
        if (entry->value.kind != Node::Kind::table) {
            in.fault(*entry, fmt::format("expected a table [guest.{}]", key));
            return;
        }
        flatten(in, entry->value, fmt::format("guest.{}", key), texts_only);
    }

    // vm.swappiness = 100 without quotes is a table in a table.
    void flatten(Section& in, const Node& node, const std::string& prefix, bool texts_only) {
        for (const Entry& entry : node.entries) {
            const std::string name = prefix + "." + entry.key;
            if (entry.value.kind == Node::Kind::table && !texts_only) {
                flatten(in, entry.value, name, texts_only);
                continue;
            }
            std::string text = entry.value.text;
            if (entry.value.kind == Node::Kind::integer && !texts_only) {
                text = std::to_string(entry.value.integer);
            } else if (entry.value.kind != Node::Kind::text) {
                in.fault(entry,
                         fmt::format("found {}, expected a text", name_of(entry.value.kind)));
                continue;
            }
            if (const Status done = apply_setting(draft(), name, text); !done) {
                in.fault(entry, done.error().message);
            }
        }
    }

    void modules(Section& in) {
        std::vector<std::string> names = in.texts("modules", 64);
        const bool good = std::all_of(names.begin(), names.end(), [](const std::string& name) {
            return is_made_of(name, "-", 64);
        });
        if (!good || names.size() > 8) {
            in.fault(*in.take("modules"),
                     "expected at most 8 names of modules that come with Manometer, such as "
                     "\"aux_pmu\"");
            return;
        }
        experiment_.base.shape.modules = std::move(names);
    }

    void cmdline(Section& in) {
        std::vector<std::string> words = in.texts("cmdline", 128);
        const bool good = std::all_of(words.begin(), words.end(), [](const std::string& word) {
            return is_made_of(word, "-.,=:/+@", 128);
        });
        if (!good || words.size() > 32) {
            in.fault(*in.take("cmdline"),
                     "expected at most 32 words of letters, digits and -.,=:/+@");
            return;
        }
        experiment_.base.shape.extra_cmdline = std::move(words);
    }

    // One parameter of a section, when the file gives it.
    void set(Section& in, std::string_view section, const ParamDef& param) {
        const Entry* entry = in.take(param.name);
        if (entry == nullptr) return;
        const auto text = as_text(in, *entry, param);
        if (!text) return;
        const std::string name = fmt::format("{}.{}", section, param.name);
        if (const Status done = apply_setting(draft(), name, *text); !done) {
            in.fault(*entry, done.error().message);
        }
    }

    // A TOML value of the type that the parameter wants, as the text that --set would have.
    std::optional<std::string> as_text(Section& in, const Entry& entry, const ParamDef& param) {
        const Node& value = entry.value;
        const auto wrong = [&](std::string_view expected) -> std::optional<std::string> {
            in.fault(entry, fmt::format("found {}, expected {}", name_of(value.kind), expected));
            return std::nullopt;
        };
        switch (param.type) {
            case ParamType::integer:
                if (value.kind == Node::Kind::integer) return std::to_string(value.integer);
                return wrong("a whole number");
            case ParamType::boolean:
                if (value.kind == Node::Kind::boolean) return value.boolean ? "true" : "false";
                return wrong("true or false");
            case ParamType::share:
                if (value.kind == Node::Kind::number) return fmt::format("{}", value.number);
                if (value.kind == Node::Kind::integer) return std::to_string(value.integer);
                if (value.kind == Node::Kind::text) return value.text;
                return wrong("a share such as \"90%\" or 0.9");
            case ParamType::bytes:
            case ParamType::duration:
                if (value.kind == Node::Kind::text) return value.text;
                if (value.kind == Node::Kind::integer) return std::to_string(value.integer);
                return wrong(param.type == ParamType::bytes
                                 ? "bytes in quotes with a unit such as \"8MiB\""
                                 : "a time in quotes with a unit such as \"250ms\"");
            case ParamType::choice:
            case ParamType::text:
                if (value.kind == Node::Kind::text) return value.text;
                return wrong("a text in quotes");
        }
        return std::nullopt;
    }

    void sweep(Section& top) {
        const Entry* entry = top.take("sweep");
        if (entry == nullptr) return;
        places_["sweep"] = entry->value.place;
        Section in(entry->value, "[sweep]", faults_);
        const auto name = in.text("parameter", true);
        const Entry* values = in.take("values");
        in.finish();
        if (values == nullptr) return in.missing("values", "a list of values");
        if (!name) return;
        if (!name->starts_with("pressure.") && !name->starts_with("probe.")) {
            in.fault(*in.take("parameter"),
                     "expected a parameter of the pressure or the probe (a guest's shape must be "
                     "the same in all cases)");
            return;
        }
        const auto def = find_setting(draft(), *name);
        if (!def) return in.fault(*in.take("parameter"), def.error().message);
        const Node& list = values->value;
        if (list.kind != Node::Kind::array || list.items.empty() || list.items.size() > kMaxSweep) {
            return in.fault(*values, fmt::format("expected a list of 1 to {} values", kMaxSweep));
        }
        experiment_.sweep = *name;
        for (const Node& item : list.items)
            sweep_value(in, *def, {"values", item.place, item});
    }

    void sweep_value(Section& in, const SettingDef& def, const Entry& item) {
        const auto text = as_text(in, item, def.param);
        if (!text) return;
        const auto held = parse_value(def.param, def.choices, *text);
        if (!held) return in.fault(item, held.error().message);
        const std::string shown = show_value(def.param, *held);
        const auto& known = experiment_.sweep_values;
        if (std::find(known.begin(), known.end(), shown) != known.end()) {
            return in.fault(item, fmt::format("'{}' is there twice", shown));
        }
        experiment_.sweep_values.push_back(shown);
    }

    void equivalence(Section& top) {
        const Entry* entry = top.take("equivalence");
        if (entry == nullptr) return;
        Section in(entry->value, "[equivalence]", faults_);
        experiment_.base.expected_differences = in.texts("expected_differences");
        in.finish();
    }

    void exact(Section& top, const MetricNames& names) {
        const Entry* entry = top.take("exact");
        if (entry == nullptr) return;
        Section in(entry->value, "[exact]", faults_);
        experiment_.exact_needs_one_cpu = in.text("needs_one_cpu", false, 500);
        experiment_.not_observable_in_exact = not_observable(in, "[[exact.not_observable]]", names);
        in.finish();
    }

    // The metrics that a mode or a substrate has no answer to.
    std::vector<plan::NotObservable> not_observable(Section& in, const std::string& shown,
                                                    const MetricNames& names) {
        std::vector<plan::NotObservable> out;
        for (const Node* node : in.tables("not_observable")) {
            Section one(*node, shown, faults_);
            const auto metric = one.text("metric", true);
            const auto reason = one.text("reason", true, 500);
            if (metric && !names.know(*metric)) {
                one.fault(*one.take("metric"), names.complaint(*metric));
            }
            if (metric && reason) out.push_back({*metric, *reason});
            one.finish();
        }
        return out;
    }

    // [model]: arms for the substrate `model`.
    void model(Section& top, const MetricNames& names) {
        const Entry* entry = top.take("model");
        if (entry == nullptr) return;
        Section in(entry->value, "[model]", faults_);
        experiment_.model_arms = arms(in, "[[model.arm]]");
        experiment_.not_observable_in_model = not_observable(in, "[[model.not_observable]]", names);
        in.finish();
    }

    // `probe`: parameters of the probe that this arm has for itself.
    std::vector<plan::ArmParam> arm_params(Section& in) {
        std::vector<plan::ArmParam> params;
        const Entry* entry = in.take("probe");
        if (entry == nullptr) return params;
        if (entry->value.kind != Node::Kind::table) {
            in.fault(*entry, "expected a table such as { size = \"8MiB\" }");
            return params;
        }
        for (const Entry& one : entry->value.entries) {
            const std::string name = "probe." + one.key;
            const auto def = find_setting(draft(), name);
            if (!def) {
                in.fault(one, def.error().message);
                continue;
            }
            const auto text = as_text(in, one, def->param);
            if (!text) continue;
            const auto held = parse_value(def->param, def->choices, *text);
            if (!held) {
                in.fault(one, held.error().message);
                continue;
            }
            params.push_back({name, show_value(def->param, *held), held->number});
        }
        return params;
    }

    std::vector<plan::Arm> arms(Section& top, const std::string& shown) {
        std::vector<plan::Arm> out;
        std::set<std::string> names;
        for (const Node* node : top.tables("arm")) {
            Section in(*node, shown, faults_);
            const auto name = in.text("name", true);
            const auto kernel = in.text("kernel", true, 1000);
            std::vector<plan::ArmParam> params = arm_params(in);
            in.finish();
            if (!name || !kernel) continue;
            if (!is_made_of(*name, "-.+", 64)) {
                in.fault(*in.take("name"), "expected letters, digits and _-.+, at most 64");
            } else if (!names.insert(*name).second || names.size() > kMaxArms) {
                in.fault(*in.take("name"), fmt::format("'{}' is there twice", *name));
            } else {
                out.push_back({*name, *kernel, {}, {}});
                out.back().params = std::move(params);
            }
        }
        return out;
    }

    // One case per swept value, and what contradicts itself in any of them.
    void cases() {
        finish_settings(draft());
        // Half of a file contradicts itself without meaning to.
        const bool whole = faults_.none();
        std::vector<plan::Case>& out = experiment_.base.cases;
        if (!experiment_.sweep) {
            out.push_back({"", {}, trial_});
            if (whole) report(draft());
            return;
        }
        const std::string key = experiment_.sweep->substr(experiment_.sweep->find('.') + 1);
        const auto def = find_setting(draft(), *experiment_.sweep);
        for (const std::string& value : experiment_.sweep_values) {
            plan::Case one{key + "=" + value, {}, trial_};
            Draft swept{experiment_.base.shape, one.trial, experiment_.base.wall_limit_ns, trials_,
                        experiment_.base.paired};
            // Both were checked when the sweep was read.
            if (!def || !apply_setting(swept, *experiment_.sweep, value)) continue;
            const auto held = parse_value(def->param, def->choices, value);
            if (held) one.parameters[*experiment_.sweep] = plain_value(def->param, *held);
            if (whole) report(swept);
            out.push_back(std::move(one));
        }
    }

    void report(const Draft& of) {
        for (const std::string& text : contradictions(of)) {
            const auto place = places_.find(text.substr(0, text.find('.')));
            faults_.add(place == places_.end() ? Place{} : place->second, text);
        }
    }

    std::vector<std::string> needs() const {
        std::vector<std::string> out{"cgroup v2", "PSI"};
        const plan::GuestShape& shape = experiment_.base.shape;
        if (shape.zram_bytes > 0) out.push_back("swap (zram, " + shape.zram_compressor + ")");
        if (shape.thp != "never") out.emplace_back("transparent huge pages");
        for (const auto& [folio, mode] : shape.mthp) {
            if (mode == "never") continue;
            out.push_back(fmt::format("mTHP of {} KiB (kernels from 6.8 on)", folio / 1024));
        }
        if (shape.lru_gen.value_or(false)) out.emplace_back("multi-generational LRU");
        if (!trial_.counters.empty()) out.emplace_back("tracepoints (perf events)");
        for (const std::string& module : shape.modules) {
            out.push_back(fmt::format("module {} (kernels built here: source:, tree:)", module));
        }
        return out;
    }

    Faults faults_;
    Experiment experiment_;
    plan::TrialPlan trial_;
    std::uint32_t trials_ = 0;
    std::vector<std::string> new_metrics_;
    std::map<std::string, Place> places_;  // of the sections that are there
};

}  // namespace

Result<Experiment> parse(std::string_view toml, std::string_view file) {
    return Parser(toml, file).run(file);
}

}  // namespace mano::experiment
