// SPDX-License-Identifier: GPL-2.0-or-later
#include "reproduce/reproduce.h"

#include <fmt/format.h>

#include "plan/schema.h"
#include "reproduce/embedded.h"

namespace mano::reproduce {
namespace {

using plan::LoadId;
using plan::ParamType;

// Which part has a load's C text; a load that isn't here has none yet.
struct Text {
    LoadId load;
    std::string_view part;
    bool workers = false;  // of a pressure: needs workers.c
    bool threads = false;  // needs threads.c
};
constexpr Text kTexts[] = {
    {LoadId::none, "none.c"},
    {LoadId::hold, "hold.c", true},
    {LoadId::churn, "churn.c", true, true},
    {LoadId::pageout, "pageout.c", true},
    {LoadId::idle, "idle.c"},
    {LoadId::shm, "shm.c", false, true},
    {LoadId::mthp, "mthp.c"},
    {LoadId::thp, "mthp.c"},
    {LoadId::command, "command.c"},
    {LoadId::packet_ring, "packet-ring.c"},
    {LoadId::io_uring_ring, "io-uring-ring.c"},
    {LoadId::aux, "aux.c"},
    {LoadId::timer, "timer.c"},
};

Result<Text> text_of(LoadId load) {
    for (const Text& text : kTexts) {
        if (text.load == load) return text;
    }
    const plan::LoadDef* def = plan::find_load(load);
    return fail(Code::invalid, "there is no C text for '{}' yet", def != nullptr ? def->name : "?");
}

// Without its first line, the licence's: the head has it for the whole.
std::string_view part(std::string_view name) {
    for (const Embedded& each : embedded_parts()) {
        if (each.name == name) return each.text.substr(each.text.find('\n') + 1);
    }
    return {};
}

// A string literal that says what `text` says, whatever is in it: no text from an experiment or a
// store can end it, or be read as a trigraph or an escape.
std::string literal(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte >= 0x7f || c == '?') {
            out += fmt::format("\\{:03o}", byte);
        } else {
            out += c;
        }
    }
    return out + "\"";
}

// What may stand in a comment: one line that can't end it.
std::string comment(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte < 0x20 || byte >= 0x7f ? '?' : c;
        if (out.ends_with("*/")) out.replace(out.size() - 2, 2, "*?");
    }
    return out;
}

std::string upper(std::string_view name) {
    std::string out;
    for (const char c : name)
        out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '-' ? '_' : c;
    return out;
}

// One #define a parameter: counts and yes/no plain, bytes and times unsigned and wide.
std::string parameters(std::string_view prefix, const plan::LoadPlan& load) {
    const plan::LoadDef* def = plan::find_load(load.id);
    std::string out;
    for (std::size_t i = 0; def != nullptr && i < def->params.size(); ++i) {
        const plan::ParamDef& param = def->params[i];
        if (param.type == ParamType::text || param.type == ParamType::choice) continue;
        const std::int64_t value = i < load.values.size() ? load.values[i] : param.fallback;
        const bool wide = param.type == ParamType::bytes || param.type == ParamType::duration;
        const std::string_view unit = param.type == ParamType::share ? "millionths" : param.unit;
        out +=
            fmt::format("#define {}_{} {}{}", prefix, upper(param.name), value, wide ? "ULL" : "");
        out += unit.empty() ? "\n" : fmt::format(" /* {} */\n", unit);
    }
    return out;
}

// What a probe's text needs beside its parameters.
std::string probe_extras(const plan::LoadPlan& load) {
    std::string out;
    const plan::LoadDef* def = plan::find_load(load.id);
    if (load.id == LoadId::thp) {
        out += "#define PROBE_FOLIO 2097152ULL\n#define PROBE_DURATION 0ULL\n";
    }
    if (load.id == LoadId::command)
        out += fmt::format("#define PROBE_COMMAND {}\n", literal(load.text));
    if (load.id == LoadId::aux) {
        std::string pmu = load.text;
        const auto at = plan::find_param(*def, "capability");
        if (pmu.empty() && at && *at < load.values.size()) {
            const auto choice = static_cast<std::size_t>(load.values[*at]);
            const auto& choices = def->params[*at].choices;
            pmu = "aux_" + std::string(choice < choices.size() ? choices[choice] : "pages");
            for (char& c : pmu)
                c = c == '-' ? '_' : c;
        }
        out += fmt::format("#define PROBE_PMU {}\n", literal(pmu));
    }
    if (def == nullptr || !plan::find_param(*def, "workers")) out += "#define PROBE_WORKERS 1\n";
    return out;
}

