// SPDX-License-Identifier: GPL-2.0-or-later
// hyperfine --export-json: a command is an arm, or a case where the arm is given; a run is a trial.
#include <algorithm>
#include <cmath>
#include <set>

#include "interchange/document.h"
#include "interchange/importers.h"

namespace mano::interchange {
namespace {

using measure::Better;
using measure::Kind;

const ForeignMetric kTime{"s", Kind::gauge, Better::lower, "wall time of one run", true};
const ForeignMetric kUser{"s", Kind::gauge, Better::lower,
                          "CPU time in user mode, mean of the runs", false};
const ForeignMetric kSystem{"s", Kind::gauge, Better::lower,
                            "CPU time in the kernel, mean of the runs", false};
const ForeignMetric kMemory{"bytes", Kind::max, Better::lower, "largest resident memory of one run",
                            false};

class Reader {
  public:
    Reader(const Source& source, Draft& draft, bool many)
        : source_(source), draft_(draft), many_(many) {}

    Status read(const Node& result) {
        MANO_ASSIGN(const Node* const command,
                    expect(result, "command", Node::Kind::text, draft_.file()));
        MANO_ASSIGN(const std::string parameters, parameters_of(result));
        std::string name = source_.arm ? *source_.arm : shorten(command->text);
        std::string case_name = parameters;
        if (source_.arm && parameters.empty() && many_) case_name = shorten(command->text);
        if (!source_.arm) {
            // The parameters are in the command as well: there they tell the arms apart.
            case_name.clear();
            for (int number = 2; !taken_.insert(name).second; ++number)
                name = fmt::format("{}#{}", shorten(command->text), number);
        }
        MANO_ASSIGN(arm_, draft_.arm(name, command->place));
        MANO_ASSIGN(case_, draft_.case_(case_name, command->place));
        MANO_TRY(read_runs(result));
        MANO_TRY(read_mean(result, "user", "hyperfine.user_s", kUser));
        return read_mean(result, "system", "hyperfine.system_s", kSystem);
    }

  private:
    static std::string shorten(const std::string& text) {
        constexpr std::size_t kLongest = 120;
        std::string name = text;
        for (char& c : name) {
            if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
        }
        if (name.size() <= kLongest) return name;
        std::size_t cut = kLongest - 3;
        while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0U) == 0x80U)
            --cut;
        return name.substr(0, cut) + "...";
    }

