// SPDX-License-Identifier: GPL-2.0-or-later
// Units as types, and their text forms. Must not know any other folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace mano {

// A quantity that can't be mixed with another kind of quantity by accident.
template <typename Tag>
struct Quantity {
    std::uint64_t value = 0;
    constexpr auto operator<=>(const Quantity&) const = default;
    constexpr Quantity operator+(Quantity other) const { return {value + other.value}; }
    constexpr Quantity operator-(Quantity other) const { return {value - other.value}; }
};

using Bytes = Quantity<struct BytesTag>;
using Pages = Quantity<struct PagesTag>;
// Time of the host (wall clock, monotonic) and time of the guest (its CLOCK_MONOTONIC, which in
// exact mode counts instructions) must never be subtracted from each other.
using HostNs = Quantity<struct HostNsTag>;
using GuestNs = Quantity<struct GuestNsTag>;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

// "64KiB", "1GiB", "512MiB", "4096": bytes. A bare number is bytes. Also K, M, G as binary units.
Result<Bytes> parse_bytes(std::string_view text);
// "250ms", "3s", "20us", "5ns", "2min": nanoseconds. A bare number is an error (unit missing).
Result<std::uint64_t> parse_duration_ns(std::string_view text);
// "90%" or "0.9": millionths (900000).
Result<std::int64_t> parse_share_ppm(std::string_view text);

std::string show_bytes(std::uint64_t bytes);     // "1 GiB", "1.5 MiB", "300 B"
std::string show_duration_ns(std::uint64_t ns);  // "1.50 s", "12.3 ms", "4 min 10 s"

}  // namespace mano
