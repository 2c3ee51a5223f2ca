// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "watch/watch.h"

namespace mano::watch {
namespace {

using nlohmann::json;

json number(const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
}

// In at most 6 characters: 0, 0.35, 12, 999, 12k, 3.4M; '-' is unknown.
std::string brief(const std::optional<double>& value) {
    if (!value) return "-";
    const double v = *value;
    if (v == 0) return "0";
    if (v < 10) return fmt::format("{:.2f}", v);
    if (v < 10'000) return fmt::format("{:.0f}", v);
    if (v < 9'999'500) return fmt::format("{:.0f}k", v / 1e3);
    if (v < 9'999'500'000) return fmt::format("{:.0f}M", v / 1e6);
    return fmt::format("{:.0f}G", v / 1e9);
}

std::string percent(const std::optional<double>& value) {
    return value ? fmt::format("{:.1f}", *value) : "-";
}

std::string bytes(const std::optional<double>& value) {
    return value ? show_bytes(static_cast<std::uint64_t>(*value)) : "-";
}

std::optional<double> at(const std::map<std::string, std::optional<double>>& map,
                         const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : found->second;
}

std::optional<double> rate(const Change& change, std::string_view name) {
    for (const auto& [key, value] : change.rates) {
        if (key == name) return value;
    }
    return std::nullopt;
}

// Free blocks of order 4 (64 KiB with 4 KiB pages) and larger: what is left of contiguity.
std::optional<double> large_blocks(const Change& change) {
    constexpr std::size_t kFrom = 4;
    if (change.free_blocks.size() <= kFrom) return std::nullopt;
    double sum = 0;
    for (std::size_t order = kFrom; order < change.free_blocks.size(); ++order) {
        if (!change.free_blocks[order]) return std::nullopt;
        sum += *change.free_blocks[order];
    }
    return sum;
}

template <typename Pick>
std::string history(const std::deque<Change>& changes, report::Charset charset,
                    std::optional<std::pair<double, double>> range, Pick pick) {
    std::vector<std::optional<double>> values;
    values.reserve(changes.size());
    for (const Change& change : changes)
        values.push_back(pick(change));
    return report::sparkline(values, charset, range, 40);
}

}  // namespace

std::string heading() {
    return fmt::format("{:<8} {:>15} {:>13} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9}\n", "time",
                       "memory some/full", "io some/full", "cpu", "scan/s", "steal/s", "stall/s",
                       "refault", "blocks", "available");
}

std::string line(const Change& change, std::string_view time) {
    const auto pair = [&](const std::string& what) {
        return percent(at(change.some_pct, what)) + "/" + percent(at(change.full_pct, what));
    };
    const auto direct = rate(change, "pgscan_direct");
    const auto kswapd = rate(change, "pgscan_kswapd");
    const std::optional<double> scanned =
        direct || kswapd ? std::optional(direct.value_or(0) + kswapd.value_or(0)) : std::nullopt;
    return fmt::format(
        "{:<8} {:>15}% {:>12}% {:>5}% {:>7} {:>7} {:>7} {:>7} {:>7} {:>9}\n", time, pair("memory"),
        pair("io"), percent(at(change.some_pct, "cpu")), brief(scanned),
        brief(rate(change, "pgsteal")), brief(rate(change, "allocstall")),
        brief(rate(change, "refault")), brief(large_blocks(change)),
        change.group_bytes ? bytes(change.group_bytes) : bytes(change.available_bytes));
}

std::string json_line(const Target& target, const Change& change, std::string_view time) {
    json psi = json::object();
    for (const auto& [what, some] : change.some_pct) {
        psi[what] = {{"some_pct", number(some)}, {"full_pct", number(at(change.full_pct, what))}};
    }
    json rates = json::object();
    for (const auto& [name, value] : change.rates)
        rates[name] = number(value);
    json blocks = json::array();
    for (const auto& value : change.free_blocks)
        blocks.push_back(number(value));
    const json all = {{"schema", "manometer.watch/1"},
                      {"time", time},
                      {"seconds", change.seconds},
                      {"target", target.name},
                      {"psi", psi},
                      {"per_s", rates},
                      {"free_blocks_by_order", blocks},
                      {"available_bytes", number(change.available_bytes)},
                      {"group_bytes", number(change.group_bytes)},
                      {"lost", change.lost}};
    return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string screen(const Target& target, const std::deque<Change>& changes, std::string_view time,
                   report::Charset charset) {
    if (changes.empty()) return {};
    const Change& now = changes.back();
    std::string text = fmt::format("manometer watch  {}  {}  every {:.1f} s, Ctrl-C ends\n\n",
                                   target.name, time, now.seconds);
    text += fmt::format("{:<18}{:>8}{:>8}  {}\n", "stalled, % of time", "some", "full",
                        "some, the last looks");
    for (const char* what : {"memory", "io", "cpu"}) {
        text += fmt::format("  {:<16}{:>8}{:>8}  {}\n", what, percent(at(now.some_pct, what)),
                            percent(at(now.full_pct, what)),
                            history(changes, charset, std::pair(0.0, 100.0),
                                    [&](const Change& c) { return at(c.some_pct, what); }));
    }
    text += fmt::format("\n{:<18}{:>8}\n", "per second", "now");
    for (const auto& [name, value] : now.rates) {
        const std::string key = name;
        text += fmt::format(
            "  {:<16}{:>8}          {}\n", name, brief(value),
            history(changes, charset, std::nullopt, [&](const Change& c) { return rate(c, key); }));
    }
    text += "\nfree blocks of the host, by order\n";
    std::vector<std::pair<std::string, std::optional<double>>> orders;
    for (std::size_t order = 0; order < now.free_blocks.size(); ++order)
        orders.emplace_back(fmt::format("  {}", order), now.free_blocks[order]);
    text += report::bars(orders, charset, 40);
    text += fmt::format("\navailable to the host {}", bytes(now.available_bytes));
    if (now.group_bytes) text += fmt::format(", in the group {}", bytes(now.group_bytes));
    text += '\n';
    for (const std::string& lost : now.lost)
        text += "lost: " + lost + "\n";
    return text;
}

}  // namespace mano::watch
