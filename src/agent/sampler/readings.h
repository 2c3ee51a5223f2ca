// SPDX-License-Identifier: GPL-2.0-or-later
// Readings of /proc, /sys and cgroup files: opened once, then read straight into the log (no buffer
// in the memory that is measured, no allocation).
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/writer.h"

namespace mano::agent {

struct Place;

class Readings {
  public:
    // Opens everything that exists. Call after the cgroups are made. What a live host doesn't let
    // us do is a loss in the log.
    void open(const Place& place, wire::Writer& log);
    // Writes one reading of everything, in the order that keeps the probe's PSI nearest to the
    // probe: moment 0 (before) refreshes, reads the rest, PSI last; moment 1 (after) reads PSI
    // first.
    void take(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment);
    bool has(wire::Source source) const;

  private:
    void take_psi(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment);
    void take_rest(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment);
    void take_file(wire::Writer& log, int fd, wire::Source source, std::uint32_t iteration,
                   std::uint8_t moment);
    void take_mthp(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment);
    void open_mthp();
    void refresh() const;

    static constexpr std::size_t kMaxFiles = 24;
    static constexpr std::size_t kMaxStats = 512;
    struct File {
        wire::Source source{};
        int fd = -1;
        bool psi = false;
    };
    struct Stat {
        char label[56] = {};  // "hugepages-64kB anon_fault_alloc "
        std::uint8_t label_size = 0;
        int fd = -1;
    };
    File files_[kMaxFiles] = {};
    std::size_t file_count_ = 0;
    Stat* stats_ = nullptr;
    std::size_t stat_count_ = 0;
    int refresh_fd_ = -1;
};

}  // namespace mano::agent
