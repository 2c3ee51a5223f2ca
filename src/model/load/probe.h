// SPDX-License-Identifier: GPL-2.0-or-later
// What the probes of the model share: an iteration is begun from outside, ends by itself, and
// leaves figures under the metrics' names.
#pragma once

#include <array>
#include <map>
#include <string>

#include "model/engine.h"

namespace mano::model {

// Metric → value of one iteration ("probe.map_ns_total"). Sorted, so that output is too.
using Figures = std::map<std::string, double>;

class Probe {
  public:
    virtual ~Probe() = default;
    virtual void begin(Engine& engine) = 0;
    virtual bool ended() const = 0;
    // Of the iteration that ended.
    virtual Figures figures() const = 0;
    // What only grows and isn't the machine's: folios by size ("mthp.64kB.anon_fault_alloc"),
    // threads made ("stat.processes"). May be empty.
    virtual Figures counters() const { return {}; }
};

// Free blocks by order and free memory at its lowest, as the agent's probes of whole buffers look
// at them.
class FreeLook {
  public:
    void reset();
    void lowest(Machine& machine);
    void blocks(Machine& machine, const std::string& point);  // "before", "held", "after", "later"
    void add_to(Figures& figures) const;

  private:
    double low_bytes_ = -1;
    double low_of_min_pct_ = -1;
    Figures blocks_;
};

// A time that is summed and whose longest is kept.
struct Timed {
    double sum_ns = 0;
    double max_ns = 0;
    void add(double ns) {
        sum_ns += ns;
        max_ns = ns > max_ns ? ns : max_ns;
    }
};

// The figures of probes that map whole buffers: asked for, obtained, how long, and of what chunks.
struct BufferFigures {
    std::uint64_t asked = 0, got = 0;
    std::uint64_t buffer_pages = 0;
    double time_ns = 0, cpu_ns = 0;
    Timed map, unmap;
    std::array<std::uint64_t, kOrders> chunks{};
    void add_to(Figures& figures) const;
};

}  // namespace mano::model
