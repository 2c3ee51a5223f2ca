// SPDX-License-Identifier: GPL-2.0-or-later
// The perf ring bytes of a trace → its records in the order of time, with fields by name as the
// kernel's own format files lay them out. Pure; every byte is hostile. Points into the trace, which
// must outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/parts.h"

namespace mano::trace {

struct Field {
    std::uint32_t offset = 0, size = 0;
    bool is_signed = false;
};
// A tracefs format file's fields; a line that isn't understood is skipped.
std::map<std::string, Field, std::less<>> read_format(std::string_view text);

enum class RecordKind : std::uint8_t { sample, fork, name, exit };

struct Record {
    RecordKind kind = RecordKind::sample;
    EventKind event = EventKind::stall_enter;  // of samples
    std::uint16_t cpu = 0;
    std::uint32_t iteration = 0;
    std::uint64_t time_ns = 0;
    std::int32_t pid = 0, tid = 0;  // of fork: the new task's
    std::int32_t parent = 0;        // of fork: the parent's pid
    std::string_view stack;         // u64 each, innermost first, without context markers
    std::string_view raw;           // the event's own record, or the task's new name
    std::size_t stack_size() const { return stack.size() / 8; }
    std::uint64_t stack_at(std::size_t i) const { return number_in<std::uint64_t>(stack, 8 * i); }
};

struct Lost {
    std::uint64_t records = 0;  // the kernel's count of what didn't fit into a ring
    std::uint64_t odd = 0;      // bytes of ours that couldn't be understood, as records
};

class Records {
  public:
    static Records read(const std::vector<Part>& parts);

    const std::vector<Record>& all() const { return records_; }
    const Lost& lost() const { return lost_; }
    bool has(EventKind kind) const { return has_[static_cast<std::size_t>(kind)]; }
    // A field of a sample's own record; nullopt when this kernel's event has none of that name.
    std::optional<std::int64_t> field(const Record& record, std::string_view name) const;

  private:
    struct Event {
        std::uint64_t sample_type = 0;
        EventKind kind{};
    };
    void read_event(const Part& part);
    void read_ring(const Part& part);
    void read_sample(std::string_view bytes, const Part& part);
    void read_task(std::uint32_t type, std::string_view bytes, const Part& part);

    std::map<std::uint64_t, Event> events_;  // by the id of a CPU's event
    std::array<std::map<std::string, Field, std::less<>>, kEventKinds> fields_;
    std::array<bool, kEventKinds> has_ = {};
    std::vector<Record> records_;
    Lost lost_;
};

}  // namespace mano::trace
