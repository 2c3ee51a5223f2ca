// SPDX-License-Identifier: GPL-2.0-or-later
// A guest's record log, forged from its first byte: header, frames, payloads. Damaged logs end in
// an error; to reach the payloads, checksums are also mended before a second reading.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/checksum.h"
#include "substrate/guest/decode.h"
#include "wire/reader.h"

namespace {

using namespace mano;  // NOLINT(google-build-using-namespace)

// Memory as it is mapped: aligned.
struct Log {
    explicit Log(std::size_t bytes) : words(bytes / 8 + 1) {}
    std::span<std::byte> span() { return std::as_writable_bytes(std::span(words)); }
    std::vector<std::uint64_t> words;
};

// All of it is shown on terminals.
void expect_printable(std::string_view text) {
    for (const char c : text) {
        if (c != '\n' && c != '\t' && (c < ' ' || c > '~')) std::abort();
    }
}

void read_and_decode(std::span<const std::byte> log) {
    plan::TrialPlan plan;
    plan.iterations = 2;
    plan.counters = {{"tp.alloc", "kmem/mm_page_alloc", ""}};
    plan.triggers = {{"trigger.lmkd_some", false, false, 70'000, 1'000'000, 0, 0}};
    wire::Reader reader(log);
    std::vector<wire::Frame> frames;
    while (true) {
        auto frame = reader.next();
        if (!frame || !*frame) break;
        frames.push_back(std::move(**frame));
    }
    measure::TrialRecord record;
    substrate::guest::decode_frames(frames, plan, record);
    for (const measure::Sample& sample : record.samples) {
        if (sample.metric.empty()) std::abort();
        expect_printable(sample.metric);
        if (sample.iteration && *sample.iteration >= plan.iterations) std::abort();
    }
    for (const measure::Fact& fact : record.facts) {
        expect_printable(fact.key);
        expect_printable(fact.value);
    }
    for (const measure::Loss& loss : record.losses) {
        expect_printable(loss.source);
        expect_printable(loss.meaning);
    }
}

// The input as frames of proper form: a type byte, a size byte (in eights), the payload.
void as_frames(const std::uint8_t* data, std::size_t size) {
    Log log(wire::kHeaderBytes + 64 * 1024 + size * 40);
    const auto memory = log.span();
    std::uint64_t used = 0;
    std::uint32_t sequence = 0;
    while (size >= 2) {
        wire::FrameHead head = {};
        head.type = static_cast<wire::FrameType>(data[0] % 10);
        head.size = data[1] * 8U;
        data += 2;
        size -= 2;
        if (head.size > size) head.size = static_cast<std::uint32_t>(size);
        head.sequence = sequence++;
        head.sum = checksum(data, head.size, checksum(&head, sizeof head));
        std::byte* at = memory.data() + wire::kHeaderBytes + used;
        std::memcpy(at, &head, sizeof head);
        std::memcpy(at + sizeof head, data, head.size);
        used += sizeof head + wire::padded(head.size);
        data += head.size;
        size -= head.size;
    }
    auto* header = reinterpret_cast<wire::Header*>(memory.data());
    header->magic = wire::kMagic;
    header->version = wire::kVersion;
    header->committed = used;
    read_and_decode(memory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Log raw(wire::kHeaderBytes + size);
    // The first bytes go over the header's fields, the others are the frames.
    const std::size_t head = size < 128 ? size : 128;
    std::memcpy(raw.span().data(), data, head);
    if (size > head) {
        std::memcpy(raw.span().data() + wire::kHeaderBytes, data + head, size - head);
    }
    read_and_decode(raw.span());
    as_frames(data, size);
    return 0;
}
