// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire/writer.h"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"

namespace mano::wire {
namespace {

std::uint64_t now_ns() {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span<const T, 1>(&value, 1));
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

bool Writer::start(std::span<std::byte> memory) {
    if (memory.size() < kHeaderBytes + 2 * kReserve) return false;
    std::memset(memory.data(), 0, kHeaderBytes);
    header_ = reinterpret_cast<Header*>(memory.data());
    frames_ = memory.data() + kHeaderBytes;
    capacity_ = (memory.size() - kHeaderBytes) & ~std::uint64_t{7};
    header_->version = kVersion;
    header_->header_bytes = kHeaderBytes;
    header_->capacity = capacity_;
    // The magic last: a host that sees it finds the rest in place.
    std::atomic_thread_fence(std::memory_order_release);
    header_->magic = kMagic;
    return true;
}

std::span<std::byte> Writer::begin(FrameType type, bool end) {
    open_ = type;
    const std::uint64_t limit = end ? capacity_ : capacity_ - kReserve;
    if (used_ + sizeof(FrameHead) + 8 > limit) return {};
    return {frames_ + used_ + sizeof(FrameHead), limit - used_ - sizeof(FrameHead) - 8};
}

void Writer::commit(std::size_t size) {
    std::byte* frame = frames_ + used_;
    FrameHead head = {.size = static_cast<std::uint32_t>(size),
                      .type = open_,
                      .reserved = 0,
                      .sequence = sequence_++,
                      .sum = 0,
                      .guest_ns = now_ns()};
    head.sum = checksum(frame + sizeof head, size, checksum(&head, sizeof head));
    std::memcpy(frame, &head, sizeof head);
    std::memset(frame + sizeof head + size, 0, padded(size) - size);
    chain_ = checksum(&head.sum, sizeof head.sum, chain_);
    used_ += sizeof head + padded(size);
    header_->committed.store(used_, std::memory_order_release);
}

void Writer::lose() {
    header_->lost_frames.fetch_add(1, std::memory_order_relaxed);
}

void Writer::put(FrameType type, std::initializer_list<std::span<const std::byte>> parts,
                 bool end) {
    const std::span<std::byte> room = begin(type, end);
    std::size_t size = 0;
    for (const auto part : parts)
        size += part.size();
    if (size > room.size()) return lose();
    std::size_t at = 0;
    for (const auto part : parts) {
        std::memcpy(room.data() + at, part.data(), part.size());
        at += part.size();
    }
    commit(size);
}

void Writer::hello(std::string_view version) {
    put(FrameType::hello, {bytes_of(version)});
}

void Writer::fact(std::string_view key, std::string_view value) {
    const auto size = static_cast<std::uint16_t>(key.size());
    put(FrameType::fact, {bytes_of(size), bytes_of(key), bytes_of(value)});
}

void Writer::value(std::string_view metric, double value, std::uint32_t iteration,
                   std::uint8_t moment) {
    const ValueHead head = {
        .value = value, .iteration = iteration, .moment = moment, .known = 1, .reserved = 0};
    put(FrameType::value, {bytes_of(head), bytes_of(metric)});
}

void Writer::unknown(std::string_view metric, std::uint32_t iteration, std::uint8_t moment) {
    const ValueHead head = {
        .value = 0, .iteration = iteration, .moment = moment, .known = 0, .reserved = 0};
    put(FrameType::value, {bytes_of(head), bytes_of(metric)});
}

void Writer::loss(std::string_view source, std::uint64_t count, std::string_view meaning) {
    const LossHead head = {
        .count = count, .source_size = static_cast<std::uint16_t>(source.size()), .reserved = {}};
    put(FrameType::loss, {bytes_of(head), bytes_of(source), bytes_of(meaning)});
}

void Writer::counter(const CounterHead& counter) {
    put(FrameType::counter, {bytes_of(counter)});
}

void Writer::ending(std::uint16_t ending, std::string_view evidence) {
    if (has_ending_) return;  // the first cause is the one that counts
    has_ending_ = true;
    put(FrameType::ending, {bytes_of(ending), bytes_of(evidence.substr(0, kReserve / 2))}, true);
}

void Writer::goodbye() {
    const GoodbyeHead head = {.frames = sequence_, .chain = chain_};
    put(FrameType::goodbye, {bytes_of(head)}, true);
}

void Writer::phase(Phase phase, std::uint32_t step) {
    header_->phase_step.store(step, std::memory_order_relaxed);
    header_->phase.store(static_cast<std::uint32_t>(phase), std::memory_order_release);
}

}  // namespace mano::wire
