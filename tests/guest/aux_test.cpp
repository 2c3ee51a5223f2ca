// SPDX-License-Identifier: GPL-2.0-or-later
// The probe `aux` and the module aux_pmu on a kernel that was built here (label lab: building it
// takes minutes where it isn't cached). What the kernel must give follows from
// kernel/events/ring_buffer.c of 7.3; see docs/agent.md.
#include "base/units.h"
#include "kernels/module_build.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;
using measure::TrialRecord;

constexpr const char* kLab = "source:7.3";
constexpr unsigned kCpus = 2;
constexpr std::int64_t kArea = 4 << 20;

enum Capability : std::int64_t { kPages, kPreferLarge, kNoSg, kDefault };

struct Wanted {
    Capability capability = kPreferLarge;
    std::int64_t size = kArea;
    bool overwrite = false;
    std::int64_t watermark = 0;
    bool privileged = true;
    std::int64_t linger = 0;
    std::vector<plan::Setting> settings = {};
};

TrialRecord map_areas(const Wanted& wanted) {
    OneTrial one(kLab);
    one.plan.shape.cpus = kCpus;
    one.plan.shape.modules = {"aux_pmu"};
    one.trial().settings = wanted.settings;
    one.trial().probe = {plan::LoadId::aux,
                         {0, wanted.capability, wanted.size, 16, wanted.overwrite ? 1 : 0,
                          wanted.watermark, 1, wanted.privileged ? 1 : 0, wanted.linger},
                         ""};
    return record_of(one);
}

double number(const TrialRecord& record, const std::string& metric) {
    const auto found = value(record, metric, 0);
    EXPECT_TRUE(found) << metric;
    return found.value_or(-1);
}

// Every area was made of `count` chunks of 2^order pages, and of nothing else.
void expect_chunks(const TrialRecord& record, unsigned order, double count) {
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence << record.console;
    EXPECT_EQ(number(record, "probe.asked"), kCpus);
    EXPECT_EQ(number(record, "probe.ops"), kCpus);
    EXPECT_EQ(number(record, "probe.errors"), 0);
    for (unsigned other = 0; other <= 10; ++other) {
        EXPECT_EQ(number(record, fmt::format("probe.chunks.order{}", other)),
                  other == order ? count * kCpus : 0)
            << other;
    }
}

TEST(Aux, SinglePages) {
    expect_chunks(map_areas({.capability = kPages}), 0, 1024);
}

TEST(Aux, NothingSaidIsSinglePagesToday) {
    expect_chunks(map_areas({.capability = kDefault}), 0, 1024);
}

TEST(Aux, LargeChunksUpToTheWatermark) {
    expect_chunks(map_areas({.capability = kPreferLarge}), 9, 2);
    expect_chunks(map_areas({.capability = kPreferLarge, .watermark = 64 << 10}), 4, 64);
}

TEST(Aux, SnapshotModeTriesOnePiece) {
    expect_chunks(map_areas({.capability = kPreferLarge, .overwrite = true}), 10, 1);
    expect_chunks(map_areas({.capability = kNoSg, .overwrite = true}), 10, 1);
}

// More than the largest block in one piece can't be had, whatever is free: an outcome, counted.
TEST(Aux, RefusalsAreCountedByErrno) {
    const TrialRecord record =
        map_areas({.capability = kNoSg, .size = 2 * kArea, .overwrite = true});
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    EXPECT_EQ(number(record, "probe.ops"), 0);
    EXPECT_EQ(number(record, "probe.errors"), kCpus);
    EXPECT_EQ(number(record, "probe.errno.ENOMEM"), kCpus);
    EXPECT_EQ(number(record, "probe.mapped_bytes"), 0);
}

TEST(Aux, AUserWithoutRights) {
    // By default such a user may not open events of whole CPUs …
    TrialRecord record = map_areas({.privileged = false});
    EXPECT_EQ(record.ending, Ending::probe_refused);
    EXPECT_NE(record.evidence.find("perf_event_open of a CPU's event: EACCES"), std::string::npos)
        << record.evidence;
    EXPECT_EQ(number(record, "probe.errno.EACCES"), kCpus);
    // … and when it may, it can map little …
    const plan::Setting open{"/proc/sys/kernel/perf_event_paranoid", "0", true};
    record = map_areas({.size = 128 << 10, .privileged = false, .settings = {open}});
    EXPECT_EQ(record.ending, Ending::goodbye) << record.evidence;
    EXPECT_EQ(number(record, "probe.ops"), kCpus);
    // … and not much: beyond perf_event_mlock_kb it counts as locked memory.
    record = map_areas({.size = 16 << 20, .privileged = false, .settings = {open}});
    EXPECT_EQ(record.ending, Ending::probe_refused);
    EXPECT_NE(record.evidence.find("mmap of an AUX area: EPERM"), std::string::npos)
        << record.evidence;
}

TEST(Aux, MemoryComesBack) {
    const TrialRecord record = map_areas({.capability = kPages, .linger = 30'000'000'000});
    const auto pages_at = [&record](std::string_view point) {
        double pages = 0;
        for (unsigned order = 0; order <= 10; ++order) {
            pages += static_cast<double>(1U << order) *
                     number(record, fmt::format("probe.blocks.{}.order{}", point, order));
        }
        return pages;
    };
    // What lies on the CPUs' own lists is free too, but in no block. An idle CPU keeps its list.
    const auto on_lists = [&record](measure::Moment moment) {
        double pages = 0;
        for (unsigned cpu = 0; cpu < kCpus; ++cpu) {
            for (const char* zone : {"DMA", "DMA32", "Normal"}) {
                pages += value(record, fmt::format("zoneinfo.node0.{}.cpu{}.count", zone, cpu), 0,
                               moment)
                             .value_or(0);
            }
        }
        return pages;
    };
    constexpr double kAreas = 1024.0 * kCpus;
    constexpr double kBeside = 1024;  // ring buffers, page tables
    const double before = pages_at("before");
    const double listed = on_lists(measure::Moment::before);
    EXPECT_GE(before - pages_at("held"), kAreas - listed) << "the lists give some of it";
    EXPECT_LE(before - pages_at("held"), kAreas + kBeside);
    EXPECT_LE(before - pages_at("after"), kAreas + kBeside);
    EXPECT_GE(pages_at("later"), pages_at("after"));
    // The reading after the iteration follows the last look at the blocks.
    const double free_later = pages_at("later") + on_lists(measure::Moment::after);
    EXPECT_LE(before + listed - free_later, kBeside);
}

}  // namespace
}  // namespace mano::guest_test
