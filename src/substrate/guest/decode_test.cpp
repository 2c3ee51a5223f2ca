// SPDX-License-Identifier: GPL-2.0-or-later
// Frames → samples, without a boot: a recorded log, and logs that no agent writes.
#include "substrate/guest/decode.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/rng.h"
#include "wire/writer.h"

namespace mano::substrate::guest {
namespace {

using measure::Moment;
using ::testing::HasSubstr;

// One trial of `idle` on Linux 7.3.4 (one CPU, 256 MiB, 50 ms, no pressure): the log's file up to
// what was committed, xz.
std::string recorded_log() {
    const std::string path = MANO_SOURCE_DIR "/tests/fixtures/wire/7.3.4-idle.log.xz";
    const std::unique_ptr<archive, decltype(&archive_read_free)> in{archive_read_new(),
                                                                    &archive_read_free};
    archive_read_support_format_raw(in.get());
    archive_read_support_filter_xz(in.get());
    std::string bytes;
    archive_entry* entry = nullptr;
    if (archive_read_open_filename(in.get(), path.c_str(), 65536) != ARCHIVE_OK ||
        archive_read_next_header(in.get(), &entry) != ARCHIVE_OK) {
        ADD_FAILURE() << path << ": " << archive_error_string(in.get());
        return bytes;
    }
    char part[65536];
    la_ssize_t got = 0;
    while ((got = archive_read_data(in.get(), part, sizeof part)) > 0) {
        bytes.append(part, static_cast<std::size_t>(got));
    }
    EXPECT_EQ(got, 0);
    return bytes;
}

// Memory as a mapped log has it: aligned.
struct Log {
    explicit Log(std::size_t bytes) : words(bytes / 8 + 1) {}
    explicit Log(std::string_view bytes) : Log(bytes.size()) {
        std::memcpy(words.data(), bytes.data(), bytes.size());
    }
    std::span<std::byte> span() { return std::as_writable_bytes(std::span(words)); }
    std::vector<std::uint64_t> words;
};

std::vector<wire::Frame> frames_of(wire::Reader& reader) {
    std::vector<wire::Frame> frames;
    while (true) {
        auto frame = reader.next();
        if (!frame) {
            ADD_FAILURE() << frame.error().text();
            return frames;
        }
        if (!*frame) return frames;
        frames.push_back(std::move(**frame));
    }
}

// What `write` writes, decoded.
template <typename Write>
measure::TrialRecord decoded(const plan::TrialPlan& plan, Write write) {
    Log log(1 << 20);
    wire::Writer writer;
    EXPECT_TRUE(writer.start(log.span()));
    write(writer);
    wire::Reader reader(log.span());
    measure::TrialRecord record;
    decode_frames(frames_of(reader), plan, record);
    return record;
}

plan::TrialPlan plan_of(std::uint32_t iterations) {
    plan::TrialPlan plan;
    plan.iterations = iterations;
    return plan;
}

const measure::Sample* find(const measure::TrialRecord& record, std::string_view metric,
                            std::optional<std::uint32_t> iteration, Moment moment) {
    for (const measure::Sample& sample : record.samples) {
        if (sample.metric == metric && sample.iteration == iteration && sample.moment == moment) {
            return &sample;
        }
    }
    return nullptr;
}

double number(const measure::TrialRecord& record, std::string_view metric,
              std::optional<std::uint32_t> iteration, Moment moment) {
    const measure::Sample* sample = find(record, metric, iteration, moment);
    if (sample == nullptr || !sample->value) {
        ADD_FAILURE() << metric << " isn't there or isn't known";
        return -1;
    }
    return *sample->value;
}

void put_reading(wire::Writer& writer, wire::ReadingHead head, std::string_view text) {
    const auto room = writer.begin(wire::FrameType::reading);
    ASSERT_GE(room.size(), sizeof head + text.size());
    std::memcpy(room.data(), &head, sizeof head);
    std::memcpy(room.data() + sizeof head, text.data(), text.size());
    writer.commit(sizeof head + text.size());
}

TEST(Recorded, ReplaysWithoutABoot) {
    Log log(recorded_log());
    wire::Reader reader(log.span());
    const auto frames = frames_of(reader);
    ASSERT_TRUE(reader.said_goodbye());
    EXPECT_EQ(reader.lost_frames(), 0U);
    measure::TrialRecord record;
    decode_frames(frames, plan_of(1), record);

    std::map<std::string, std::string> facts;
    for (const measure::Fact& fact : record.facts)
        facts[fact.key] = fact.value;
    EXPECT_EQ(facts["kernel.release"], "7.3.4+deb13-cloud-amd64");
    EXPECT_EQ(facts["kernel.hz"], "250");
    EXPECT_EQ(facts["state.cpus"], "1");
    EXPECT_EQ(facts["state.swap"], "none");
    EXPECT_EQ(facts["state.psi"], "on");

    // Every group of readings, before and after, and time goes on between them.
    for (const char* metric : {"vmstat.pgfault", "meminfo.MemFree", "stat.processes",
                               "psi.system.memory.some.total_us", "cpu.probe.usage_usec"}) {
        const double before = number(record, metric, 0, Moment::before);
        const double after = number(record, metric, 0, Moment::after);
        EXPECT_GE(before, 0) << metric;
        if (std::string_view(metric) == "meminfo.MemFree") continue;
        EXPECT_GE(after, before) << metric;
    }
    EXPECT_GT(number(record, "vmstat.pgfault", 0, Moment::after),
              number(record, "vmstat.pgfault", 0, Moment::before));
    EXPECT_GE(number(record, "probe.time_ns", 0, Moment::whole), 50e6);
    EXPECT_EQ(number(record, "kmsg.bugs", std::nullopt, Moment::whole), 0);
    EXPECT_GT(record.samples.size(), 1000U);
}

TEST(Recorded, ReplayedTwiceIsTheSame) {
    measure::TrialRecord records[2];
    for (measure::TrialRecord& record : records) {
        Log log(recorded_log());
        wire::Reader reader(log.span());
        decode_frames(frames_of(reader), plan_of(1), record);
    }
    EXPECT_EQ(records[0].samples, records[1].samples);
    EXPECT_EQ(records[0].facts, records[1].facts);
    EXPECT_EQ(records[0].losses, records[1].losses);
}

// An idle probe uses less than ten jiffies, so the kernel's PSI of it means nothing.
TEST(Recorded, TheIdleProbesPsiIsUnknownAndSaid) {
    Log log(recorded_log());
    wire::Reader reader(log.span());
    measure::TrialRecord record;
    decode_frames(frames_of(reader), plan_of(1), record);
    for (const Moment moment : {Moment::before, Moment::after}) {
        const auto* sample = find(record, "psi.probe.memory.some.total_us", 0, moment);
        ASSERT_NE(sample, nullptr) << "absent is said, not left out";
        EXPECT_FALSE(sample->value);
        const auto* whole = find(record, "psi.system.memory.some.total_us", 0, moment);
        ASSERT_NE(whole, nullptr);
        EXPECT_TRUE(whole->value) << "the system's PSI stays";
    }
    ASSERT_EQ(record.losses.size(), 1U);
    EXPECT_EQ(record.losses[0].source, "psi.probe");
    EXPECT_EQ(record.losses[0].count, 1U);
    EXPECT_THAT(record.losses[0].meaning, HasSubstr("jiffies"));
}

TEST(Recorded, AnIterationThatThePlanDoesNotHaveIsALoss) {
    Log log(recorded_log());
    wire::Reader reader(log.span());
    measure::TrialRecord record;
    decode_frames(frames_of(reader), plan_of(0), record);
    EXPECT_TRUE(find(record, "vmstat.pgfault", 0, Moment::before) == nullptr);
    ASSERT_FALSE(record.losses.empty());
    for (const measure::Loss& loss : record.losses)
        EXPECT_EQ(loss.source, "wire");
}

struct Usage {
    double cpu_us;    // of the probe's cgroup, from first to second reading
    double stall_us;  // its memory PSI
};

measure::TrialRecord with_usage(Usage usage, std::string_view hz) {
    return decoded(plan_of(1), [&](wire::Writer& writer) {
        if (!hz.empty()) writer.fact("kernel.hz", hz);
        for (std::uint8_t moment = 0; moment < 2; ++moment) {
            const double factor = moment;
            put_reading(writer, {wire::Source::probe_cpu_stat, moment, 0, 0},
                        fmt::format("usage_usec {}\nuser_usec 0\n",
                                    1000 + static_cast<int>(usage.cpu_us * factor)));
            const int total = 500 + static_cast<int>(usage.stall_us * factor);
            put_reading(writer, {wire::Source::probe_memory_pressure, moment, 0, 0},
                        fmt::format("some avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total={}\n",
                                    total, total));
        }
    });
}

bool psi_known(const measure::TrialRecord& record) {
    const auto* sample = find(record, "psi.probe.memory.some.total_us", 0, Moment::after);
    return sample != nullptr && sample->value.has_value();
}

TEST(ShortPsi, TenJiffiesAreEnough) {
    // At 250 Hz ten jiffies are 40 ms.
    EXPECT_FALSE(psi_known(with_usage({39'000, 0}, "250")));
    EXPECT_TRUE(psi_known(with_usage({41'000, 0}, "250")));
    EXPECT_TRUE(psi_known(with_usage({20'000, 21'000}, "250"))) << "a stall is no idleness";
    EXPECT_TRUE(psi_known(with_usage({11'000, 0}, "1000")));
    EXPECT_FALSE(psi_known(with_usage({41'000, 0}, "100")));
}

TEST(ShortPsi, FullGoesWithSome) {
    const auto record = with_usage({1'000, 0}, "250");
    const auto* full = find(record, "psi.probe.memory.full.total_us", 0, Moment::after);
    ASSERT_NE(full, nullptr);
    EXPECT_FALSE(full->value);
    ASSERT_EQ(record.losses.size(), 1U);
    EXPECT_EQ(record.losses[0].count, 1U) << "one iteration, not one sample";
}

TEST(ShortPsi, WithoutTheJiffyNothingIsDropped) {
    EXPECT_TRUE(psi_known(with_usage({1'000, 0}, "")));
    for (const char* hz : {"0", "-250", "nan", "x", "1e308"}) {
        static_cast<void>(with_usage({1'000, 0}, hz));  // hostile, but no harm
    }
}

TEST(Hostile, NamesAreChecked) {
    const auto record = decoded(plan_of(1), [](wire::Writer& writer) {
        writer.fact("kernel.release\n", "x");
        writer.fact("", "x");
        writer.fact(std::string(500, 'k'), "x");
        writer.value("a b", 1);
        writer.value("", 1);
        writer.value("probe.ops", 1, 7);  // no such iteration
        writer.value("probe.ops", 5, 0);
    });
    EXPECT_TRUE(record.facts.empty());
    ASSERT_EQ(record.samples.size(), 1U);
    EXPECT_EQ(record.samples[0].value, 5);
    std::uint64_t losses = 0;
    for (const measure::Loss& loss : record.losses)
        losses += loss.count;
    EXPECT_EQ(losses, 6U);
}

TEST(Hostile, TextsAreCleaned) {
    const auto record = decoded(plan_of(1), [](wire::Writer& writer) {
        writer.fact("kernel.banner", "Linux\033[2J\a\r\n\xff end\n\n");
        writer.loss("so\033[31murce", 3, "mea\x01ning");
    });
    ASSERT_EQ(record.facts.size(), 1U);
    EXPECT_EQ(record.facts[0].value, "Linux?\n? end");
    ASSERT_EQ(record.losses.size(), 1U);
    EXPECT_EQ(record.losses[0].source, "source");
    EXPECT_EQ(record.losses[0].meaning, "mea?ning");
    EXPECT_EQ(record.losses[0].count, 3U);
}

TEST(Hostile, CountersOutsideThePlanAreLosses) {
    plan::TrialPlan plan = plan_of(1);
    plan.counters = {{"tp.alloc", "kmem/mm_page_alloc", ""}};
    const auto record = decoded(plan, [](wire::Writer& writer) {
        wire::CounterHead head = {};
        head.value = 17;
        head.moment = 1;
        writer.counter(head);
        head.enabled = 100;
        head.running = 50;
        writer.counter(head);  // multiplexed
        head.index = 1;
        writer.counter(head);
        head.index = 0;
        head.iteration = 1;
        writer.counter(head);
    });
    ASSERT_EQ(record.samples.size(), 2U);
    EXPECT_EQ(record.samples[0].metric, "tp.alloc");
    EXPECT_EQ(record.samples[0].value, 17);
    std::set<std::string> sources;
    for (const measure::Loss& loss : record.losses)
        sources.insert(loss.source);
    EXPECT_EQ(sources, (std::set<std::string>{"tp.alloc", "wire"}));
}

TEST(Hostile, UnknownIsNotZero) {
    const auto record = decoded(plan_of(1), [](wire::Writer& writer) {
        writer.unknown("probe.ops", 0);
        writer.value("probe.time_ns", 0, 0);
    });
    ASSERT_EQ(record.samples.size(), 2U);
    EXPECT_FALSE(record.samples[0].value);
    EXPECT_EQ(record.samples[1].value, 0);
}

TEST(Hostile, ReadingsThatNoParserKnows) {
    const auto record = decoded(plan_of(1), [](wire::Writer& writer) {
        put_reading(writer, {static_cast<wire::Source>(999), 0, 0, 0}, "what is this\n");
        put_reading(writer, {wire::Source::vmstat, 9, 0, 0}, "pgfault 1\n");  // no such moment
        put_reading(writer, {wire::Source::vmstat, 0, 0, 0}, "pgfault many\npgmajfault 2\n");
    });
    EXPECT_EQ(find(record, "vmstat.pgfault", 0, Moment::before), nullptr);
    EXPECT_EQ(number(record, "vmstat.pgmajfault", 0, Moment::before), 2);
    std::uint64_t losses = 0;
    for (const measure::Loss& loss : record.losses)
        losses += loss.count;
    EXPECT_EQ(losses, 3U);
}

// Any bytes in a frame of any type: no crash, and nothing without a name comes out.
TEST(Hostile, RandomFrames) {
    constexpr std::uint64_t kSeed = 11;
    Rng rng(kSeed);
    plan::TrialPlan plan = plan_of(3);
    plan.counters = {{"tp.alloc", "kmem/mm_page_alloc", ""}};
    for (int round = 0; round < 500; ++round) {
        std::vector<wire::Frame> frames(rng.below(20));
        for (wire::Frame& frame : frames) {
            frame.type = static_cast<wire::FrameType>(rng.below(12));
            frame.payload.resize(rng.below(200));
            for (char& c : frame.payload) {
                c = static_cast<char>(rng.below(3) == 0 ? rng.below(4) : rng.below(256));
            }
        }
        measure::TrialRecord record;
        decode_frames(frames, plan, record);
        for (const measure::Sample& sample : record.samples) {
            EXPECT_FALSE(sample.metric.empty()) << "seed " << kSeed << " round " << round;
            EXPECT_TRUE(!sample.iteration || *sample.iteration < plan.iterations);
        }
    }
}

}  // namespace
}  // namespace mano::substrate::guest
