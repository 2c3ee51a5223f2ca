// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/meminfo.h"

#include <gtest/gtest.h>
#include <sys/sysinfo.h>

namespace mano {
namespace {

TEST(Meminfo, IsWhatTheSystemCallSays) {
    struct sysinfo info = {};
    ASSERT_EQ(::sysinfo(&info), 0);
    const auto total = meminfo_bytes("MemTotal");
    ASSERT_TRUE(total);
    EXPECT_EQ(*total, std::uint64_t{info.totalram} * info.mem_unit);
    const auto available = meminfo_bytes("MemAvailable");
    ASSERT_TRUE(available);
    EXPECT_GT(*available, 0U);
    EXPECT_LE(*available, *total);
}

TEST(Meminfo, AbsentIsNotZero) {
    EXPECT_FALSE(meminfo_bytes("MemTota"));
    EXPECT_FALSE(meminfo_bytes("NoSuchKey"));
    EXPECT_FALSE(meminfo_bytes(""));
}

}  // namespace
}  // namespace mano
