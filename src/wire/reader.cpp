// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire/reader.h"

#include <cstring>

#include "base/checksum.h"

namespace mano::wire {
namespace {

// A guest can't make the host copy more than this for one frame.
constexpr std::uint64_t kMaxPayload = std::uint64_t{4} << 20;

template <typename T>
std::optional<T> head_of(const Frame& frame) {
    if (frame.payload.size() < sizeof(T)) return std::nullopt;
    T head;
    std::memcpy(&head, frame.payload.data(), sizeof head);
    return head;
}

}  // namespace

const Header& Reader::header() const {
    return *reinterpret_cast<const Header*>(memory_.data());
}

bool Reader::started() const {
    return memory_.size() > kHeaderBytes &&
           *const_cast<const volatile std::uint64_t*>(&header().magic) == kMagic;
}

std::uint64_t Reader::heartbeat() const {
    return started() ? header().heartbeat.load(std::memory_order_acquire) : 0;
}

Phase Reader::phase() const {
    if (!started()) return Phase::boot;
    const std::uint32_t phase = header().phase.load(std::memory_order_acquire);
    return phase <= static_cast<std::uint32_t>(Phase::done) ? static_cast<Phase>(phase)
                                                            : Phase::boot;
}

std::uint32_t Reader::phase_step() const {
    return started() ? header().phase_step.load(std::memory_order_relaxed) : 0;
}

std::uint64_t Reader::lost_frames() const {
    return started() ? header().lost_frames.load(std::memory_order_relaxed) : 0;
}

Result<std::optional<Frame>> Reader::next() {
    if (broken_) return tl::unexpected<Error>(*broken_);
    if (!started()) return std::optional<Frame>{};
    auto broken = [this](std::string text) {
        broken_ = Error{Code::hostile, std::move(text), nullptr};
        return tl::unexpected<Error>(*broken_);
    };
    if (header().version != kVersion) {
        return broken(
            fmt::format("record log version {}, {} was expected", header().version, kVersion));
    }
    const std::uint64_t room = memory_.size() - kHeaderBytes;
    const std::uint64_t committed = header().committed.load(std::memory_order_acquire);
    if (committed > room || committed < at_) {
        return broken(fmt::format("record log claims {} committed bytes, of {} (read so far: {})",
                                  committed, room, at_));
    }
    if (committed == at_) return std::optional<Frame>{};
    if (goodbye_) return broken("record log goes on after its goodbye");
    FrameHead head;
    if (committed - at_ < sizeof head) return broken(fmt::format("torn frame at byte {}", at_));
    const std::byte* frame_at = memory_.data() + kHeaderBytes + at_;
    std::memcpy(&head, frame_at, sizeof head);
    if (head.size > kMaxPayload || sizeof head + padded(head.size) > committed - at_) {
        return broken(
            fmt::format("frame {} at byte {} claims {} bytes", sequence_, at_, head.size));
    }
    Frame frame;
    frame.type = head.type;
    frame.sequence = head.sequence;
    frame.guest_ns = head.guest_ns;
    frame.payload.assign(reinterpret_cast<const char*>(frame_at + sizeof head), head.size);
    const std::uint32_t claimed = head.sum;
    head.sum = 0;
    const std::uint32_t sum =
        checksum(frame.payload.data(), frame.payload.size(), checksum(&head, sizeof head));
    if (sum != claimed || head.sequence != sequence_) {
        return broken(fmt::format("frame {} at byte {} is damaged", sequence_, at_));
    }
    if (frame.type == FrameType::goodbye) {
        if (auto checked = check_goodbye(frame); !checked) return broken(checked.error().message);
        goodbye_ = true;
    }
    chain_ = checksum(&claimed, sizeof claimed, chain_);
    ++sequence_;
    at_ += sizeof head + padded(frame.payload.size());
    return std::optional<Frame>(std::move(frame));
}

Status Reader::check_goodbye(const Frame& frame) {
    const auto head = head_of<GoodbyeHead>(frame);
    if (!head || head->frames != sequence_ || head->chain != chain_) {
        return fail(Code::hostile, "the goodbye doesn't agree with the {} frames before it",
                    sequence_);
    }
    return {};
}

std::optional<Fact> as_fact(const Frame& frame) {
    const auto size = head_of<std::uint16_t>(frame);
    if (!size || frame.payload.size() < 2U + *size) return std::nullopt;
    return Fact{frame.payload.substr(2, *size), frame.payload.substr(2U + *size)};
}

std::optional<Reading> as_reading(const Frame& frame) {
    const auto head = head_of<ReadingHead>(frame);
    if (!head || head->moment > 2) return std::nullopt;
    return Reading{*head, frame.payload.substr(sizeof *head)};
}

std::optional<Value> as_value(const Frame& frame) {
    const auto head = head_of<ValueHead>(frame);
    if (!head || head->moment > 2) return std::nullopt;
    return Value{*head, frame.payload.substr(sizeof *head)};
}

std::optional<LossFrame> as_loss(const Frame& frame) {
    const auto head = head_of<LossHead>(frame);
    if (!head || frame.payload.size() < sizeof *head + head->source_size) return std::nullopt;
    return LossFrame{head->count, frame.payload.substr(sizeof *head, head->source_size),
                     frame.payload.substr(sizeof *head + head->source_size)};
}

std::optional<CounterHead> as_counter(const Frame& frame) {
    auto head = head_of<CounterHead>(frame);
    if (head && head->moment > 2) return std::nullopt;
    return head;
}

std::optional<EndingFrame> as_ending(const Frame& frame) {
    const auto ending = head_of<std::uint16_t>(frame);
    if (!ending) return std::nullopt;
    return EndingFrame{*ending, frame.payload.substr(2)};
}

}  // namespace mano::wire
