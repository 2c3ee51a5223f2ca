// SPDX-License-Identifier: GPL-2.0-or-later
// Was it the same work? Gates only on the state before the probe that the harness is meant to bring
// about; all else that differs is a confounder, in sight but never a gate. docs/methods.md.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/internal.h"

namespace mano::report {
namespace {

// Facts that the harness sets or verifies before the probe starts.
constexpr std::array<std::string_view, 9> kGates = {
    "state.swap",   "state.zram.compressor", "state.thp",
    "state.mthp.*", "state.lru_gen",         "state.memory",
    "state.cpus",   "state.page_bytes",      "state.psi"};
constexpr std::string_view kLevel = "pressure.level_pct";
// Each trial's level is within one point of the demand, else the trial is spoiled.
constexpr double kLevelTolerance = 2;
// MemTotal and the size of a swap area depend a little on the kernel image.
constexpr double kSizeTolerance = 0.05;

// Facts that are the kernel's identity: the arms' own lines show them.
constexpr std::array<std::string_view, 3> kIdentity = {"kernel.release", "kernel.version",
                                                       "kernel.banner"};

using FactSets = std::map<std::string, std::vector<std::set<std::string>>>;  // key → by arm

void add_facts(const std::vector<std::vector<FoldedTrial>>& cell, FactSets& facts) {
    for (std::size_t arm = 0; arm < cell.size(); ++arm) {
        for (const FoldedTrial& folded : cell[arm]) {
            for (const measure::Fact& fact : folded.trial->record.facts) {
                if (fact.key.starts_with(measure::kStatedPrefix)) continue;
                auto& sets = facts[fact.key];
                sets.resize(cell.size());
                sets[arm].insert(fact.value);
            }
        }
    }
}

bool is_gate(const plan::Plan& plan, std::string_view key) {
    // A kernel's default of lru_gen, when the plan leaves it alone, is part of what is compared.
    if (key == "state.lru_gen" && !plan.shape.lru_gen) return false;
    return std::any_of(kGates.begin(), kGates.end(),
                       [&](std::string_view gate) { return matches(gate, key); });
}

bool expected(const plan::Plan& plan, std::string_view key) {
    return std::any_of(plan.expected_differences.begin(), plan.expected_differences.end(),
                       [&](const std::string& pattern) { return matches(pattern, key); });
}

std::optional<double> first_number(std::string_view text) {
    const std::size_t start = text.find_first_of("0123456789");
    if (start == std::string_view::npos) return std::nullopt;
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data() + start, text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    return number;
}

// Text around the first number, for comparing "zram 536870912 bytes" with a tolerance.
std::string around_number(std::string_view text) {
    std::string rest;
    for (const char c : text) {
        if ((c < '0' || c > '9') && c != '.') rest += c;
    }
    return rest;
}

bool same_value(std::string_view key, std::string_view a, std::string_view b) {
    if (a == b) return true;
    if (key == "state.lru_gen") {
        // "0x0007": bit 0 says on or off, the others are features that a kernel has or not.
        const auto on = [](std::string_view text) {
            return !text.empty() &&
                   std::string_view("13579bdfBDFy").find(text.back()) != std::string_view::npos;
        };
        return on(a) == on(b);
    }
    if (key == "state.memory" || key == "state.swap") {
        const auto x = first_number(a);
        const auto y = first_number(b);
        return x && y && around_number(a) == around_number(b) &&
               std::fabs(*x - *y) <= kSizeTolerance * std::max(*x, *y);
    }
    return false;
}

// What an arm's values come to. A size of mTHP that says "inherit" does what the old switch says,
// and so do huge pages of 2 MiB on a kernel that has only that switch; other sizes that a kernel
// lacks it never makes. `thp`: the old switch, in the same arm.
std::set<std::string> effective(std::string_view key, const std::set<std::string>& values,
                                const std::set<std::string>& thp) {
    if (!matches("state.mthp.*", key)) return values;
    if (values.empty())
        return key == "state.mthp.2048kB" && !thp.empty() ? thp : std::set<std::string>{"never"};
    std::set<std::string> all;
    for (const std::string& value : values) {
        if (value == "inherit" && !thp.empty()) {
            all.insert(thp.begin(), thp.end());
        } else {
            all.insert(value);
        }
    }
    return all;
}

bool same_values(std::string_view key, const std::set<std::string>& a,
                 const std::set<std::string>& b) {
    if (a.empty() || b.empty()) return a.empty() == b.empty();
    return std::all_of(a.begin(), a.end(), [&](const std::string& x) {
        return std::all_of(b.begin(), b.end(),
                           [&](const std::string& y) { return same_value(key, x, y); });
    });
}

std::string show(const std::set<std::string>& values) {
    if (values.empty()) return "absent";
    std::string text;
    for (const std::string& value : values)
        text += (text.empty() ? "" : " | ") + value;
    return text;
}

void add_reason(CaseReport& report, std::size_t arm, const std::string& reason) {
    auto& text = report.not_comparable_arms[arm];
    text = text ? *text + "; " + reason : reason;
}

void check_facts(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                 CaseReport& report) {
    FactSets facts;
    add_facts(cell, facts);
    const auto found = facts.find("state.thp");
    auto thp = found == facts.end() ? FactSets::mapped_type() : found->second;
    thp.resize(cell.size());
    for (const auto& [key, sets] : facts) {
        if (!key.starts_with("state.")) continue;
        Equivalence check;
        check.check = key;
        check.gate = is_gate(plan, key) && !expected(plan, key);
        for (std::size_t arm = 0; arm < sets.size(); ++arm) {
            check.values.push_back(show(sets[arm]));
            // An arm without any trial that counts has no state: its verdict is too-few.
            if (arm == 0 || cell[arm].empty() || cell[0].empty()) continue;
            if (same_values(key, effective(key, sets[0], thp[0]),
                            effective(key, sets[arm], thp[arm])))
                continue;
            check.same = false;
            if (check.gate) {
                add_reason(report, arm,
                           fmt::format("{} differs: {} / {}", key, show(sets[0]), show(sets[arm])));
            }
        }
        report.equivalence.push_back(std::move(check));
    }
}

void check_level(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                 CaseReport& report) {
    std::vector<std::optional<double>> levels;
    for (const auto& trials : cell) {
        std::vector<double> known;
        for (const FoldedTrial& folded : trials) {
            const auto value = folded.values.find(kLevel);
            if (value != folded.values.end() && value->second) known.push_back(*value->second);
        }
        levels.push_back(stats::median(known));
    }
    if (std::none_of(levels.begin(), levels.end(), [](const auto& level) { return level; })) return;
    Equivalence check;
    check.check = kLevel;
    check.gate = !expected(plan, kLevel);
    for (std::size_t arm = 0; arm < levels.size(); ++arm) {
        check.values.push_back(levels[arm] ? fmt::format("{:.2f}", *levels[arm]) : "unknown");
        if (arm == 0 || !levels[0] || !levels[arm]) continue;
        if (std::fabs(*levels[0] - *levels[arm]) <= kLevelTolerance) continue;
        check.same = false;
        if (check.gate) {
            add_reason(
                report, arm,
                fmt::format("{} differs: {} / {} %", kLevel, check.values[0], check.values[arm]));
        }
    }
    report.equivalence.push_back(std::move(check));
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

void add_if_different(std::vector<Confounder>& found, std::string what,
                      std::vector<std::string> values) {
    const bool same = std::all_of(values.begin(), values.end(),
                                  [&](const std::string& value) { return value == values[0]; });
    if (!same) found.push_back({std::move(what), std::move(values)});
}

// The preemption model out of "#1 SMP PREEMPT_DYNAMIC Debian …", as uname prints it.
std::string preemption(const std::set<std::string>& versions) {
    if (versions.empty()) return "unknown";
    const std::string& version = *versions.begin();
    const std::size_t at = version.find("PREEMPT");
    if (at == std::string::npos) return "none";
    return version.substr(at, version.find_first_of(" (", at) - at);
}

// Size of the image as stored with the arm; empty where the store doesn't say.
std::string image_size(const store::RunSet& runset, const std::string& arm) {
    for (const store::StoredArm& stored : runset.arms) {
        if (stored.name != arm) continue;
        const auto json = nlohmann::json::parse(stored.kernel_json, nullptr, false);
        if (!json.is_object()) continue;
        const auto found = json.find("image_bytes");
        if (found != json.end() && found->is_number_unsigned()) {
            return fmt::format("{} bytes", found->get<std::uint64_t>());
        }
    }
    return "unknown";
}

}  // namespace

void check_equivalence(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                       CaseReport& report) {
    report.not_comparable_arms.assign(cell.size(), std::nullopt);
    check_facts(plan, cell, report);
    check_level(plan, cell, report);
    for (const auto& reason : report.not_comparable_arms) {
        if (reason && !report.not_comparable) report.not_comparable = reason;
    }
}

std::vector<Confounder> find_confounders(const store::RunSet& runset, const Collected& collected,
                                         const std::vector<ArmReport>& arms) {
    std::vector<Confounder> found;
    const auto of_arms = [&](auto&& member) {
        std::vector<std::string> values;
        values.reserve(arms.size());
        for (const ArmReport& arm : arms)
            values.push_back(member(arm));
        return values;
    };
    add_if_different(found, "config sha256", of_arms([](const ArmReport& arm) {
                         return arm.config_sha256 ? arm.config_sha256->substr(0, 12) : "unknown";
                     }));
    add_if_different(found, "compiler", of_arms([](const ArmReport& arm) {
                         return arm.compiler.empty() ? std::string("unknown") : arm.compiler;
                     }));
    add_if_different(found, "added command line",
                     of_arms([](const ArmReport& arm) { return arm.cmdline; }));
    std::vector<std::string> settings;
    for (const std::uint32_t index : collected.arms) {
        std::vector<std::string> words;
        for (const plan::Setting& setting : runset.plan.arms[index].settings) {
            words.push_back(setting.path + "=" + setting.value);
        }
        for (const plan::ArmParam& param : runset.plan.arms[index].params)
            words.push_back(param.name + "=" + param.text);
        settings.push_back(join(words));
    }
    add_if_different(found, "settings", settings);
    FactSets facts;
    for (const auto& cell : collected.cells)
        add_facts(cell, facts);
    if (const auto version = facts.find("kernel.version"); version != facts.end()) {
        std::vector<std::string> models;
        for (const auto& versions : version->second)
            models.push_back(preemption(versions));
        add_if_different(found, "preemption model", models);
    }
    add_if_different(found, "image size",
                     of_arms([&](const ArmReport& arm) { return image_size(runset, arm.name); }));
    for (auto& [key, sets] : facts) {
        const bool identity = std::find(kIdentity.begin(), kIdentity.end(), key) != kIdentity.end();
        if (identity || is_gate(runset.plan, key)) continue;
        const bool same =
            std::all_of(sets.begin(), sets.end(), [&, first = sets[0]](const auto& set) {
                return set.empty() || first.empty() ? set.empty() == first.empty() : set == first;
            });
        // What varies from trial to trial in every arm is an outcome, not a property of the arm.
        const bool varies =
            std::all_of(sets.begin(), sets.end(), [](const auto& set) { return set.size() > 1; });
        if (same || varies) continue;
        std::vector<std::string> values;
        for (const auto& set : sets)
            values.push_back(show(set));
        found.push_back({key, std::move(values)});
    }
    return found;
}

}  // namespace mano::report