std::string settings(const plan::Case& case_) {
    std::string out = "#define SETTINGS \\\n";
    for (const plan::Setting& setting : case_.trial.settings) {
        out += fmt::format("    {{{}, {}}}, \\\n", literal(setting.path), literal(setting.value));
    }
    return out + "\n";
}

std::string counters(const plan::Case& case_) {
    std::string out = "#define COUNTERS \\\n";
    for (const plan::CounterPlan& counter : case_.trial.counters) {
        out += fmt::format("    {{{}, {}, {}}}, \\\n", literal(counter.metric),
                           literal(counter.event), literal(counter.filter));
    }
    return out + "\n";
}

Result<const plan::Case*> find_case(const plan::Plan& plan, std::string_view name) {
    std::string known;
    for (const plan::Case& each : plan.cases) {
        if (each.name == name) return &each;
        known += (known.empty() ? "" : ", ") + each.name;
    }
    if (name.empty() && !plan.cases.empty()) return &plan.cases.back();
    return fail(Code::invalid, "there is no case '{}', expected one of {}", name, known);
}

std::string head(const plan::Plan& plan, const plan::Case& case_, std::string_view how) {
    std::string out = "/* SPDX-License-Identifier: GPL-2.0-or-later */\n/*\n";
    out += fmt::format(" * {}{}{}: {}\n *\n", comment(plan.experiment),
                       case_.name.empty() ? "" : ", ", comment(case_.name), comment(plan.question));
    out +=
        " * Pressure and probe of an experiment, in one file:\n"
        " *\n"
        " *     gcc -O2 -o reproduce reproduce.c && sudo ./reproduce --yes-this-machine\n"
        " *\n"
        " * in a virtual machine or on one that nobody needs: it fills this machine's memory.\n";
    out += fmt::format(" * The machine that it was made for: {} MiB of memory, {} CPUs",
                       plan.shape.memory_bytes >> 20, plan.shape.cpus);
    if (plan.shape.zram_bytes > 0) {
        out += fmt::format(", {} MiB of swap on zram ({})", plan.shape.zram_bytes >> 20,
                           comment(plan.shape.zram_compressor));
    }
    out += fmt::format(
        ".\n * Figures are of one boot; the comparison over many boots was\n *     {}\n */\n\n",
        comment(how));
    return out;
}

}  // namespace

Result<std::string> stand_alone_c(const plan::Plan& plan, std::string_view case_name,
                                  std::string_view how) {
    MANO_ASSIGN(const plan::Case* case_, find_case(plan, case_name));
    const plan::TrialPlan& trial = case_->trial;
    MANO_ASSIGN(const Text pressure, text_of(trial.pressure.id));
    MANO_ASSIGN(const Text probe, text_of(trial.probe.id));
    const std::string title = plan.experiment + (case_->name.empty() ? "" : ", ") + case_->name;
    std::string out = head(plan, *case_, how);
    out += fmt::format("#define TITLE {}\n#define SEED {}ULL\n#define ITERATIONS {}\n",
                       literal(title), plan.first_seed, trial.iterations);
    out += fmt::format("#define GAP {}ULL /* ns */\n", trial.iteration_gap_ns);
    out += parameters("PRESSURE", trial.pressure) + parameters("PROBE", trial.probe);
    out += probe_extras(trial.probe) + settings(*case_) + counters(*case_);
    out += part("common.c");
    for (const std::string_view each :
         {std::string_view("shared.c"),
          std::string_view(pressure.threads || probe.threads ? "threads.c" : ""),
          std::string_view(pressure.workers ? "workers.c" : ""), pressure.part, probe.part,
          std::string_view("main.c")}) {
        if (!each.empty()) out += "\n" + std::string(part(each));
    }
    return out;
}

}  // namespace mano::reproduce
