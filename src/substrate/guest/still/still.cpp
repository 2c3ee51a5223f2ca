// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/still/still.h"

#include <cstdlib>
#include <string_view>

// still_blob.S
extern const char mano_still_start[];
extern const char mano_still_end[];

namespace mano::substrate::guest {
namespace {

constexpr const char* kName = "manometer-still-clock";

}  // namespace

Result<StillClock> make_still_clock() {
    StillClock clock;
    auto file = memory_file(
        kName, {mano_still_start, static_cast<std::size_t>(mano_still_end - mano_still_start)});
    if (!file) return wrap(file.error(), "exact mode's clock for QEMU");
    clock.file = std::move(*file);
    clock.environment = fmt::format("LD_PRELOAD=/proc/self/fd/{}", clock.file.get());
    if (const char* users = std::getenv("LD_PRELOAD"); users != nullptr && *users != '\0') {
        clock.environment += fmt::format(":{}", users);
    }
    return clock;
}

bool lacks_still_clock(pid_t pid) {
    const auto maps = read_file(fmt::format("/proc/{}/maps", pid), 16 << 20);
    return maps && !maps->empty() && maps->find(kName) == std::string::npos;
}

}  // namespace mano::substrate::guest
