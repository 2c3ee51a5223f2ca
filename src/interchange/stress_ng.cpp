// SPDX-License-Identifier: GPL-2.0-or-later
// stress-ng --yaml: one file is one trial; a stressor's numbers get LKP's names where LKP has one
// ("stress-ng.shm.ops"), else the file's.
#include <array>
#include <set>

#include "interchange/document.h"
#include "interchange/importers.h"

namespace mano::interchange {
namespace {

using measure::Better;
using measure::Kind;

struct Known {
    std::string_view key, name, unit;
    Kind kind;
    Better better;
    bool key_metric;
    std::string_view meaning;
};
constexpr std::array<Known, 8> kKnown{{
    {"bogo-ops", "ops", "count", Kind::counter, Better::higher, false, "operations done"},
    {"bogo-ops-per-second-real-time", "ops_per_sec", "1/s", Kind::rate, Better::higher, true,
     "operations per second of wall time"},
    {"bogo-ops-per-second-usr-sys-time", "ops_per_cpu_sec", "1/s", Kind::rate, Better::higher,
     false, "operations per second of CPU time"},
    {"wall-clock-time", "wall-clock-time", "s", Kind::gauge, Better::neither, false,
     "how long it ran"},
    {"user-time", "user-time", "s", Kind::gauge, Better::neither, false, "CPU time in user mode"},
    {"system-time", "system-time", "s", Kind::gauge, Better::neither, false,
     "CPU time in the kernel"},
    {"cpu-usage-per-instance", "cpu-usage-per-instance", "%", Kind::gauge, Better::neither, false,
     "CPU time of one instance"},
    {"max-rss", "max-rss", "KiB", Kind::max, Better::neither, false, "largest resident memory"},
}};

class Reader {
  public:
    Reader(const Source& source, Draft& draft) : source_(source), draft_(draft) {}

    Status run(const Node& root) {
        MANO_ASSIGN(const Node* const metrics,
                    expect(root, "metrics", Node::Kind::list, draft_.file()));
        const Node* const info = root.find("system-info");
        std::string name = source_.arm.value_or(source_.stem);
        if (info != nullptr && !source_.arm) {
            const Node* const release = info->find("release");
            if (release != nullptr && !release->text.empty()) name = release->text;
        }
        MANO_ASSIGN(const std::uint32_t arm, draft_.arm(name, root.place));
        MANO_ASSIGN(const std::uint32_t in_case, draft_.case_("", root.place));
        MANO_ASSIGN(trial_, draft_.trial(arm, in_case, std::nullopt, root.place));
        if (info != nullptr) note_system(*info);
        for (const Node& entry : metrics->items)
            MANO_TRY(read_stressor(entry));
        if (const Node* const times = root.find("times"); times != nullptr) {
            MANO_TRY(read_all(*times, "stress-ng.times.", {}));
        }
        return read_perf(root);
    }

  private:
    // What tells two machines apart; what changes from run to run isn't taken.
    void note_system(const Node& info) {
        constexpr std::array<std::string_view, 9> kFacts{
            "stress-ng-version", "release",   "machine", "compiler",   "libc",
            "totalram",          "totalswap", "cpus",    "cpus-online"};
        for (const std::string_view key : kFacts) {
            const Node* const found = info.find(key);
            if (found == nullptr || found->text.empty()) continue;
            draft_.fact(trial_,
                        key == "release" ? "kernel.release" : "stress-ng." + std::string(key),
                        found->text);
        }
    }

    Status read_stressor(const Node& entry) {
        // A stressor is called "null": its text counts, whatever YAML takes it for.
        const Node* const stressor = entry.find("stressor");
        if (stressor == nullptr || stressor->text.empty()) {
            return fail_at(draft_.file(), entry.place, "no \"stressor\" here, expected its name");
        }
        if (!stressors_.insert(stressor->text).second) {
            draft_.lose(stressor->place, stressor->text +
                                             ": a second entry of this stressor isn't told apart "
                                             "from the first");
            return {};
        }
        return read_all(entry, "stress-ng." + stressor->text + ".", {"stressor", "instances"});
    }

    // Every number of a map. Texts, lists and maps hold no value of this trial.
    Status read_all(const Node& map, const std::string& prefix,
                    const std::set<std::string_view>& leave) {
        for (const auto& [key, value] : map.members) {
            if (leave.contains(key) || value.is(Node::Kind::list) || value.is(Node::Kind::map)) {
                continue;
            }
            MANO_TRY(read_number(prefix, key, value));
        }
        return {};
    }

    Status read_number(const std::string& prefix, const std::string& key, const Node& value) {
        std::string name = key;
        ForeignMetric what;
        what.meaning = "stress-ng's " + key;
        const bool of_stressor = prefix != "stress-ng.times.";
        for (const Known& each : kKnown) {
            if (each.key != key || !of_stressor) continue;
            name = each.name;
            what = {std::string(each.unit), each.kind, each.better, std::string(each.meaning),
                    each.key_metric};
        }
        MANO_ASSIGN(const std::uint32_t metric, draft_.metric(prefix + name, what, value.place));
        std::optional<double> number;
        if (value.is(Node::Kind::number)) number = value.number;
        if (number && *number < 0) {
            draft_.lose(value.place, fmt::format("{} of {} can't be", key, value.text));
            number.reset();
        } else if (!number) {
            draft_.lose(value.place,
                        fmt::format("{} is \"{}\", expected a number", key, value.text));
        }
        return draft_.value(trial_, metric, number, value.place);
    }

    // perfstats: a list of maps, each with the stressor's name, a duration and counters.
    Status read_perf(const Node& root) {
        const Node* const list = root.find("perfstats");
        if (list == nullptr || !list->is(Node::Kind::list)) return {};
        for (const Node& entry : list->items) {
            const Node* const stressor = entry.find("stressor");
            if (stressor == nullptr || stressor->text.empty()) continue;
            MANO_TRY(read_all(entry, "stress-ng." + stressor->text + ".perf.",
                              {"stressor", "duration"}));
        }
        return {};
    }

    const Source& source_;
    Draft& draft_;
    std::uint32_t trial_ = 0;
    std::set<std::string> stressors_;
};

}  // namespace

Status read_stress_ng(const Source& source, Draft& draft) {
    MANO_ASSIGN(const Node root, parse_yaml(source.text, source.file));
    return Reader(source, draft).run(root);
}

}  // namespace mano::interchange