    // "n=1,size=4": in the file's order.
    Result<std::string> parameters_of(const Node& result) {
        const Node* const map = result.find("parameters");
        std::string text;
        if (map == nullptr || map->is(Node::Kind::null)) return text;
        if (!map->is(Node::Kind::map)) {
            return fail_at(draft_.file(), map->place, "\"parameters\" is {}, expected a map",
                           name_of(map->kind));
        }
        for (const auto& [key, value] : map->members)
            text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value.text);
        return text;
    }

    // A member's list, or nullptr with a loss when it isn't one.
    const Node* list_of(const Node& result, std::string_view key) {
        const Node* const found = result.find(key);
        if (found == nullptr || found->is(Node::Kind::null)) return nullptr;
        if (found->is(Node::Kind::list)) return found;
        draft_.lose(found->place,
                    fmt::format("\"{}\" is {}, expected a list", key, name_of(found->kind)));
        return nullptr;
    }

    Status read_runs(const Node& result) {
        const Node* const times = list_of(result, "times");
        if (times == nullptr || times->items.empty()) return read_summary(result);
        const Node* const codes = list_of(result, "exit_codes");
        const Node* const memory = list_of(result, "memory_usage_byte");
        MANO_ASSIGN(const std::uint32_t time,
                    draft_.metric("hyperfine.time_s", kTime, times->place));
        for (std::size_t i = 0; i < times->items.size(); ++i) {
            const Node& item = times->items[i];
            MANO_ASSIGN(const std::uint32_t trial,
                        draft_.trial(arm_, case_, std::nullopt, item.place));
            MANO_TRY(take(trial, time, item, "a run's time"));
            if (memory != nullptr && i < memory->items.size()) {
                MANO_ASSIGN(const std::uint32_t bytes,
                            draft_.metric("hyperfine.memory_bytes", kMemory, memory->place));
                MANO_TRY(take(trial, bytes, memory->items[i], "a run's memory"));
            }
            if (codes != nullptr && i < codes->items.size()) take_code(trial, codes->items[i]);
        }
        if (codes != nullptr && codes->items.size() != times->items.size()) {
            draft_.lose(codes->place, fmt::format("{} exit codes for {} runs", codes->items.size(),
                                                  times->items.size()));
        }
        return {};
    }

    Status take(std::uint32_t trial, std::uint32_t metric, const Node& item,
                std::string_view what) {
        std::optional<double> value;
        if (item.is(Node::Kind::number) && item.number >= 0) {
            value = item.number;
        } else {
            draft_.lose(item.place, item.is(Node::Kind::number)
                                        ? fmt::format("{} of {} can't be", what, item.text)
                                        : fmt::format("{} is {}", what, name_of(item.kind)));
        }
        return draft_.value(trial, metric, value, item.place);
    }

    void take_code(std::uint32_t trial, const Node& code) {
        draft_.outcomes_known();
        const bool good = code.is(Node::Kind::number) && code.number == 0;
        if (good) return;
        measure::TrialRecord& record = draft_.at(trial).record;
        record.ending = measure::Ending::probe_failed;
        record.evidence = code.is(Node::Kind::number)
                              ? "the command ended with exit code " + code.text
                              : std::string("the command was ended by a signal");
    }

    // Files may leave the runs out: then there is a mean and a spread, and no rank test.
    Status read_summary(const Node& result) {
        measure::Stated stated;
        const auto number = [&](std::string_view key) -> std::optional<double> {
            const Node* const found = result.find(key);
            if (found == nullptr || !found->is(Node::Kind::number)) return std::nullopt;
            return found->number;
        };
        stated.mean = number("mean");
        stated.median = number("median");
        stated.minimum = number("min");
        stated.maximum = number("max");
        const auto stddev = number("stddev");
        if (stddev && stated.mean && *stated.mean > 0) {
            stated.stddev_pct = 100 * *stddev / *stated.mean;
        }
        if (!stated.mean) {
            return fail_at(draft_.file(), result.place,
                           "neither \"times\" nor \"mean\" here, expected hyperfine's JSON");
        }
        MANO_ASSIGN(const std::uint32_t time,
                    draft_.metric("hyperfine.time_s", kTime, result.place));
        draft_.lose(result.place, "the single runs (\"times\") aren't in the file");
        return draft_.stated(arm_, case_, time, stated, result.place);
    }

    Status read_mean(const Node& result, std::string_view key, std::string_view name,
                     const ForeignMetric& what) {
        const Node* const found = result.find(key);
        if (found == nullptr || !found->is(Node::Kind::number)) return {};
        measure::Stated stated;
        stated.mean = found->number;
        MANO_ASSIGN(const std::uint32_t metric, draft_.metric(name, what, found->place));
        return draft_.stated(arm_, case_, metric, stated, found->place);
    }

    const Source& source_;
    Draft& draft_;
    bool many_;
    std::uint32_t arm_ = 0, case_ = 0;
    std::set<std::string> taken_;
};

}  // namespace

Status read_hyperfine(const Source& source, Draft& draft) {
    MANO_ASSIGN(const Node root, parse_json(source.text, source.file));
    MANO_ASSIGN(const Node* const results, expect(root, "results", Node::Kind::list, source.file));
    if (results->items.empty()) {
        return fail_at(source.file, results->place, "\"results\" is empty: no command was run");
    }
    Reader reader(source, draft, results->items.size() > 1);
    for (const Node& result : results->items) {
        if (!result.is(Node::Kind::map)) {
            return fail_at(source.file, result.place, "{} among the results, expected a map",
                           name_of(result.kind));
        }
        MANO_TRY(reader.read(result));
    }
    return {};
}

}  // namespace mano::interchange
