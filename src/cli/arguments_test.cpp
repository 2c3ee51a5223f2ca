// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process.h"
#include "base/rng.h"

namespace mano::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

plan::Arm arm_of(std::string_view text) {
    const auto arm = parse_kernel_option(text);
    EXPECT_TRUE(arm) << text;
    return arm.value_or(plan::Arm{});
}

TEST(KernelOption, TheNameIsGivenOrComesFromTheSpec) {
    EXPECT_EQ(arm_of("old=debian:7.1").name, "old");
    EXPECT_EQ(arm_of("old=debian:7.1").kernel_spec, "debian:7.1");
    EXPECT_EQ(arm_of("debian:7.3.4-rt").name, "7.3.4-rt");
    EXPECT_EQ(arm_of("mykernel").name, "mykernel");
    EXPECT_EQ(arm_of("../linux/arch/x86/boot/bzImage").name, "bzImage");
    EXPECT_EQ(arm_of("/k/my image").name, "my_image");
}

TEST(KernelOption, AnEqualsSignInASpecIsNoName) {
    const plan::Arm arm = arm_of("/boot/bzImage,modules=/lib/m,config=/boot/c");
    EXPECT_EQ(arm.name, "bzImage");
    EXPECT_EQ(arm.kernel_spec, "/boot/bzImage,modules=/lib/m,config=/boot/c");
    // A name in front takes nothing away from the rest.
    EXPECT_EQ(arm_of("a=/boot/bzImage,modules=/m").kernel_spec, "/boot/bzImage,modules=/m");
    EXPECT_EQ(arm_of("bzImage,config=x").kernel_spec, "bzImage,config=x");
}

TEST(KernelOption, NothingIsNoKernel) {
    for (const std::string_view text : {"", "old="}) {
        const auto arm = parse_kernel_option(text);
        ASSERT_FALSE(arm);
        EXPECT_EQ(arm.error().code, Code::invalid);
        EXPECT_THAT(arm.error().message, HasSubstr("expected [NAME=]SPEC"));
    }
}

TEST(ArmOption, SettingsOfItsOwn) {
    const auto arm = parse_arm_option(
        "calm=kernel=debian:7.3 cmdline=nosmt  cmdline=slub_debug=F sysctl.vm.swappiness=10 "
        "thp=madvise",
        std::nullopt);
    ASSERT_TRUE(arm) << arm.error().text();
    EXPECT_EQ(arm->name, "calm");
    EXPECT_EQ(arm->kernel_spec, "debian:7.3");
    EXPECT_THAT(arm->cmdline, ElementsAre("nosmt", "slub_debug=F"));
    EXPECT_THAT(
        arm->settings,
        ElementsAre(plan::Setting{"/proc/sys/vm/swappiness", "10", true},
                    plan::Setting{"/sys/kernel/mm/transparent_hugepage/enabled", "madvise", true}));
}

TEST(ArmOption, ACommandLineIsPlainText) {
    for (const char* word : {"a\033[31mred", "a\tb", "caf\xc3\xa9", "a\nb"}) {
        const auto arm = parse_arm_option(std::string("a=kernel=debian:7.3 cmdline=") + word, {});
        ASSERT_FALSE(arm) << word;
        EXPECT_EQ(arm.error().code, Code::invalid);
    }
}

TEST(ArmOption, TheKernelIsTheBasesUnlessItSaysOtherwise) {
    plan::Arm base;
    base.kernel_spec = "debian:7.1";
    const auto arm = parse_arm_option("calm=sysctl.vm.swappiness=10", base);
    ASSERT_TRUE(arm);
    EXPECT_EQ(arm->kernel_spec, "debian:7.1");
    const auto orphan = parse_arm_option("calm=sysctl.vm.swappiness=10", std::nullopt);
    ASSERT_FALSE(orphan);
    EXPECT_THAT(orphan.error().text(), HasSubstr("kernel=SPEC"));
}

