// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/layout.h"

#include <gtest/gtest.h>

#include "report/internal.h"

namespace mano::report {
namespace {

TEST(Layout, Numbers) {
    EXPECT_EQ(show_number(0), "0");
    EXPECT_EQ(show_number(-0.0), "0");
    EXPECT_EQ(show_number(103133), "103133");
    EXPECT_EQ(show_number(5.9034), "5.903");
    EXPECT_EQ(show_number(64099.6), "64100");
    EXPECT_EQ(show_number(123456789), "1.235e+08");
    EXPECT_EQ(show_signed(-3), "-3");
    EXPECT_EQ(show_signed(3), "+3");
    EXPECT_EQ(show_signed(-0.0), "0");
    EXPECT_EQ(show_percent(79.21), "+79.2%");
    EXPECT_EQ(show_percent(-0.041), "-0.04%");
    EXPECT_EQ(show_percent(-0.0001), "0%");
    EXPECT_EQ(show_percent(1234.5), "+1234%");
    EXPECT_EQ(show_p(2.0 / 924), "0.0022");
    EXPECT_EQ(show_p(1e-7), "<.0001");
    EXPECT_EQ(show_p(1), "1");
    EXPECT_EQ(show_p(0.4567), "0.46");
}

TEST(Layout, Ascii) {
    EXPECT_EQ(ascii("a\x1b[31mb\nc\xc3\xa4"), "a?[31mb c?");
    EXPECT_EQ(excerpt("first line\nsecond", 80), "first line");
    EXPECT_EQ(excerpt("abcdefgh", 6), "abc...");
}

TEST(Layout, Wrap) {
    const std::string text = wrap(std::string(60, 'a') + " " + std::string(30, 'b') + " c", 2, 6);
    EXPECT_EQ(text, "  " + std::string(60, 'a') + "\n      " + std::string(30, 'b') + " c\n");
    EXPECT_EQ(wrap("", 2, 2), "");
    EXPECT_EQ(wrap(std::string(100, 'x'), 0, 0), std::string(100, 'x') + "\n");
}

TEST(Layout, CommandsStayCommands) {
    const std::string text =
        wrap_command("reproduce: ", "manometer run x --set 'a b c d e f g h' " +
                                        std::string(40, 'y') + " \"q r\" s\\ t");
    EXPECT_EQ(text, "reproduce: manometer run x --set 'a b c d e f g h' \\\n    " +
                        std::string(40, 'y') + " \"q r\" s\\ t\n");
}

TEST(Globs, Match) {
    EXPECT_TRUE(matches("vmstat.*", "vmstat.pgfault"));
    EXPECT_TRUE(matches("*some*us", "psi.probe.memory.some.total_us"));
    EXPECT_TRUE(matches("a?c", "abc"));
    EXPECT_TRUE(matches("*", ""));
    EXPECT_FALSE(matches("vmstat.*", "psi"));
    EXPECT_FALSE(matches("a*b", "acbc"));
    EXPECT_FALSE(matches("", "a"));
}

}  // namespace
}  // namespace mano::report
