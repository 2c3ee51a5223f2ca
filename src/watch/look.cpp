// SPDX-License-Identifier: GPL-2.0-or-later
#include <time.h>

#include <array>

#include "base/file.h"
#include "procfs/procfs.h"
#include "watch/watch.h"

namespace mano::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = std::size_t{4} << 20;
constexpr std::array<std::string_view, 3> kResources{"memory", "io", "cpu"};

std::uint64_t now_ns() {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// A file's values under their own names; what is wrong with it is a sentence.
template <typename Parse>
void read_into(Look& look, const fs::path& path, Parse parse) {
    const auto text = read_file(path, kMaxText);
    if (!text) {
        look.lost.push_back(text.error().text());
        return;
    }
    const procfs::Parsed parsed = parse(*text);
    for (const procfs::Value& value : parsed.values)
        look.values[value.name] = value.value;
    for (const measure::Loss& loss : parsed.losses)
        look.lost.push_back(loss.source + ": " + loss.meaning);
}

void read_pressure(Look& look, const Target& target) {
    for (const std::string_view resource : kResources) {
        const fs::path path = target.group ? *target.group / fmt::format("{}.pressure", resource)
                                           : fs::path("/proc/pressure") / resource;
        read_into(look, path, [&](std::string_view text) {
            return procfs::parse_psi("watched", resource, text);
        });
    }
}

}  // namespace

Look look(const Target& target) {
    Look look;
    look.time_ns = now_ns();
    if (target.group || target.name == "host") read_pressure(look, target);
    read_into(look, "/proc/vmstat", procfs::parse_vmstat);
    read_into(look, "/proc/buddyinfo", procfs::parse_buddyinfo);
    read_into(look, "/proc/meminfo", procfs::parse_meminfo);
    if (!target.memory) return look;
    read_into(look, *target.memory / "memory.stat",
              [](std::string_view text) { return procfs::parse_memory_stat("watched", text); });
    const fs::path v1 = *target.memory / "memory.usage_in_bytes";
    std::error_code error;
    read_into(look, fs::exists(v1, error) ? v1 : *target.memory / "memory.current",
              [](std::string_view text) {
                  return procfs::parse_number_file("memcg.watched.current", text);
              });
    return look;
}

}  // namespace mano::watch
