// SPDX-License-Identifier: GPL-2.0-or-later
// The host's clocks, as far as guests live by them. Knows nothing of QEMU's options; called by
// qemu.cpp and vm.cpp.
#pragma once

#include <cstdint>
#include <optional>

namespace mano::substrate::guest {

// CLOCK_MONOTONIC of the host.
std::uint64_t host_now_ns();

// The rate of the host's time stamp counter in kHz, rounded to a MHz so that it is the same in each
// run; measured once (some 20 ms) against CLOCK_MONOTONIC_RAW. nullopt where there is none, or
// where two measurements disagree by more than a thousandth.
//
// Why a guest is told: an emulated CPU's counter (plain TCG) is the host's own. A guest's kernel
// that calibrates it while a busy host keeps the emulated CPU from running believes in a rate of a
// tenth, and its clocks run ten times too fast from then on.
std::optional<std::uint64_t> host_tsc_khz();

}  // namespace mano::substrate::guest
