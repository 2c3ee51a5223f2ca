// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/records.h"

#include <algorithm>
#include <charconv>

namespace mano::trace {
namespace {

// Record types of include/uapi/linux/perf_event.h.
constexpr std::uint32_t kLost = 2, kComm = 3, kExit = 4, kFork = 7, kSample = 9;
// Above this an address in a call chain is a context marker (PERF_CONTEXT_MAX, -4095).
constexpr std::uint64_t kMarkers = ~std::uint64_t{4094};
constexpr std::size_t kMaxFields = 128;
constexpr std::size_t kMaxCpus = 4096;
constexpr std::size_t kMaxStack = 1024;
constexpr std::size_t kSampleIdBytes = 8 + 8 + 8 + 8;  // behind other records: tid, time, cpu, id

std::optional<std::uint32_t> number_behind(std::string_view line, std::string_view key) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    std::uint32_t value = 0;
    const char* first = line.data() + at + key.size();
    const auto [end, error] = std::from_chars(first, line.data() + line.size(), value);
    if (error != std::errc()) return std::nullopt;
    return value;
}

}  // namespace

std::map<std::string, Field, std::less<>> read_format(std::string_view text) {
    std::map<std::string, Field, std::less<>> fields;
    while (!text.empty() && fields.size() < kMaxFields) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        // "	field:unsigned long flags;	offset:16;	size:8;	signed:0;"
        const std::size_t start = line.find("field:");
        const std::size_t semicolon = line.find(';');
        if (start == std::string_view::npos || semicolon == std::string_view::npos ||
            semicolon < start) {
            continue;
        }
        std::string_view name = line.substr(start + 6, semicolon - start - 6);
        name = name.substr(0, name.find('['));
        name = name.substr(name.find_last_of(" *") + 1);
        const auto offset = number_behind(line, "offset:");
        const auto size = number_behind(line, "size:");
        if (name.empty() || !offset || !size) continue;
        fields.emplace(std::string(name),
                       Field{*offset, *size, number_behind(line, "signed:").value_or(0) != 0});
    }
    return fields;
}

void Records::read_event(const Part& part) {
    if (part.head.number >= kEventKinds || part.bytes.size() < 16) {
        ++lost_.odd;
        return;
    }
    const auto cpus = number_in<std::uint32_t>(part.bytes, 8);
    if (cpus > kMaxCpus || part.bytes.size() < 16 + std::size_t{8} * cpus) {
        ++lost_.odd;
        return;
    }
    Event event;
    event.sample_type = number_in<std::uint64_t>(part.bytes, 0);
    event.kind = static_cast<EventKind>(part.head.number);
    for (std::uint32_t i = 0; i < cpus; ++i)
        events_[number_in<std::uint64_t>(part.bytes, 16 + std::size_t{8} * i)] = event;
    fields_[part.head.number] = read_format(part.bytes.substr(16 + std::size_t{8} * cpus));
    has_[part.head.number] = true;
}

void Records::read_sample(std::string_view bytes, const Part& part) {
    std::size_t at = 0;
    const auto has_more = [&](std::size_t size) { return bytes.size() - at >= size; };
    if (!has_more(32)) {
        ++lost_.odd;
        return;
    }
    const auto event = events_.find(number_in<std::uint64_t>(bytes, 0));
    if (event == events_.end()) {
        ++lost_.odd;
        return;
    }
    Record record;
    record.event = event->second.kind;
    record.iteration = part.head.number;
    record.pid = number_in<std::int32_t>(bytes, 8);
    record.tid = number_in<std::int32_t>(bytes, 12);
    record.time_ns = number_in<std::uint64_t>(bytes, 16);
    record.cpu = static_cast<std::uint16_t>(number_in<std::uint32_t>(bytes, 24));
    at = 32;
    if ((event->second.sample_type & kSampleCallchain) != 0) {
        const std::uint64_t depth = has_more(8) ? number_in<std::uint64_t>(bytes, at) : ~0ULL;
        if (depth > kMaxStack || !has_more(8 + 8 * depth)) {
            ++lost_.odd;
            return;
        }
        std::string_view stack = bytes.substr(at + 8, 8 * depth);
        at += 8 + 8 * depth;
        while (!stack.empty() && number_in<std::uint64_t>(stack, 0) >= kMarkers)
            stack.remove_prefix(8);
        for (std::size_t i = 0; i < stack.size(); i += 8) {
            if (number_in<std::uint64_t>(stack, i) >= kMarkers) stack = stack.substr(0, i);
        }
        record.stack = stack;
    }
    if ((event->second.sample_type & kSampleRaw) != 0) {
        const std::uint32_t size = has_more(4) ? number_in<std::uint32_t>(bytes, at) : ~0U;
        if (size > bytes.size() || !has_more(std::size_t{4} + size)) {
            ++lost_.odd;
            return;
        }
        record.raw = bytes.substr(at + 4, size);
    }
    records_.push_back(record);
}

