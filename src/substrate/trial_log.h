// SPDX-License-Identifier: GPL-2.0-or-later
// An agent's record log as a substrate follows it: the frames so far, and how the trial ended by
// the agent's own account. What the agent writes is hostile. Knows neither guests nor hosts; called
// by both, some hundred times a second.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "measure/ending.h"
#include "wire/reader.h"

namespace mano::substrate {

// A file that an agent writes the log into, mapped here for reading. `bytes` of it are made.
class LogMemory {
  public:
    static Result<LogMemory> make(const Fd& file, std::uint64_t bytes, std::string_view name);
    LogMemory() = default;
    LogMemory(LogMemory&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    LogMemory& operator=(LogMemory&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    LogMemory(const LogMemory&) = delete;
    LogMemory& operator=(const LogMemory&) = delete;
    ~LogMemory();
    std::span<const std::byte> span() const { return memory_; }

  private:
    std::span<const std::byte> memory_;
};

struct End {
    measure::Ending ending = measure::Ending::harness_fault;
    std::string evidence;
};

class TrialLog {
  public:
    explicit TrialLog(std::span<const std::byte> memory) : reader_(memory) {}

    // Reads all frames that are there. The trial's end, once the log tells it: a goodbye, an ending
    // of those that an agent can know, or a log that is torn, forged or was full.
    std::optional<End> read();

    const wire::Reader& reader() const { return reader_; }
    bool has_hello() const { return !frames_.empty(); }
    // The agent's clock at its hello and at the last frame.
    std::uint64_t first_ns() const { return frames_.empty() ? 0 : frames_.front().guest_ns; }
    std::uint64_t last_ns() const { return frames_.empty() ? 0 : frames_.back().guest_ns; }
    std::size_t size() const { return frames_.size(); }
    // "setup", "probe 3": what the agent is doing.
    std::string where() const;
    std::vector<wire::Frame> take_frames() { return std::move(frames_); }

  private:
    std::optional<End> note(const wire::Frame& frame);

    wire::Reader reader_;
    std::vector<wire::Frame> frames_;
    std::optional<End> told_;  // by the agent
};

}  // namespace mano::substrate
