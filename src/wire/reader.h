// SPDX-License-Identifier: GPL-2.0-or-later
// Follows a log while it grows, from the host's side. The guest may tear or forge anything at any
// time, also after it was checked: each frame is copied first, then checked, then believed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "wire/format.h"

namespace mano::wire {

struct Frame {
    FrameType type = FrameType::hello;
    std::uint32_t sequence = 0;
    std::uint64_t guest_ns = 0;
    std::string payload;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> memory) : memory_(memory) {}

    // The next whole frame; nullopt: none yet (or not started). An error (Code::hostile) means that
    // the log is torn or forged, is final, and says where.
    Result<std::optional<Frame>> next();

    // Snapshots of the header's live fields; all zero before the log has started.
    std::uint64_t heartbeat() const;
    Phase phase() const;
    std::uint32_t phase_step() const;
    std::uint64_t lost_frames() const;
    // True after a goodbye whose count and chain agree with what was read.
    bool said_goodbye() const { return goodbye_; }

  private:
    const Header& header() const;
    bool started() const;
    Status check_goodbye(const Frame& frame);

    std::span<const std::byte> memory_;
    std::uint64_t at_ = 0;
    std::uint32_t sequence_ = 0;
    std::uint32_t chain_ = 0;
    bool goodbye_ = false;
    std::optional<Error> broken_;
};

// Payloads. A payload that is too short is nullopt (the caller treats the log as forged).
struct Fact {
    std::string key, value;
};
struct Reading {
    ReadingHead head;
    std::string text;
};
struct Value {
    ValueHead head;
    std::string metric;
};
struct LossFrame {
    std::uint64_t count;
    std::string source, meaning;
};
struct EndingFrame {
    std::uint16_t ending;
    std::string evidence;
};
std::optional<Fact> as_fact(const Frame& frame);
std::optional<Reading> as_reading(const Frame& frame);
std::optional<Value> as_value(const Frame& frame);
std::optional<LossFrame> as_loss(const Frame& frame);
std::optional<CounterHead> as_counter(const Frame& frame);
std::optional<EndingFrame> as_ending(const Frame& frame);

}  // namespace mano::wire
