// SPDX-License-Identifier: GPL-2.0-or-later
// Loaded into QEMU before its libraries, in exact mode only: the calendar's clock stands still
// there.
//
// QEMU makes its table of translated addresses (the softmmu TLB) larger or smaller by how much of
// it was used within a tenth of a second of gettimeofday(). An entry that is pushed out lets the
// next access walk the guest's page table again, which sets the accessed bit that a kernel may just
// have cleared; reclaim and DAMON decide by that bit. So the host's clock chose pages. Where it
// stands still, the table only grows, and always at the same place.
//
// Nothing else in an exact guest asks that clock: guests have the virtual one, and QEMU's own waits
// use the monotonic one. Imports nothing; knows nothing of us.
#include <sys/time.h>

#include <cstdint>

namespace {
constexpr std::int64_t kStillSeconds = 1'767'225'600;  // 2026-01-01, as the guest's clock starts
}

extern "C" {

[[gnu::visibility("default")]] int gettimeofday(timeval* now, void* zone) noexcept;
[[gnu::visibility("default")]] std::int64_t g_get_real_time() noexcept;

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
    now->tv_sec = kStillSeconds;
    now->tv_usec = 0;
    return 0;
}

// GLib's, which newer QEMUs ask: microseconds.
std::int64_t g_get_real_time() noexcept {
    return kStillSeconds * 1'000'000;
}
}
