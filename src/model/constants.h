// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes of zones → the numbers that a kernel derives from them at boot: watermarks, reserves,
// per-CPU list sizes, vmstat thresholds. Pure arithmetic; tested against zoneinfo of real guests.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/kernel_words.h"

namespace mano::model {

struct ZoneSize {
    ZoneIndex index = kNormal;
    unsigned node = 0;
    std::uint64_t managed = 0;  // pages
    unsigned node_cpus = 1;     // CPUs of the node; 0: all CPUs share it
};

struct ZoneConstants {
    std::uint64_t min = 0, low = 0, high = 0, promo = 0;     // _watermark[], pages
    std::array<std::uint64_t, kZoneKinds> lowmem_reserve{};  // by the request's highest zone
    int batch = 1, high_min = 0, high_max = 0;               // of struct per_cpu_pages
    unsigned stat_threshold = 1;                             // of struct per_cpu_zonestat
};

struct BootSettings {
    bool thp = false;  // khugepaged raises min_free_kbytes (set_recommended_min_free_kbytes)
    std::uint64_t min_free_kbytes = 0;  // 0: derived
    unsigned watermark_scale_factor = 10;
    unsigned pcp_high_fraction = 0;  // vm.percpu_pagelist_high_fraction
    unsigned cpus = 1;
};

// init_per_zone_wmark_min(), in kB.
std::uint64_t min_free_kbytes(std::span<const ZoneSize> zones, const BootSettings& settings);
// One for each of `zones`, in their order.
void derive_constants(std::span<const ZoneSize> zones, const BootSettings& settings,
                      std::span<ZoneConstants> out);

}  // namespace mano::model
