// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/stated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace mano::measure {
namespace {

using Member = std::optional<double> Stated::*;
constexpr std::array<std::pair<std::string_view, Member>, 5> kNumbers{{
    {"mean", &Stated::mean},
    {"median", &Stated::median},
    {"min", &Stated::minimum},
    {"max", &Stated::maximum},
    {"stddev_pct", &Stated::stddev_pct},
}};

template <typename Number>
bool read_number(std::string_view text, std::optional<Number>& into) {
    Number number{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return false;
    into = number;
    return true;
}

bool read_part(std::string_view key, std::string_view value, Stated& stated) {
    if (key == "n") return read_number(value, stated.n);
    if (key == "change") {
        stated.change = value;
        return true;
    }
    const auto* const found = std::find_if(kNumbers.begin(), kNumbers.end(),
                                           [&](const auto& each) { return each.first == key; });
    if (found == kNumbers.end()) return false;
    std::optional<double>& slot = stated.*(found->second);
    return read_number(value, slot) && std::isfinite(*slot);
}

}  // namespace

Fact fact_of(std::string_view metric, const Stated& stated) {
    std::string text;
    const auto add = [&](std::string_view key, const std::string& value) {
        text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
    };
    if (stated.n) add("n", fmt::format("{}", *stated.n));
    for (const auto& [key, member] : kNumbers) {
        // The shortest text that reads back as the same double.
        if (stated.*member) add(key, fmt::format("{}", *(stated.*member)));
    }
    if (!stated.change.empty()) {
        std::string change = stated.change;
        std::replace(change.begin(), change.end(), ';', ',');
        add("change", change);
    }
    return {std::string(kStatedPrefix) + std::string(metric), text};
}

std::optional<Stated> stated_from(const Fact& fact) {
    if (!fact.key.starts_with(kStatedPrefix)) return std::nullopt;
    Stated stated;
    std::string_view rest = fact.value;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(';'), rest.size());
        const std::string_view part = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        if (!read_part(part.substr(0, equals), part.substr(equals + 1), stated)) {
            return std::nullopt;
        }
    }
    return stated;
}

bool stands_for_others(const TrialRecord& record) {
    return record.samples.empty() &&
           std::any_of(record.facts.begin(), record.facts.end(),
                       [](const Fact& fact) { return fact.key.starts_with(kStatedPrefix); });
}

}  // namespace mano::measure