void Records::read_task(std::uint32_t type, std::string_view bytes, const Part& part) {
    Record record;
    record.iteration = part.head.number;
    if (bytes.size() < 8 + kSampleIdBytes) {
        ++lost_.odd;
        return;
    }
    record.time_ns = number_in<std::uint64_t>(bytes, bytes.size() - kSampleIdBytes + 8);
    record.pid = number_in<std::int32_t>(bytes, 0);
    if (type == kComm) {
        record.kind = RecordKind::name;
        record.tid = number_in<std::int32_t>(bytes, 4);
        record.raw = bytes.substr(8, bytes.size() - 8 - kSampleIdBytes);
        record.raw = record.raw.substr(0, record.raw.find('\0'));
    } else {
        if (bytes.size() < 24 + kSampleIdBytes) {
            ++lost_.odd;
            return;
        }
        record.kind = type == kFork ? RecordKind::fork : RecordKind::exit;
        record.parent = number_in<std::int32_t>(bytes, 4);
        record.tid = number_in<std::int32_t>(bytes, 8);
    }
    records_.push_back(record);
}

void Records::read_ring(const Part& part) {
    std::string_view left = part.bytes;
    while (left.size() >= 8) {
        const auto type = number_in<std::uint32_t>(left, 0);
        const auto size = number_in<std::uint16_t>(left, 6);
        if (size < 8 || size > left.size()) break;
        const std::string_view bytes = left.substr(8, size - 8U);
        left.remove_prefix(size);
        if (type == kSample) {
            read_sample(bytes, part);
        } else if (type == kComm || type == kFork || type == kExit) {
            read_task(type, bytes, part);
        } else if (type == kLost && bytes.size() >= 16) {
            lost_.records += number_in<std::uint64_t>(bytes, 8);
        }
    }
    if (!left.empty()) ++lost_.odd;
}

Records Records::read(const std::vector<Part>& parts) {
    Records records;
    for (const Part& part : parts) {
        if (part.head.kind == PartKind::event) records.read_event(part);
    }
    for (const Part& part : parts) {
        if (part.head.kind == PartKind::ring) records.read_ring(part);
    }
    std::stable_sort(records.records_.begin(), records.records_.end(),
                     [](const Record& a, const Record& b) { return a.time_ns < b.time_ns; });
    return records;
}

std::optional<std::int64_t> Records::field(const Record& record, std::string_view name) const {
    const auto& fields = fields_[static_cast<std::size_t>(record.event)];
    const auto found = fields.find(name);
    if (found == fields.end()) return std::nullopt;
    const Field& field = found->second;
    if (field.offset > record.raw.size() || field.size > record.raw.size() - field.offset)
        return std::nullopt;
    const std::size_t at = field.offset;
    switch (field.size) {
        case 1:
            return field.is_signed ? number_in<std::int8_t>(record.raw, at)
                                   : std::int64_t{number_in<std::uint8_t>(record.raw, at)};
        case 2:
            return field.is_signed ? number_in<std::int16_t>(record.raw, at)
                                   : std::int64_t{number_in<std::uint16_t>(record.raw, at)};
        case 4:
            return field.is_signed ? number_in<std::int32_t>(record.raw, at)
                                   : std::int64_t{number_in<std::uint32_t>(record.raw, at)};
        case 8:
            return number_in<std::int64_t>(record.raw, at);
        default:
            return std::nullopt;
    }
}

}  // namespace mano::trace
