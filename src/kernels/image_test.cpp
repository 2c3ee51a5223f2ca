// SPDX-License-Identifier: GPL-2.0-or-later
// What is read out of bytes: images, ELF notes, .modinfo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"
#include "kernels/bzimage.h"
#include "kernels/elf.h"
#include "kernels/test_files.h"
#include "kernels/unpack.h"

namespace mano::kernels {
namespace {

using test::banner_text;
using test::make_bzimage;
using test::make_module;
using test::make_vmlinux;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(std::string_view bytes) {
    const auto parsed = parse_bzimage(bytes);
    return parsed ? "accepted" : parsed.error().text();
}

class Compressions : public testing::TestWithParam<const char*> {};

TEST_P(Compressions, TheKernelComesOutAsItWentIn) {
    const std::string elf = make_vmlinux(banner_text("9.9.1-test") + std::string(100'000, 'x'));
    const std::string image = make_bzimage(elf, GetParam());
    const auto parsed = parse_bzimage(image);
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(parsed->release, "9.9.1-test");
    const auto out = extract_elf(image, *parsed);
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(*out, elf);
    EXPECT_TRUE(has_pvh_note(*out));
}

INSTANTIATE_TEST_SUITE_P(All, Compressions,
                         testing::Values("gzip", "xz", "lzma", "bzip2", "zstd", "lz4-legacy", ""),
                         [](const auto& one) {
                             std::string name = *one.param ? one.param : "none";
                             std::erase(name, '-');
                             return name;
                         });

TEST(BzImage, BannerReleaseAndCompiler) {
    const std::string elf = make_vmlinux(banner_text("7.3.4+deb13-cloud-amd64"));
    const auto banner = find_banner(elf);
    ASSERT_TRUE(banner);
    EXPECT_EQ(release_of(*banner), "7.3.4+deb13-cloud-amd64");
    EXPECT_EQ(compiler_of(*banner), "gcc-12 (Test 12.2) 12.2, GNU ld 2.40");
    EXPECT_FALSE(find_banner("Linux version %s"));
    EXPECT_EQ(compiler_of("Linux version 1.0 (me@here)"), "");
    EXPECT_EQ(compiler_of("((((("), "");
    EXPECT_EQ(release_of("Windows"), "");
}

TEST(BzImage, AnEmbeddedConfigurationIsFound) {
    const std::string config = "CONFIG_ZRAM=y\nCONFIG_HZ=250\n";
    const std::string elf =
        make_vmlinux("IKCFG_ST" + test::compress(config, "gzip") + "IKCFG_ED" + banner_text("1.2"));
    EXPECT_EQ(find_config(elf), config);
    EXPECT_FALSE(find_config(make_vmlinux(banner_text("1.2"))));
    EXPECT_FALSE(find_config("IKCFG_ST\x1f\x8bIKCFG_ED"));
}

TEST(BzImage, AKernelWithoutPvhSaysSo) {
    EXPECT_FALSE(has_pvh_note(make_vmlinux("x", false)));
    EXPECT_TRUE(has_pvh_note(make_vmlinux("x", true)));
    EXPECT_FALSE(has_pvh_note(""));
    EXPECT_FALSE(
        has_pvh_note("\x7f"
                     "ELF"));
}

TEST(BzImage, SaysWhatAFileIsInstead) {
    const auto machine = [](std::uint16_t number) {
        std::string elf = make_vmlinux("x");
        std::memcpy(elf.data() + 18, &number, sizeof number);
        return elf;
    };
    std::string arm(4096, '\0');
    std::memcpy(arm.data() + 0x38, "ARM\x64", 4);
    Rng rng(7);
    std::string rubbish;
    for (int i = 0; i < 4096; ++i)
        rubbish.push_back(static_cast<char>(rng.below(256)));
    EXPECT_THAT(refusal(""), HasSubstr("is empty"));
    EXPECT_THAT(refusal("#!/bin/sh\necho hello\n"), HasSubstr("text file"));
    EXPECT_THAT(refusal(std::string(2000, 'a')), HasSubstr("text file"));
    EXPECT_THAT(refusal(rubbish), HasSubstr("no kernel that is known"));
    EXPECT_THAT(refusal(machine(183)), HasSubstr("arm64"));
    EXPECT_THAT(refusal(machine(243)), HasSubstr("RISC-V"));
    EXPECT_THAT(refusal(machine(62)), HasSubstr("arch/x86/boot/bzImage"));
    EXPECT_THAT(refusal(arm), HasSubstr("arm64"));
    EXPECT_THAT(refusal(test::make_deb({})), HasSubstr("Debian package"));
    EXPECT_THAT(refusal(test::compress("x", "gzip")), HasSubstr("compressed file"));
    std::string i386 = test::make_kernel("1.2.3");
    i386[0x236] = 0x7e;
    EXPECT_THAT(refusal(i386), HasSubstr("i386"));
}

TEST(BzImage, EveryTruncationIsNoticed) {
    const std::string image = test::make_kernel("9.9.1-test");
    ASSERT_EQ(refusal(image), "accepted");
    for (std::size_t size = 0; size < image.size(); ++size) {
        const std::string said = refusal(std::string_view(image).substr(0, size));
        ASSERT_NE(said, "accepted") << size << " of " << image.size() << " bytes";
        if (size >= 0x206) {
            ASSERT_THAT(said, HasSubstr("truncated")) << size;
        }
    }
}

TEST(BzImage, ADamagedPayloadIsAnErrorAndNotGarbage) {
    const std::string elf = make_vmlinux(banner_text("9.9.1-test") + std::string(5000, 'q'));
    for (const char* method : {"gzip", "xz", "zstd"}) {
        std::string image = make_bzimage(elf, method);
        const auto parsed = parse_bzimage(image);
        ASSERT_TRUE(parsed);
        std::memset(image.data() + parsed->payload_offset + 20, 0x55, 12);
        EXPECT_FALSE(extract_elf(image, *parsed)) << method;
    }
}

TEST(BzImage, AClaimOfAGiganticKernelIsRefused) {
    std::string image = make_bzimage(make_vmlinux("x"), "zstd");
    const auto parsed = parse_bzimage(image);
    ASSERT_TRUE(parsed);
    std::memset(image.data() + parsed->payload_offset + parsed->payload_size - 4, 0xff, 4);
    const auto out = extract_elf(image, *parsed);
    ASSERT_FALSE(out);
    EXPECT_THAT(out.error().text(), HasSubstr("4294967295"));
}

TEST(BzImage, ABombStopsAtItsOwnClaim) {
    const std::string elf = make_vmlinux(std::string(1'000'000, 'z'));
    std::string image = make_bzimage(elf, "xz");
    const auto parsed = parse_bzimage(image);
    ASSERT_TRUE(parsed);
    const std::uint32_t claim = 1000;
    std::memcpy(image.data() + parsed->payload_offset + parsed->payload_size - 4, &claim, 4);
    const auto out = extract_elf(image, *parsed);
    ASSERT_FALSE(out);
    EXPECT_THAT(out.error().text(), HasSubstr("more than 1000 bytes"));
}

TEST(Decompress, PlainBytesArentTakenForCompressedOnes) {
    EXPECT_FALSE(decompress("hello", 100, "x"));
    EXPECT_FALSE(decompress("", 100, "x"));
    EXPECT_EQ(decompress(test::compress("hello", "zstd"), 100, "x").value(), "hello");
}

TEST(ModInfo, NameAndDependencies) {
    const auto info = read_modinfo(make_module("lz4hc-compress", "a-b,c,,d"));
    ASSERT_TRUE(info) << info.error().text();
    EXPECT_EQ(info->name, "lz4hc_compress");
    EXPECT_THAT(info->depends, ElementsAre("a_b", "c", "d"));
    EXPECT_TRUE(read_modinfo(make_module("x", ""))->depends.empty());
    EXPECT_FALSE(read_modinfo("not a module"));
    EXPECT_FALSE(read_modinfo(make_vmlinux("x")));
}

// Any change of any byte gives an answer or an error, never a read beyond the end (under ASan).
TEST(ModInfo, SurvivesEveryFlippedByteAndTruncation) {
    const std::string good = make_module("zram", "zsmalloc,lz4_compress");
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const char value : {'\0', '\xff', '\x80', '\x7f'}) {
            std::string bad = good;
            bad[at] = value;
            (void)read_modinfo(bad);
            (void)has_pvh_note(bad);
        }
        EXPECT_FALSE(read_modinfo(std::string_view(good).substr(0, at)));
    }
}

TEST(BzImage, SurvivesFlippedBytesInTheHeader) {
    const std::string good = test::make_kernel("9.9.1-test");
    for (std::size_t at = 0; at < 0x320; ++at) {
        for (const char value : {'\0', '\xff', '\x80', '\x7f'}) {
            std::string bad = good;
            bad[at] = value;
            const auto parsed = parse_bzimage(bad);
            if (parsed) (void)extract_elf(bad, *parsed, 1 << 20);
        }
    }
}

}  // namespace
}  // namespace mano::kernels
