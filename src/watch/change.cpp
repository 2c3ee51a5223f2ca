// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>

#include "watch/watch.h"

namespace mano::watch {
namespace {

constexpr std::array<std::string_view, 3> kResources{"memory", "io", "cpu"};
constexpr int kMaxOrder = 15;

// Keys that tell of reclaim, the same in /proc/vmstat and a group's memory.stat where both have
// them; several kernels' spellings are added up by the `sum` in front.
struct Rate {
    std::string_view name;
    std::array<std::string_view, 5> keys;  // added up; those that a kernel lacks count as none
};
constexpr std::array kHostRates{
    Rate{"pgscan_direct", {"pgscan_direct"}},
    Rate{"pgscan_kswapd", {"pgscan_kswapd"}},
    Rate{"pgsteal", {"pgsteal_direct", "pgsteal_kswapd", "pgsteal_khugepaged"}},
    Rate{"allocstall",
         {"allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable",
          "allocstall_device"}},
    Rate{"compact_stall", {"compact_stall"}},
    Rate{"refault", {"workingset_refault_anon", "workingset_refault_file"}},
    Rate{"pswpin", {"pswpin"}},
    Rate{"pswpout", {"pswpout"}},
    Rate{"pgmajfault", {"pgmajfault"}},
};
constexpr std::array kGroupRates{
    Rate{"pgscan_direct", {"pgscan_direct"}},
    Rate{"pgscan_kswapd", {"pgscan_kswapd"}},
    Rate{"pgsteal", {"pgsteal"}},
    Rate{"refault", {"workingset_refault_anon", "workingset_refault_file"}},
    Rate{"pgfault", {"pgfault"}},
    Rate{"pgmajfault", {"pgmajfault"}},
};

std::optional<double> value_of(const Look& look, const std::string& name) {
    const auto found = look.values.find(name);
    if (found == look.values.end()) return std::nullopt;
    return found->second;
}

// Growth of a counter; nullopt where a look lacks it, or it went back (a group made anew).
std::optional<double> growth(const Look& before, const Look& after, const std::string& name) {
    const auto a = value_of(before, name);
    const auto b = value_of(after, name);
    if (!a || !b || *b < *a) return std::nullopt;
    return *b - *a;
}

std::optional<double> rate_of(const Rate& rate, std::string_view prefix, const Look& before,
                              const Look& after, double seconds) {
    std::optional<double> sum;
    for (const std::string_view key : rate.keys) {
        if (key.empty()) continue;
        const auto grown = growth(before, after, fmt::format("{}{}", prefix, key));
        if (grown) sum = sum.value_or(0) + *grown;
    }
    if (sum) *sum /= seconds;
    return sum;
}

std::optional<double> stalled(std::string_view resource, std::string_view kind, const Look& before,
                              const Look& after, double seconds) {
    const auto us =
        growth(before, after, fmt::format("psi.watched.{}.{}.total_us", resource, kind));
    if (!us) return std::nullopt;
    // The kernel adds up at its own moments: a little more than all of the time is all of it.
    return std::min(100.0, *us / (seconds * 1e6) * 100);
}

}  // namespace

Change between(const Target& target, const Look& before, const Look& after) {
    Change change;
    change.lost = after.lost;
    if (after.time_ns <= before.time_ns) return change;
    change.seconds = static_cast<double>(after.time_ns - before.time_ns) / 1e9;
    for (const std::string_view resource : kResources) {
        change.some_pct[std::string(resource)] =
            stalled(resource, "some", before, after, change.seconds);
        change.full_pct[std::string(resource)] =
            stalled(resource, "full", before, after, change.seconds);
    }
    const auto add = [&](const Rate& rate, std::string_view prefix) {
        change.rates.emplace_back(std::string(rate.name),
                                  rate_of(rate, prefix, before, after, change.seconds));
    };
    if (target.name == "host") {
        for (const Rate& rate : kHostRates)
            add(rate, "vmstat.");
    } else {
        for (const Rate& rate : kGroupRates)
            add(rate, "memcg.watched.");
    }
    for (int order = 0; order <= kMaxOrder; ++order) {
        const auto blocks = value_of(after, fmt::format("buddy.total.order{}", order));
        if (!blocks) break;
        change.free_blocks.push_back(blocks);
    }
    change.available_bytes = value_of(after, "meminfo.MemAvailable");
    change.group_bytes = value_of(after, "memcg.watched.current");
    return change;
}

}  // namespace mano::watch
