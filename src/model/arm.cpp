// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/arm.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/nearest.h"

namespace mano::model {
namespace {

template <typename Table>
std::vector<std::string_view> names_in(const Table& table) {
    std::vector<std::string_view> names;
    for (const auto& entry : table)
        names.push_back(entry.name);
    return names;
}

tl::unexpected<Error> unknown(std::string_view what, std::string_view name,
                              const std::vector<std::string_view>& names) {
    std::string all;
    for (const std::string_view known : names)
        all += (all.empty() ? "" : ", ") + std::string(known);
    const std::string near = nearest_name(name, names);
    return fail(Code::invalid, "'{}' is no {} of the model, expected one of {}{}",
                name.substr(0, 64), what, all,
                near.empty() ? "" : "; did you mean '" + near + "'?");
}

template <typename Policy>
Result<const Named<Policy>*> find_policy(std::string_view what,
                                         std::span<const Named<Policy>> table,
                                         std::string_view name) {
    for (const Named<Policy>& entry : table) {
        if (entry.name == name) return &entry;
    }
    return unknown(what, name, names_in(table));
}

Status set_cost(Arm& arm, std::string_view name, const std::string& value) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < kWorks; ++i)
        names.push_back(name_of(static_cast<Work>(i)));
    for (std::size_t i = 0; i < kWorks; ++i) {
        const auto work = static_cast<Work>(i);
        if (name_of(work) != name) continue;
        char* end = nullptr;
        const double factor = std::strtod(value.c_str(), &end);
        if (end != value.c_str() + value.size() || !std::isfinite(factor) || factor < 0.001 ||
            factor > 1000) {
            return fail(Code::invalid, "cost.{}={}: expected a factor from 0.001 to 1000", name,
                        value.substr(0, 64));
        }
        arm.costs[work] *= factor;
        return {};
    }
    return unknown("cost", name, names);
}

// A whole number from 1 to `most`.
Result<unsigned> parse_number(std::string_view key, const std::string& value, unsigned most) {
    unsigned number = 0;
    const char* end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stopped != end || number < 1 || number > most) {
        return fail(Code::invalid, "{}={}: expected a number from 1 to {}", key,
                    value.substr(0, 64), most);
    }
    return number;
}

Status set_break(Arm& arm, const std::string& value) {
    arm.break_every.reset();
    if (value == "never") return {};
    auto entries = parse_number("break", value, 512);
    if (!entries) {
        return fail(Code::invalid, "{} page-table entries, or never", entries.error().message);
    }
    arm.break_every = *entries;
    return {};
}

Status set_key(Arm& arm, std::string_view key, const std::string& value, std::string& aux,
               std::string& vfree) {
    if (key == "aux") {
        MANO_ASSIGN(const auto* found, find_policy("aux policy", aux_policies(), value));
        arm.aux = found->policy;
        aux = value;
        return {};
    }
    if (key == "vfree") {
        MANO_ASSIGN(const auto* found, find_policy("vfree policy", vfree_policies(), value));
        arm.vfree = found->policy;
        vfree = value;
        return {};
    }
    if (key == "lru") {
        if (value != "gen" && value != "classic")
            return fail(Code::invalid, "lru={}: expected gen or classic", value.substr(0, 64));
        arm.lru_gen = value == "gen";
        return {};
    }
    if (key == "preempt") {
        const auto model = preemption_of(value);
        if (!model)
            return fail(Code::invalid, "preempt={}: expected none, voluntary, full, lazy or rt",
                        value.substr(0, 64));
        arm.preemption = *model;
        return {};
    }
    if (key == "break") return set_break(arm, value);
    if (key == "nodes") {
        MANO_ASSIGN(arm.nodes, parse_number(key, value, 16));
        return {};
    }
    if (key == "dump") {
        if (value.empty()) return fail(Code::invalid, "dump=: expected a folder");
        arm.dump = value;
        return {};
    }
    if (key.starts_with("cost.")) return set_cost(arm, key.substr(5), value);
    return fail(Code::invalid,
                "'{}' is no key of a model's arm, expected aux, vfree, lru, preempt, break, nodes, "
                "dump or cost.NAME",
                key.substr(0, 64));
}

}  // namespace

Result<Arm> parse_arm(std::string_view text) {
    const std::size_t plus = std::min(text.find('+'), text.size());
    Arm arm;
    arm.variant = find_variant(text.substr(0, plus));
    if (arm.variant == nullptr)
        return unknown("kernel variant", text.substr(0, plus), names_in(variants()));
    arm.preemption = arm.variant->preemption;
    std::string aux = "plain";
    std::string vfree = arm.variant->vfree_bulk ? "contiguous" : "per-page";
    arm.aux = find_policy("aux policy", aux_policies(), aux).value()->policy;
    arm.vfree = find_policy("vfree policy", vfree_policies(), vfree).value()->policy;
    std::string rest;
    for (std::size_t at = plus; at < text.size();) {
        const std::size_t end = std::min(text.find('+', at + 1), text.size());
        const std::string_view word = text.substr(at + 1, end - at - 1);
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos)
            return fail(Code::invalid, "'{}' has no '=', expected KEY=VALUE such as aux=no-reclaim",
                        word.substr(0, 64));
        const std::string_view key = word.substr(0, equals);
        MANO_TRY(set_key(arm, key, std::string(word.substr(equals + 1)), aux, vfree));
        if (key != "aux" && key != "vfree") rest += "+" + std::string(word);
        at = end;
    }
    arm.text = fmt::format("{}+aux={}+vfree={}{}", arm.variant->name, aux, vfree, rest);
    return arm;
}

}  // namespace mano::model
