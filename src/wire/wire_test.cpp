// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/rng.h"
#include "wire/reader.h"
#include "wire/writer.h"

namespace mano::wire {
namespace {

struct Log {
    explicit Log(std::size_t bytes = 1 << 20) : memory(bytes / 8) {}
    std::span<std::byte> span() { return std::as_writable_bytes(std::span(memory)); }
    std::vector<std::uint64_t> memory;  // aligned as shared memory is
};

std::vector<Frame> read_all(Reader& reader) {
    std::vector<Frame> frames;
    while (true) {
        auto frame = reader.next();
        if (!frame || !*frame) return frames;
        frames.push_back(std::move(**frame));
    }
}

void write_sample(Writer& writer) {
    writer.hello("test");
    writer.fact("state.swap", "none");
    writer.value("probe.ops", 12.5, 3);
    writer.unknown("probe.time_ns", 3);
    writer.loss("psi", 7, "sub-jiffy iterations");
    writer.counter({.value = 1,
                    .enabled = 2,
                    .running = 3,
                    .iteration = 4,
                    .index = 5,
                    .moment = 1,
                    .reserved = 0});
    writer.goodbye();
}

TEST(Wire, RoundTrip) {
    Log log;
    Writer writer;
    ASSERT_TRUE(writer.start(log.span()));
    write_sample(writer);
    Reader reader(log.span());
    const auto frames = read_all(reader);
    ASSERT_EQ(frames.size(), 7U);
    EXPECT_EQ(as_fact(frames[1])->value, "none");
    EXPECT_EQ(as_value(frames[2])->metric, "probe.ops");
    EXPECT_EQ(as_value(frames[2])->head.value, 12.5);
    EXPECT_EQ(as_value(frames[3])->head.known, 0);
    EXPECT_EQ(as_loss(frames[4])->meaning, "sub-jiffy iterations");
    EXPECT_EQ(as_counter(frames[5])->index, 5);
    EXPECT_TRUE(reader.said_goodbye());
}

TEST(Wire, FollowsAGrowingLog) {
    Log log;
    Reader reader(log.span());
    EXPECT_FALSE(**reader.next().map([](auto&& f) { return std::optional<bool>(f.has_value()); }));
    Writer writer;
    ASSERT_TRUE(writer.start(log.span()));
    EXPECT_TRUE(read_all(reader).empty());
    writer.hello("a");
    EXPECT_EQ(read_all(reader).size(), 1U);
    writer.fact("k", "v");
    writer.beat();
    writer.phase(Phase::probe, 9);
    EXPECT_EQ(read_all(reader).size(), 1U);
    EXPECT_EQ(reader.heartbeat(), 1U);
    EXPECT_EQ(reader.phase(), Phase::probe);
    EXPECT_EQ(reader.phase_step(), 9U);
}

TEST(Wire, FullLogStillSaysHowItEnded) {
    Log log(64 * 1024);
    Writer writer;
    ASSERT_TRUE(writer.start(log.span()));
    const std::string big(1000, 'x');
    for (int i = 0; i < 100; ++i)
        writer.fact("k", big);
    writer.ending(7, "full");
    writer.goodbye();
    Reader reader(log.span());
    const auto frames = read_all(reader);
    EXPECT_TRUE(reader.said_goodbye());
    EXPECT_GT(reader.lost_frames(), 0U);
    EXPECT_EQ(as_ending(frames[frames.size() - 2])->evidence, "full");
}

TEST(Wire, TooSmallMemoryIsRefused) {
    Log log(8192);
    Writer writer;
    EXPECT_FALSE(writer.start(log.span()));
}

// Whatever a guest does to its log, the reader ends with an error or with frames that were written.
TEST(Wire, AnyDamageIsFoundOrHarmless) {
    const std::uint64_t seed = 20261130;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    Log whole(64 * 1024);
    Writer writer;
    ASSERT_TRUE(writer.start(whole.span()));
    write_sample(writer);
    Reader undamaged(whole.span());
    const auto expected = read_all(undamaged);
    const std::size_t used = kHeaderBytes + 7 * 80;
    for (int round = 0; round < 20000; ++round) {
        Log log = whole;
        const std::size_t at = kHeaderBytes + rng.below(used - kHeaderBytes);
        log.span()[at] ^= static_cast<std::byte>(1U << rng.below(8));
        Reader reader(log.span());
        const auto frames = read_all(reader);
        ASSERT_LE(frames.size(), expected.size());
        for (std::size_t i = 0; i < frames.size(); ++i) {
            // Padding isn't covered by a checksum, and carries nothing.
            ASSERT_EQ(frames[i].payload, expected[i].payload) << "byte " << at;
        }
    }
}

TEST(Wire, ForgedLengthsAreErrors) {
    for (const std::uint64_t committed :
         {std::uint64_t{1}, std::uint64_t{23}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
        Log log;
        Writer writer;
        ASSERT_TRUE(writer.start(log.span()));
        writer.hello("x");
        reinterpret_cast<Header*>(log.span().data())->committed = committed;
        Reader reader(log.span());
        auto frame = reader.next();
        EXPECT_TRUE(!frame || !reader.next()) << committed;
    }
}

TEST(Wire, NothingMayFollowTheGoodbye) {
    Log log;
    Writer writer;
    ASSERT_TRUE(writer.start(log.span()));
    writer.hello("x");
    writer.goodbye();
    writer.fact("late", "frame");
    Reader reader(log.span());
    EXPECT_EQ(read_all(reader).size(), 2U);
    const auto after = reader.next();
    ASSERT_FALSE(after);
    EXPECT_EQ(after.error().code, Code::hostile);
}

}  // namespace
}  // namespace mano::wire
