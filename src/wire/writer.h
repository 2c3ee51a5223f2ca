// SPDX-License-Identifier: GPL-2.0-or-later
// Appends frames to the log. Used by the agent: no allocation, no exception, no system call but the
// clock. A frame's payload can be written in place (a read(2) straight into the log).
#pragma once

#include <span>
#include <string_view>

#include "wire/format.h"

namespace mano::wire {

class Writer {
  public:
    Writer() = default;
    // `memory` must be 8-byte aligned and hold more than header and reserve; its header is written.
    // false: too small.
    bool start(std::span<std::byte> memory);

    // In place: room for a payload of up to the returned size, then commit() with the size used, or
    // nothing at all. Empty when the log is full. `end`: may use the reserve.
    std::span<std::byte> begin(FrameType type, bool end = false);
    void commit(std::size_t size);
    // Counts a frame that could not be written.
    void lose();

    void hello(std::string_view version);
    void fact(std::string_view key, std::string_view value);
    void value(std::string_view metric, double value, std::uint32_t iteration = kNoIteration,
               std::uint8_t moment = 2);
    void unknown(std::string_view metric, std::uint32_t iteration, std::uint8_t moment = 2);
    void loss(std::string_view source, std::uint64_t count, std::string_view meaning);
    void counter(const CounterHead& counter);
    void ending(std::uint16_t ending, std::string_view evidence);
    void goodbye();

    void beat() { header_->heartbeat.fetch_add(1, std::memory_order_release); }
    void phase(Phase phase, std::uint32_t step = 0);
    bool has_ending() const { return has_ending_; }

  private:
    void put(FrameType type, std::initializer_list<std::span<const std::byte>> parts,
             bool end = false);

    Header* header_ = nullptr;
    std::byte* frames_ = nullptr;
    std::uint64_t capacity_ = 0;
    std::uint64_t used_ = 0;
    FrameType open_ = FrameType::hello;
    std::uint32_t sequence_ = 0;
    std::uint32_t chain_ = 0;
    bool has_ending_ = false;
};

}  // namespace mano::wire
