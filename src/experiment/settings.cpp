// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment/settings.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "experiment/faults.h"
#include "measure/metric.h"

namespace mano::experiment {
namespace {

using plan::LoadDef;
using plan::LoadId;
using plan::ParamDef;
using plan::ParamType;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMs;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr auto kMiBytes = static_cast<std::int64_t>(kMiB);
constexpr auto kGiBytes = static_cast<std::int64_t>(kGiB);

constexpr std::array<std::string_view, 3> kThp{"always", "madvise", "never"};
constexpr std::array<std::string_view, 5> kDefrag{"always", "defer", "defer+madvise", "madvise",
                                                  "never"};
constexpr std::array<std::string_view, 4> kMthp{"always", "madvise", "inherit", "never"};
constexpr std::array<std::string_view, 6> kCompressors{"lz4",     "lz4hc", "lzo",
                                                       "lzo-rle", "zstd",  "deflate"};

constexpr std::array kGuest{
    SettingDef{{"memory", ParamType::bytes, "bytes", kGiBytes, 128 * kMiBytes, 1024 * kGiBytes,
                "memory of the guest; what its kernel leaves free of it is what the pressure is "
                "measured against"},
               {}},
    SettingDef{{"cpus", ParamType::integer, "", 4, 1, 255, "virtual CPUs of the guest"}, {}},
    SettingDef{{"zram", ParamType::bytes, "bytes", 0, 0, 512 * kGiBytes,
                "size of the swap device, which is compressed memory (zram); 0 for no swap"},
               {}},
    SettingDef{{"zram_compressor", ParamType::text, "", 0, 0, 0,
                "how zram compresses; kernels differ in their default, so it is always set"},
               kCompressors,
               true},
    SettingDef{{"lru_gen", ParamType::boolean, "", 0, 0, 1,
                "multi-generational LRU on or off; kernels differ in their default, so leaving it "
                "out compares the defaults too"},
               {},
               true},
    SettingDef{{"thp", ParamType::text, "", 0, 0, 0,
                "transparent huge pages of the PMD's size, as in "
                "/sys/kernel/mm/transparent_hugepage/enabled"},
               kThp},
    SettingDef{{"thp_defrag", ParamType::text, "", 0, 0, 0,
                "whose faults reclaim and compact for a large folio, as in "
                "/sys/kernel/mm/transparent_hugepage/defrag; set wherever large folios are given "
                "out, since kernels switch it off in guests below 512 MiB"},
               kDefrag},
};

constexpr std::array kRun{
    SettingDef{
        {"trials", ParamType::integer, "", 6, 1, 10000,
         "boots of each arm in each case; --trials overrides it. A verdict needs at least 4, "
         "6 are comfortable"},
        {}},
    SettingDef{{"iterations", ParamType::integer, "", 1, 1, 10000,
                "runs of the probe inside one boot; they are folded into one value and never "
                "counted as independent"},
               {}},
    SettingDef{{"gap", ParamType::duration, "ns", 50 * kMs, 0, 10 * kMinute,
                "guest time between two iterations, varied by the seed"},
               {}},
    SettingDef{{"pressure_limit", ParamType::duration, "ns", 2 * kMinute, 100 * kMs, 60 * kMinute,
                "guest time within which the pressure must have reached its level"},
               {}},
    SettingDef{{"probe_limit", ParamType::duration, "ns", kMinute, 100 * kMs, 60 * kMinute,
                "guest time that one iteration may take before it counts as hung"},
               {}},
    SettingDef{{"wall_limit", ParamType::duration, "ns", 10 * kMinute, 5 * kSecond, 1440 * kMinute,
                "host time that one trial may take"},
               {}},
    SettingDef{{"pairs", ParamType::boolean, "", 0, 0, 1,
                "compare equal seeds in pairs, where earlier run sets show that equal seeds give "
                "alike values in both arms; else nothing changes"},
               {}},
};

constexpr SettingDef kMthpDef{
    {"mthp", ParamType::text, "", 0, 0, 0, "whether folios of this size are given out"}, kMthp};
constexpr SettingDef kSysctlDef{{"sysctl", ParamType::text, "", 0, 0, 0,
                                 "a file below /proc/sys, written before anything runs"},
                                {}};

constexpr std::string_view kSysctlPrefix = "guest.sysctl.";
constexpr std::string_view kMthpPrefix = "guest.mthp.";
constexpr std::uint64_t kBasePage = 4 * kKiB;
constexpr std::uint64_t kPmdSize = 2 * kMiB;

bool is_folio_size(std::uint64_t bytes) {
    return bytes >= 4 * kBasePage && bytes <= kPmdSize && (bytes & (bytes - 1)) == 0;
}

Result<std::uint64_t> parse_folio(std::string_view text) {
    const Result<Bytes> bytes = parse_bytes(text);
    if (!bytes || !is_folio_size(bytes->value)) {
        return fail(Code::invalid,
                    "'{}' is not a folio size, expected a power of two from 16KiB to 2MiB",
                    text.substr(0, 64));
    }
    return bytes->value;
}

std::string show_size(std::uint64_t bytes) {
    const ParamDef param{"", ParamType::bytes, "", 0, 0, 0, ""};
    return show_value(param, {static_cast<std::int64_t>(bytes), {}});
}

// "vm.swappiness" → "/proc/sys/vm/swappiness". Only trees that say something about memory and
// scheduling, each part of plain letters: no path can leave them.
Result<std::string> sysctl_path(std::string_view name) {
    std::string path = "/proc/sys/";
    bool part_empty = true;
    std::size_t parts = 1;
    for (const char c : name) {
        const bool letter =
            (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (c == '.' && !part_empty) {
            path += '/';
            part_empty = true;
            ++parts;
        } else if (letter) {
            path += c;
            part_empty = false;
        } else {
            part_empty = true;
            break;
        }
    }
    const bool tree = name.starts_with("vm.") || name.starts_with("kernel.");
    if (part_empty || !tree || parts > 4 || name.size() > 80) {
        return fail(Code::invalid,
                    "'{}' is not a sysctl that can be set here, expected vm.NAME or kernel.NAME",
                    name.substr(0, 64));
    }
    return path;
}

void put(std::vector<plan::Setting>& settings, std::string path, std::string value, bool required) {
    for (plan::Setting& setting : settings) {
        if (setting.path != path) continue;
        setting.value = std::move(value);
        setting.required = required;
        return;
    }
    settings.push_back({std::move(path), std::move(value), required});
}

// "pressure" or "probe" of the draft.
plan::LoadPlan* load_of(const Draft& draft, std::string_view section) {
    if (section == "pressure") return &draft.trial.pressure;
    if (section == "probe") return &draft.trial.probe;
    return nullptr;
}

struct Name {
    std::string_view section;
    std::string_view key;
};
Name split(std::string_view name) {
    const std::size_t point = name.find('.');
    if (point == std::string_view::npos) return {name, {}};
    return {name.substr(0, point), name.substr(point + 1)};
}

std::vector<std::string> all_names(const Draft& draft) {
    std::vector<std::string> names;
    for (const SettingDef& def : guest_settings()) {
        names.push_back("guest." + std::string(def.param.name));
    }
    for (const SettingDef& def : run_settings()) {
        names.push_back("run." + std::string(def.param.name));
    }
    for (const std::string_view section : {"pressure", "probe"}) {
        const LoadDef* load = find_load(load_of(draft, section)->id);
        if (load == nullptr) continue;
        for (const ParamDef& param : load->params) {
            names.push_back(fmt::format("{}.{}", section, param.name));
        }
    }
    return names;
}

void set_guest(const Draft& draft, std::string_view key, const Held& held) {
    const auto number = static_cast<std::uint64_t>(held.number);
    plan::GuestShape& shape = draft.shape;
    if (key == "memory") shape.memory_bytes = number;
    if (key == "cpus") shape.cpus = static_cast<std::uint32_t>(number);
    if (key == "zram") shape.zram_bytes = number;
    if (key == "zram_compressor") shape.zram_compressor = held.text;
    if (key == "lru_gen") shape.lru_gen = number != 0;
    if (key == "thp") shape.thp = held.text;
    if (key == "thp_defrag") shape.thp_defrag = held.text;
}

void set_run(const Draft& draft, std::string_view key, const Held& held) {
    const auto number = static_cast<std::uint64_t>(held.number);
    if (key == "trials") draft.trials = static_cast<std::uint32_t>(number);
    if (key == "iterations") draft.trial.iterations = static_cast<std::uint32_t>(number);
    if (key == "gap") draft.trial.iteration_gap_ns = number;
    if (key == "pressure_limit") draft.trial.pressure_limit_ns = number;
    if (key == "probe_limit") draft.trial.probe_limit_ns = number;
    if (key == "wall_limit") draft.wall_limit_ns = number;
    if (key == "pairs") draft.pairs = number != 0;
}

std::optional<Held> get_guest(const plan::GuestShape& shape, std::string_view key) {
    if (key == "memory") return Held{static_cast<std::int64_t>(shape.memory_bytes), {}};
    if (key == "cpus") return Held{shape.cpus, {}};
    if (key == "zram") return Held{static_cast<std::int64_t>(shape.zram_bytes), {}};
    if (key == "thp") return Held{0, shape.thp};
    if (key == "thp_defrag") return Held{0, shape.thp_defrag};
    if (key == "lru_gen" && shape.lru_gen) return Held{*shape.lru_gen ? 1 : 0, {}};
    if (key == "zram_compressor" && !shape.zram_compressor.empty()) {
        return Held{0, shape.zram_compressor};
    }
    return std::nullopt;
}

Held get_run(const Draft& draft, std::string_view key) {
    std::uint64_t number = draft.wall_limit_ns;
    if (key == "trials") number = draft.trials;
    if (key == "iterations") number = draft.trial.iterations;
    if (key == "gap") number = draft.trial.iteration_gap_ns;
    if (key == "pressure_limit") number = draft.trial.pressure_limit_ns;
    if (key == "probe_limit") number = draft.trial.probe_limit_ns;
    if (key == "pairs") number = draft.pairs ? 1 : 0;
    return {static_cast<std::int64_t>(number), {}};
}

bool allows(const plan::GuestShape& shape, std::uint64_t folio) {
    const bool pmd = shape.thp != "never";
    const auto found = shape.mthp.find(folio);
    if (found == shape.mthp.end()) return folio == kPmdSize && pmd;
    if (found->second == "inherit") return pmd;
    return found->second != "never";
}

// A value of a load by its parameter's name; nullopt when the load has no such parameter.
std::optional<std::int64_t> value_of(const plan::LoadPlan& load, std::string_view name) {
    const LoadDef* def = plan::find_load(load.id);
    if (def == nullptr) return std::nullopt;
    const auto index = find_param(*def, name);
    if (!index || *index >= load.values.size()) return std::nullopt;
    return load.values[*index];
}

void check_load(const Draft& draft, std::string_view section, std::vector<std::string>& out) {
    const plan::LoadPlan& load = *load_of(draft, section);
    const auto folio = static_cast<std::uint64_t>(value_of(load, "folio").value_or(0));
    if (folio != 0 && !is_folio_size(folio)) {
        out.push_back(fmt::format(
            "{}.folio: {} is not a folio size, expected 0 or a power of two from 16KiB to 2MiB",
            section, show_size(folio)));
    } else if (folio != 0 && !allows(draft.shape, folio)) {
        out.push_back(
            fmt::format("{}.folio: the guest gives out no folios of {}, expected "
                        "[guest.mthp] \"{}\" = \"madvise\"",
                        section, show_size(folio), show_size(folio)));
    }
    if (load.id == LoadId::thp && !allows(draft.shape, kPmdSize)) {
        out.push_back(
            "probe.kind: the guest gives out no huge pages, expected guest.thp = \"madvise\"");
    }
    const auto chunk = static_cast<std::uint64_t>(value_of(load, "punch_chunk").value_or(0));
    if (chunk % kBasePage != 0) {
        out.push_back(
            fmt::format("{}.punch_chunk: {} is no multiple of 4KiB", section, show_size(chunk)));
    }
    const auto size = static_cast<std::uint64_t>(value_of(load, "size").value_or(0));
    const auto workers = static_cast<std::uint64_t>(value_of(load, "workers").value_or(1));
    if (size > (draft.shape.memory_bytes + draft.shape.zram_bytes) / workers) {
        out.push_back(fmt::format("{}.size: {} workers of {} are more than the guest's memory",
                                  section, workers, show_size(size)));
    }
    const auto duration = static_cast<std::uint64_t>(value_of(load, "duration").value_or(0));
    if (section == "probe" && duration >= draft.trial.probe_limit_ns) {
        out.push_back(
            "run.probe_limit: not longer than probe.duration, every iteration would "
            "count as hung");
    }
}

bool is_power_of_two(std::uint64_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

// Probes of whole buffers: what the kernel would answer with EINVAL, said before anything runs.
void check_buffers(const Draft& draft, std::vector<std::string>& out) {
    const plan::LoadPlan& load = draft.trial.probe;
    const auto number = [&load](std::string_view name) {
        return static_cast<std::uint64_t>(value_of(load, name).value_or(0));
    };
    const auto power = [&](std::string_view name, std::uint64_t least) {
        if (is_power_of_two(number(name)) && number(name) >= least) return;
        out.push_back(fmt::format("probe.{}: expected a power of two", name));
    };
    std::uint64_t needed = 0;
    if (load.id == LoadId::packet_ring) {
        power("block", kBasePage);
        if (number("size") % std::max<std::uint64_t>(1, number("block")) != 0) {
            out.push_back(fmt::format("probe.size: {} is no multiple of probe.block, {}",
                                      show_size(number("size")), show_size(number("block"))));
        }
        needed = number("rings") * number("size");
    }
    if (load.id == LoadId::io_uring_ring) {
        power("entries", 1);
        // 64 or 128 bytes a submission; two completions of 16 and an index of 4 for each.
        needed = number("rings") * number("entries") * (number("sqe128") != 0 ? 164 : 100);
    }
    if (load.id == LoadId::aux) {
        power("size", kBasePage);
        power("data_pages", 1);
        if (!load.text.empty() && !is_made_of(load.text, "-.", 64)) {
            out.emplace_back("probe.pmu: expected the name of a PMU, letters, digits and _-.");
        }
        if (number("linger") >= draft.trial.probe_limit_ns) {
            out.emplace_back(
                "run.probe_limit: not longer than probe.linger, every iteration would count as "
                "hung");
        }
        if (number("watermark") > number("size")) {
            out.emplace_back("probe.watermark: more than probe.size is never reached");
        }
        needed = draft.shape.cpus * (number("size") + number("data_pages") * kBasePage);
    }
    if (needed > draft.shape.memory_bytes / 2) {
        out.push_back(fmt::format("probe: its buffers would take {} of the guest's {}",
                                  show_bytes(needed), show_bytes(draft.shape.memory_bytes)));
    }
}

}  // namespace

std::span<const SettingDef> guest_settings() {
    return kGuest;
}
std::span<const SettingDef> run_settings() {
    return kRun;
}
std::span<const std::string_view> mthp_choices() {
    return kMthp;
}

plan::LoadPlan default_load(const LoadDef& load) {
    plan::LoadPlan made;
    made.id = load.id;
    for (const ParamDef& param : load.params)
        made.values.push_back(param.fallback);
    return made;
}

void set_defaults(Draft draft) {
    for (const SettingDef& def : kGuest) {
        if (def.param.type != ParamType::text && !def.optional) {
            set_guest(draft, def.param.name, {def.param.fallback, {}});
        }
    }
    for (const SettingDef& def : kRun)
        set_run(draft, def.param.name, {def.param.fallback, {}});
}

Result<SettingDef> find_setting(const Draft& draft, std::string_view name) {
    const auto [section, key] = split(name);
    if (name.starts_with(kMthpPrefix)) {
        MANO_TRY(parse_folio(name.substr(kMthpPrefix.size())));
        return kMthpDef;
    }
    if (name.starts_with(kSysctlPrefix)) {
        MANO_TRY(sysctl_path(name.substr(kSysctlPrefix.size())));
        return kSysctlDef;
    }
    if (section == "guest" || section == "run") {
        for (const SettingDef& def : section == "guest" ? guest_settings() : run_settings()) {
            if (def.param.name == key) return def;
        }
    }
    if (const plan::LoadPlan* load = load_of(draft, section)) {
        const LoadDef* def = plan::find_load(load->id);
        if (def != nullptr) {
            if (const auto index = find_param(*def, key))
                return SettingDef{def->params[*index], {}};
        }
    }
    const std::vector<std::string> names = all_names(draft);
    std::vector<std::string_view> views;
    for (const std::string& known : names) {
        if (section.empty() || split(known).section == section) views.push_back(known);
    }
    if (views.empty()) views.assign(names.begin(), names.end());
    return fail(Code::invalid, "no parameter '{}', {}", name.substr(0, 64),
                expected_one_of(name, views));
}

Status apply_setting(Draft draft, std::string_view name, std::string_view text) {
    MANO_ASSIGN(const SettingDef def, find_setting(draft, name));
    MANO_ASSIGN(const Held held, parse_value(def.param, def.choices, text));
    const auto [section, key] = split(name);
    if (name.starts_with(kMthpPrefix)) {
        MANO_ASSIGN(const std::uint64_t folio, parse_folio(name.substr(kMthpPrefix.size())));
        draft.shape.mthp[folio] = held.text;
    } else if (name.starts_with(kSysctlPrefix)) {
        MANO_ASSIGN(std::string path, sysctl_path(name.substr(kSysctlPrefix.size())));
        if (!is_made_of(held.text, "-. ", 64)) {
            return fail(Code::invalid, "'{}' is not a sysctl's value, expected a number or word",
                        held.text.substr(0, 64));
        }
        put(draft.trial.settings, std::move(path), held.text, true);
    } else if (section == "guest") {
        set_guest(draft, key, held);
    } else if (section == "run") {
        set_run(draft, key, held);
    } else {
        plan::LoadPlan& load = *load_of(draft, section);
        if (def.param.type == ParamType::text) {
            load.text = held.text;
        } else {
            load.values.at(*find_param(*plan::find_load(load.id), key)) = held.number;
        }
    }
    return {};
}

std::optional<std::string> setting_text(const Draft& draft, std::string_view name) {
    const auto def = find_setting(draft, name);
    if (!def) return std::nullopt;
    const auto [section, key] = split(name);
    if (name.starts_with(kMthpPrefix)) {
        const auto folio = parse_folio(name.substr(kMthpPrefix.size()));
        const auto found = draft.shape.mthp.find(*folio);
        if (found == draft.shape.mthp.end()) return std::nullopt;
        return found->second;
    }
    if (name.starts_with(kSysctlPrefix)) {
        const auto path = sysctl_path(name.substr(kSysctlPrefix.size()));
        for (const plan::Setting& setting : draft.trial.settings) {
            if (setting.path == *path) return setting.value;
        }
        return std::nullopt;
    }
    std::optional<Held> held;
    if (section == "guest") held = get_guest(draft.shape, key);
    if (section == "run") held = get_run(draft, key);
    if (const plan::LoadPlan* load = load_of(draft, section)) {
        if (def->param.type == ParamType::text) {
            if (!load->text.empty()) held = Held{0, load->text};
        } else if (const auto value = value_of(*load, key)) {
            held = Held{*value, {}};
        }
    }
    if (!held) return std::nullopt;
    return show_value(def->param, *held);
}

std::vector<Parameter> list_parameters(const Draft& draft) {
    std::vector<std::string> names = all_names(draft);
    for (const auto& [folio, mode] : draft.shape.mthp) {
        names.push_back(std::string(kMthpPrefix) + show_size(folio));
    }
    for (const plan::Setting& setting : draft.trial.settings) {
        constexpr std::string_view kTree = "/proc/sys/";
        if (!setting.path.starts_with(kTree)) continue;
        std::string name = std::string(kSysctlPrefix) + setting.path.substr(kTree.size());
        std::replace(name.begin(), name.end(), '/', '.');
        names.push_back(std::move(name));
    }
    std::vector<Parameter> parameters;
    for (const std::string& name : names) {
        const auto def = find_setting(draft, name);
        if (!def) continue;
        const bool load = name.starts_with("probe.") || name.starts_with("pressure.");
        parameters.push_back({name, std::string(def->param.unit),
                              setting_text(draft, name).value_or(load ? "-" : "kernel's own"),
                              show_range(def->param, def->choices),
                              std::string(def->param.meaning)});
    }
    return parameters;
}

void finish_settings(Draft draft) {
    std::vector<plan::Setting>& settings = draft.trial.settings;
    static constexpr std::string_view kTree = "/sys/kernel/mm/";
    std::erase_if(settings, [](const plan::Setting& s) { return s.path.starts_with(kTree); });
    // Switching off what a kernel doesn't have is no precondition; switching it on is.
    const plan::GuestShape& shape = draft.shape;
    if (shape.lru_gen) {
        put(settings, "/sys/kernel/mm/lru_gen/enabled", *shape.lru_gen ? "y" : "n", *shape.lru_gen);
    }
    const std::string thp = "/sys/kernel/mm/transparent_hugepage/";
    // A live host's own mode, which is left alone unless the user names one, is empty here.
    if (!shape.thp.empty()) put(settings, thp + "enabled", shape.thp, shape.thp != "never");
    bool folios = !shape.thp.empty() && shape.thp != "never";
    for (const auto& [folio, mode] : shape.mthp) {
        put(settings, fmt::format("{}hugepages-{}kB/enabled", thp, folio / kKiB), mode,
            mode != "never");
        folios = folios || mode != "never";
    }
    if (folios && !shape.thp_defrag.empty()) put(settings, thp + "defrag", shape.thp_defrag, true);
    draft.trial.swap = {shape.zram_bytes, shape.zram_bytes > 0 ? shape.zram_compressor : ""};
}

std::vector<std::string> contradictions(const Draft& draft) {
    std::vector<std::string> out;
    check_load(draft, "pressure", out);
    check_load(draft, "probe", out);
    check_buffers(draft, out);
    constexpr std::int64_t kNeedsSwap = 950'000;  // millionths
    if (value_of(draft.trial.pressure, "demand").value_or(0) >= kNeedsSwap &&
        draft.shape.zram_bytes == 0) {
        out.push_back(
            "pressure.demand: from 95% on the guest needs swap, expected guest.zram such "
            "as \"512MiB\"");
    }
    if (draft.shape.zram_bytes > 0 && draft.shape.zram_compressor.empty()) {
        out.push_back(
            fmt::format("guest.zram_compressor: missing, expected one of {} (kernels "
                        "differ in their default, and would be compared in that)",
                        show_range(kGuest[3].param, kCompressors)));
    }
    if (draft.shape.zram_bytes > 4 * draft.shape.memory_bytes) {
        out.push_back("guest.zram: more than four times guest.memory can't be compressed into it");
    }
    return out;
}

}  // namespace mano::experiment
