// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mano::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<DebianKernel> archive() {
    std::vector<DebianKernel> kernels;
    const auto add = [&](const std::string& upstream, const std::string& flavour) {
        DebianKernel one;
        one.upstream = upstream;
        one.flavour = flavour;
        one.release = upstream + "-" + flavour + "-amd64";
        one.candidate = upstream.find("~rc") != std::string::npos;
        kernels.push_back(one);
    };
    for (const char* upstream : {"7.3.4", "6.1.170", "6.12.43", "6.12.118", "7.0.4", "7.1.3",
                                 "7.1.13", "7.2.13", "7.4~rc2", "5.10.200"})
        add(upstream, "cloud");
    add("7.3.4", "rt");
    return kernels;
}

TEST(Range, OneKernelASeriesOldestFirst) {
    const auto all = range_of("debian:6.1..7.3", archive());
    ASSERT_TRUE(all) << all.error().text();
    EXPECT_THAT(*all, ElementsAre("debian:6.1", "debian:6.12", "debian:7.0", "debian:7.1",
                                  "debian:7.2", "debian:7.3"));
    // An end that isn't in the archive still bounds.
    EXPECT_THAT(*range_of("debian:6.2..7.0", archive()), ElementsAre("debian:6.12", "debian:7.0"));
    EXPECT_THAT(*range_of("debian:7.2..7.4", archive()),
                ElementsAre("debian:7.2", "debian:7.3", "debian:7.4"));
    EXPECT_THAT(*range_of("debian:7.0..7.3-rt", archive()), ElementsAre("debian:7.3-rt"));
}

TEST(Range, VersionsWhereAnEndHasThreeNumbers) {
    EXPECT_THAT(*range_of("debian:7.1.3..7.1.13", archive()),
                ElementsAre("debian:7.1.3", "debian:7.1.13"));
    EXPECT_THAT(*range_of("debian:6.12.100..7.1", archive()),
                ElementsAre("debian:6.12.118", "debian:7.0.4", "debian:7.1.3", "debian:7.1.13"));
}

TEST(Range, WhatIsNoRangeIsSaid) {
    EXPECT_TRUE(is_range("debian:6.1..7.3"));
    EXPECT_FALSE(is_range("debian:7.3"));
    EXPECT_FALSE(is_range("../boot/bzImage"));
    for (const char* spec :
         {"debian:7.3..6.1", "debian:..7.3", "debian:6.1..", "debian:a..b", "debian:7.1"}) {
        const auto got = range_of(spec, archive());
        ASSERT_FALSE(got) << spec;
        EXPECT_EQ(got.error().code, Code::invalid) << spec;
    }
    const auto none = range_of("debian:8.1..8.3", archive());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::not_found);
    EXPECT_THAT(none.error().text(), HasSubstr("6.12 7.0 7.1"));
}

}  // namespace
}  // namespace mano::kernels
