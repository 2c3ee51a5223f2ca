// SPDX-License-Identifier: GPL-2.0-or-later
// Probes of whole buffers in real guests: what they ask for, what they are given, and that every
// page of it is accounted for.
#include "base/units.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;
using measure::TrialRecord;

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}
#define EXPECT_HAS(text, part) EXPECT_PRED2(has, text, part)

double number(const TrialRecord& record, const std::string& metric) {
    const auto found = value(record, metric, 0);
    EXPECT_TRUE(found) << metric;
    return found.value_or(-1);
}

// Pages in all the pieces together.
double pages_in_chunks(const TrialRecord& record) {
    double pages = 0;
    for (unsigned order = 0; order <= 10; ++order) {
        pages += number(record, fmt::format("probe.chunks.order{}", order)) *
                 static_cast<double>(1U << order);
    }
    return pages;
}

double free_pages(const TrialRecord& record, std::string_view point) {
    double pages = 0;
    for (unsigned order = 0; order <= 10; ++order) {
        pages += number(record, fmt::format("probe.blocks.{}.order{}", point, order)) *
                 static_cast<double>(1U << order);
    }
    return pages;
}

void expect_all_obtained(const TrialRecord& record, double buffers) {
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence << record.console;
    EXPECT_EQ(number(record, "probe.asked"), buffers);
    EXPECT_EQ(number(record, "probe.ops"), buffers);
    EXPECT_EQ(number(record, "probe.errors"), 0);
    EXPECT_EQ(number(record, "probe.errno.ENOMEM"), 0);
    EXPECT_EQ(pages_in_chunks(record) * 4096, number(record, "probe.mapped_bytes"));
    EXPECT_GT(number(record, "probe.map_ns_max"), 0);
    EXPECT_GE(number(record, "probe.map_ns_total"), number(record, "probe.map_ns_max"));
    EXPECT_GT(number(record, "probe.unmap_ns_total"), 0);
    // With nothing else going on, free memory is far above the watermark and falls by what is held.
    EXPECT_GT(number(record, "probe.free_low_of_min_pct"), 100);
    EXPECT_LT(free_pages(record, "held"), free_pages(record, "before"));
    EXPECT_LE(number(record, "probe.free_low_bytes"), 4096 * free_pages(record, "before"));
}

class Buffers : public ::testing::TestWithParam<const char*> {};

TEST_P(Buffers, PacketRing) {
    OneTrial one(GetParam());
    one.trial().probe = {plan::LoadId::packet_ring, {2, 1 << 20, 64 << 10, 3}, ""};
    const TrialRecord record = record_of(one);
    expect_all_obtained(record, 6);
    EXPECT_EQ(number(record, "probe.mapped_bytes"), 6 << 20);
    // Memory is plenty and whole: each block of 64 KiB comes in one piece.
    EXPECT_EQ(number(record, "probe.chunks.order4"), 96);
}

TEST_P(Buffers, IoUringRing) {
    OneTrial one(GetParam());
    one.trial().probe = {plan::LoadId::io_uring_ring, {2, 4096, 0, 1}, ""};
    const TrialRecord record = record_of(one);
    expect_all_obtained(record, 2);
    // 256 KiB of submissions; completions and indices are 144 KiB and a head.
    EXPECT_GE(number(record, "probe.mapped_bytes"), 2 * (256 + 144) * 1024);
    EXPECT_LE(number(record, "probe.mapped_bytes"), 2 * (256 + 144 + 8) * 1024);
    EXPECT_GE(number(record, "probe.chunks.order6"), 2);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Buffers, ::testing::Values("debian:7.3", "debian:6.1"),
                         [](const auto& of) {
                             return std::string_view(of.param) == "debian:7.3" ? "7_3" : "6_1";
                         });

TEST(Preconditions, IoUringThatIsForbidden) {
    OneTrial one("debian:7.3");
    one.trial().settings = {{"/proc/sys/kernel/io_uring_disabled", "2", true}};
    one.trial().probe = {plan::LoadId::io_uring_ring, {2, 4096, 0, 1}, ""};
    const TrialRecord record = record_of(one);
    EXPECT_EQ(record.ending, Ending::precondition_missing) << record.evidence;
    EXPECT_HAS(record.evidence, "kernel.io_uring_disabled");
}

TEST(Preconditions, AuxNeedsItsPmu) {
    OneTrial one("debian:7.3");
    one.trial().probe = {plan::LoadId::aux, {0, 1, 1 << 20, 16, 0, 0, 1, 1}, ""};
    const TrialRecord record = record_of(one);
    EXPECT_EQ(record.ending, Ending::precondition_missing) << record.evidence;
    EXPECT_HAS(record.evidence, "no PMU 'aux_prefer_large'");
    EXPECT_HAS(record.evidence, "source:7.3");
    EXPECT_HAS(record.evidence, "software");  // among the PMUs that are there
}

// A PMU that is there and has no AUX area: a refusal, named, and never a quiet zero.
TEST(Refusals, APmuWithoutAnAuxArea) {
    OneTrial one("debian:7.3");
    one.trial().probe = {plan::LoadId::aux, {0, 1, 1 << 20, 16, 0, 0, 1, 1}, "software"};
    const TrialRecord record = record_of(one);
    EXPECT_EQ(record.ending, Ending::probe_refused) << record.evidence;
    EXPECT_HAS(record.evidence, "mmap of an AUX area");
    EXPECT_HAS(record.evidence, "EOPNOTSUPP");
    EXPECT_EQ(number(record, "probe.errno.other"), number(record, "probe.asked"));
    EXPECT_EQ(number(record, "probe.ops"), 0);
}

}  // namespace
}  // namespace mano::guest_test