TEST(ArmOption, ParametersOfTheProbe) {
    const auto arm = parse_arm_option("small='", plan::Arm{"base", "debian:7.3", {}, {}});
    EXPECT_FALSE(arm);
    const auto small =
        parse_arm_option("small=probe.block=64KiB", plan::Arm{"base", "debian:7.3", {}, {}});
    ASSERT_TRUE(small) << small.error().text();
    EXPECT_EQ(small->kernel_spec, "debian:7.3");
    ASSERT_EQ(small->params.size(), 1u);
    EXPECT_EQ(small->params[0].name, "probe.block");
    EXPECT_EQ(small->params[0].text, "64KiB");
}

TEST(ArmOption, WhatItDoesNotKnowIsRefused) {
    for (const std::string_view text :
         {"", "calm", "=kernel=x", "calm=kernel", "calm=kernel=", "calm=sysctl.net.core.x=1",
          "calm=sysctl.vm.../x=1", "calm=thp=maybe", "calm=kernal=x", "a/b=kernel=x"}) {
        const auto arm = parse_arm_option(text, plan::Arm{"base", "debian:7.1", {}, {}});
        ASSERT_FALSE(arm) << text;
        EXPECT_EQ(arm.error().code, Code::invalid) << text;
        EXPECT_THAT(arm.error().text(), HasSubstr("--arm")) << text;
    }
}

TEST(Count, OnlyWholeNumbersInRange) {
    EXPECT_EQ(parse_count("--trials", "12", 1, 100).value_or(0), 12U);
    EXPECT_EQ(parse_count("--seed", "18446744073709551615", 0, ~0ULL).value_or(0), ~0ULL);
    for (const std::string_view text :
         {"", "x", "1x", "-1", "+1", "1.5", " 1", "0", "101", "99999999999999999999"}) {
        EXPECT_FALSE(parse_count("--trials", text, 1, 100)) << text;
    }
}

TEST(Settings, EachOnce) {
    const auto settings = parse_settings({"a.b=1", "c=x=y", "d="});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->at("c"), "x=y");
    EXPECT_EQ(settings->at("d"), "");
    EXPECT_FALSE(parse_settings({"a"}));
    EXPECT_FALSE(parse_settings({"=1"}));
    EXPECT_FALSE(parse_settings({"a=1", "a=2"}));
}

TEST(List, NoEmptyParts) {
    EXPECT_THAT(parse_list("--cases", "90%,95%").value_or(std::vector<std::string>{}),
                ElementsAre("90%", "95%"));
    for (const std::string_view text : {"", ",", "a,", ",a", "a,,b"})
        EXPECT_FALSE(parse_list("--cases", text)) << text;
}

// A shell reads a line as the words that it was made of: whatever is in them.
TEST(ShellLine, AShellReadsTheSameWords) {
    const std::uint64_t seed = 20261130;
    SCOPED_TRACE(seed);
    Rng rng(seed);
    for (int round = 0; round < 20; ++round) {
        std::vector<std::string> words;
        for (std::uint64_t count = 1 + rng.below(4); count > 0; --count) {
            std::string word;
            for (std::uint64_t length = rng.below(12); length > 0; --length)
                word += static_cast<char>(1 + rng.below(126));
            words.push_back(word);
        }
        const std::string script = "printf '%s\\0' " + shell_line(words);
        const auto output = run_program({"/bin/sh", "-c", script});
        ASSERT_TRUE(output);
        std::string expected;
        for (const std::string& word : words)
            expected += word + '\0';
        EXPECT_EQ(output->out, expected) << script;
    }
    EXPECT_EQ(shell_line({"-k", "a=debian:7.3+deb13-cloud", "95%"}),
              "-k a=debian:7.3+deb13-cloud 95%");
}

TEST(ProbeCommand, OneWordIsALineAlready) {
    EXPECT_EQ(probe_command({"dd if=/dev/zero of=/tmp/x; sync"}),
              "dd if=/dev/zero of=/tmp/x; sync");
    EXPECT_EQ(probe_command({"mytest", "--size", "64M"}), "mytest --size 64M");
    EXPECT_EQ(probe_command({"echo", "a b"}), "echo 'a b'");
    EXPECT_EQ(probe_command({}), "");
}

}  // namespace
}  // namespace mano::cli
