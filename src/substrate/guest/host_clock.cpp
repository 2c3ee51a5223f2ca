// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/host_clock.h"

#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <algorithm>

namespace mano::substrate::guest {
namespace {

std::uint64_t clock_ns(clockid_t clock) {
    timespec now = {};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

#ifdef __x86_64__
struct Reading {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
};

// The two clocks at one moment: of some tries the one that nothing came between.
Reading read_both() {
    constexpr int kTries = 32;
    Reading best;
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < kTries; ++i) {
        const std::uint64_t before = __rdtsc();
        const std::uint64_t ns = clock_ns(CLOCK_MONOTONIC_RAW);
        const std::uint64_t took = __rdtsc() - before;
        if (took >= least) continue;
        least = took;
        best = {before + took / 2, ns};
    }
    return best;
}

double measure_khz() {
    constexpr std::uint64_t kSpanNs = 10'000'000;
    const Reading start = read_both();
    while (clock_ns(CLOCK_MONOTONIC_RAW) - start.ns < kSpanNs) {
    }
    const Reading end = read_both();
    return static_cast<double>(end.ticks - start.ticks) * 1e6 /
           static_cast<double>(end.ns - start.ns);
}
#endif

}  // namespace

std::uint64_t host_now_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

std::optional<std::uint64_t> host_tsc_khz() {
#ifdef __x86_64__
    static const std::optional<std::uint64_t> kKhz = []() -> std::optional<std::uint64_t> {
        const double first = measure_khz();
        const double second = measure_khz();
        constexpr double kLeast = 100e3;
        constexpr double kMost = 20e6;
        if (first < kLeast || first > kMost) return std::nullopt;
        if (std::max(first, second) / std::min(first, second) > 1.001) return std::nullopt;
        return static_cast<std::uint64_t>((first + second) / 2000 + 0.5) * 1000;
    }();
    return kKhz;
#else
    return std::nullopt;
#endif
}

}  // namespace mano::substrate::guest
