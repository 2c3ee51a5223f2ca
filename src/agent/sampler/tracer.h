// SPDX-License-Identifier: GPL-2.0-or-later
// Attribution trials: events with kernel stacks through perf rings, one ring a CPU, drained raw
// into the log. Rings and descriptors are taken before the pressure begins; nothing is decoded
// here. What this kernel can't give is a loss in the log, never silence.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "agent/machine.h"
#include "trace/format.h"
#include "wire/writer.h"

namespace mano::agent {

struct Crew;

class Tracer {
  public:
    // Makes the kprobe events and opens everything, disabled.
    void open(wire::Writer& log);
    bool is_open() const { return cpus_.size > 0 && rings_ != nullptr; }
    // From start() to stop() events are recorded; what of either crew runs then is told first.
    void start(wire::Writer& log, const Crew& pressure, const Crew& probe, std::uint32_t iteration);
    void stop(wire::Writer& log);
    // Moves what the rings hold into the log. Cheap when there is nothing.
    void drain(wire::Writer& log);
    // The kernel's symbols, once, when the trial is over.
    void send_symbols(wire::Writer& log) const;

  private:
    struct Ring {
        std::byte* memory = nullptr;  // control page, then data
        int fd = -1;                  // of the event that owns it
        int lead = -1;                // the fd of the CPU's dummy
    };
    bool make_rings(wire::Writer& log);
    void open_event(const trace::EventDef& def, wire::Writer& log);
    void send_event(const trace::EventDef& def, std::uint64_t sample_type, std::span<const int> fds,
                    wire::Writer& log) const;
    void switch_all(unsigned long request) const;

    static constexpr std::size_t kMaxFds = 4096;
    CpuSet cpus_ = {};
    Ring* rings_ = nullptr;  // by index into cpus_
    int* fds_ = nullptr;
    std::size_t fd_count_ = 0;
    std::uint64_t data_bytes_ = 0;  // of a ring
    std::uint64_t page_bytes_ = 4096;
    std::uint32_t iteration_ = 0;
    std::uint64_t since_ns_ = 0;
    bool on_ = false;
};

}  // namespace mano::agent
