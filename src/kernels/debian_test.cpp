// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/debian.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/process.h"
#include "base/rng.h"

namespace mano::kernels {
namespace {

int sign(int value) {
    return value < 0 ? -1 : value > 0 ? 1 : 0;
}

TEST(CompareVersions, FollowsDebiansOrder) {
    // Each is older than the next.
    const std::vector<std::string> row = {"6.1.170-3",  "6.1.176-1",       "6.12.95-1~bpo12+1",
                                          "6.12.95-1",  "6.12.117-1",      "7.3~rc7-1~exp1",
                                          "7.3-1~exp1", "7.3-1",           "7.3.4-1~bpo13+1",
                                          "7.3.4-1",    "7.3.4-1+deb13u1", "7.3.10-1",
                                          "1:0.1"};
    for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t j = 0; j < row.size(); ++j) {
            EXPECT_EQ(sign(compare_versions(row[i], row[j])), i < j   ? -1
                                                              : i > j ? 1
                                                                      : 0)
                << row[i] << " and " << row[j];
        }
    }
    EXPECT_EQ(compare_versions("1.0", "1.00"), 0);
    EXPECT_EQ(compare_versions("0:1.0-0", "1.0"), 0);
    EXPECT_EQ(compare_versions("", ""), 0);
}

// dpkg is the authority; it is on every machine of Debian's family.
TEST(CompareVersions, AgreesWithDpkg) {
    if (!find_program("dpkg")) GTEST_SKIP() << "no dpkg here";
    constexpr std::uint64_t kSeed = 20260101;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    Rng rng(kSeed);
    const std::string letters = "0123459ab.+~";
    const auto make = [&] {
        std::string out = std::to_string(rng.below(3));
        for (std::uint64_t i = rng.below(6); i > 0; --i)
            out += letters[rng.below(letters.size())];
        if (rng.below(2) == 0)
            out += "-" + std::to_string(rng.below(3)) + (rng.below(2) ? "~a" : "");
        return out;
    };
    for (int i = 0; i < 150; ++i) {
        const std::string a = make();
        const std::string b = make();
        const int ours = sign(compare_versions(a, b));
        const auto said = run_program({"dpkg", "--compare-versions", a,
                                       ours < 0   ? "lt"
                                       : ours > 0 ? "gt"
                                                  : "eq",
                                       b});
        ASSERT_TRUE(said) << said.error().text();
        EXPECT_EQ(said->exit.code, 0) << a << " and " << b << ": ours " << ours;
    }
}

TEST(DebianSpec, TakesVersionAndFlavourApart) {
    const auto check = [](std::string_view spec, std::string_view version, std::string_view flavour,
                          bool exact) {
        const auto parsed = parse_debian_spec(spec);
        ASSERT_TRUE(parsed) << spec << ": " << parsed.error().text();
        EXPECT_EQ(parsed->version, version) << spec;
        EXPECT_EQ(parsed->flavour, flavour) << spec;
        EXPECT_EQ(parsed->exact(), exact) << spec;
    };
    check("debian:7.1", "7.1", "cloud", false);
    check("debian:7.3.4", "7.3.4", "cloud", true);
    check("debian:7.3-rt", "7.3", "rt", false);
    check("debian:7.3.4-generic", "7.3.4", "generic", true);
    check("debian:6.1.0-50-cloud", "6.1.0-50", "cloud", true);
    check("debian:6.1.0-50", "6.1.0-50", "cloud", true);
    check("debian:7.3.4+deb13-rt-amd64", "7.3.4+deb13", "rt", true);
    check("debian:7.3-rc7", "7.3~rc7", "cloud", true);
    check("debian:7.3~rc7-rt", "7.3~rc7", "rt", true);
}

TEST(DebianSpec, RefusesWhatIsNone) {
    for (const std::string_view spec :
         {"debian:", "debian:7", "debian:seven", "debian:7.", "debian:7.1-fast", "debian:7.1/../x",
          "debian:7.1 -o Evil=1", "debian:-rt", "debian:7.1,modules=x"}) {
        const auto parsed = parse_debian_spec(spec);
        ASSERT_FALSE(parsed) << spec;
        EXPECT_EQ(parsed.error().code, Code::invalid);
        EXPECT_NE(parsed.error().message.find(spec), std::string::npos);
    }
    const auto wrong = parse_debian_spec("debian:7.3-fast");
    EXPECT_NE(wrong.error().message.find("cloud, rt and generic"), std::string::npos);
}

TEST(Packages, LeavesOutWhatCantBeFetchedSafely) {
    const std::string digest(64, 'a');
    const std::string text =
        "Package: good\nVersion: 1\nSize: 7\nSHA256: " + digest +
        "\n\nPackage: no-digest\nVersion: 1\n\nPackage: -o\nVersion: 1\nSHA256: " + digest +
        "\n\nPackage: a/b\nVersion: 1\nSHA256: " + digest +
        "\n\nPackage: short\nVersion: 1\nSHA256: abc\nDescription: x\n"
        " Package: folded\n";
    const auto packages = parse_packages(text);
    ASSERT_EQ(packages.size(), 1U);
    EXPECT_EQ(packages[0].name, "good");
    EXPECT_EQ(packages[0].size, 7U);
    const auto again = parse_packages(show_packages(packages));
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].sha256, digest);
}

// A list recorded from the archive.
class Recorded : public testing::Test {
  protected:
    void SetUp() override {
        const auto text =
            read_file(std::filesystem::path(MANO_SOURCE_DIR) / "tests/fixtures/apt/packages.txt");
        ASSERT_TRUE(text) << text.error().text();
        kernels_ = debian_kernels(parse_packages(*text));
    }

    const DebianKernel* find(std::string_view spec) {
        const auto parsed = parse_debian_spec(spec);
        EXPECT_TRUE(parsed);
        return choose(kernels_, *parsed);
    }

    std::vector<DebianKernel> kernels_;
};

TEST_F(Recorded, HoldsNoUnsignedNoDebugAndNoMetaPackages) {
    EXPECT_FALSE(kernels_.empty());
    for (const DebianKernel& one : kernels_) {
        EXPECT_EQ(one.image.name.find("unsigned"), std::string::npos) << one.image.name;
        EXPECT_EQ(one.image.name.find("dbg"), std::string::npos) << one.image.name;
        EXPECT_GT(one.image.size, 1'000'000U) << one.image.name;
    }
}

TEST_F(Recorded, PicksTheNewestOfASeries) {
    const DebianKernel* found = find("debian:6.1");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->image.name, "linux-image-6.1.0-50-cloud-amd64");
    EXPECT_TRUE(found->whole);
    found = find("debian:6.12");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->upstream, "6.12.117");
}

TEST_F(Recorded, KnowsAllThreeLayouts) {
    const DebianKernel* found = find("debian:7.1");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->image.name, "linux-binary-7.1.13+deb13-cloud-amd64");
    EXPECT_FALSE(found->modules);  // the archive had none at that time
    EXPECT_FALSE(found->base);
    found = find("debian:7.3");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->image.name, "linux-binary-7.3.4+deb13-cloud-amd64");
    ASSERT_TRUE(found->modules);
    EXPECT_EQ(found->modules->name, "linux-modules-7.3.4+deb13-cloud-amd64");
    EXPECT_EQ(found->modules->version, found->image.version);
    ASSERT_TRUE(found->base);
    EXPECT_EQ(found->base->name, "linux-base-7.3.4+deb13-cloud-amd64");
}

TEST_F(Recorded, AReleaseCandidateNeverBeatsARelease) {
    EXPECT_EQ(find("debian:7.3")->upstream, "7.3.4");
    const DebianKernel* candidate = find("debian:7.3-rc7");
    ASSERT_NE(candidate, nullptr);
    EXPECT_TRUE(candidate->candidate);
    // Even where its version would sort later.
    EXPECT_TRUE(newer("7.2.13-1", "7.3~rc7-1~exp1"));
    EXPECT_FALSE(newer("7.3~rc7-1~exp1", "7.2.13-1"));
    EXPECT_TRUE(newer("7.3-1", "7.3~rc7-1~exp1"));
}

TEST_F(Recorded, KeepsFlavoursApart) {
    EXPECT_EQ(find("debian:7.3-rt")->release, "7.3.4+deb13-rt-amd64");
    EXPECT_EQ(find("debian:7.3-generic")->release, "7.3.4+deb13-amd64");
    EXPECT_EQ(find("debian:6.1-rt")->release, "6.1.0-50-rt-amd64");
    EXPECT_EQ(find("debian:7.1-rt"), nullptr);
}

TEST_F(Recorded, MatchesWholeNumbersOnly) {
    EXPECT_EQ(find("debian:7.1.1"), nullptr);  // there is a 7.1.13
    EXPECT_EQ(find("debian:6.11"), nullptr);   // there is a 6.117 in 6.12.117
    EXPECT_EQ(find("debian:7.9"), nullptr);
    EXPECT_EQ(find("debian:7.1.8")->upstream, "7.1.8");
    EXPECT_EQ(find("debian:6.1.0-47")->release, "6.1.0-47-cloud-amd64");
    EXPECT_EQ(find("debian:7.3.4+deb13-cloud")->release, "7.3.4+deb13-cloud-amd64");
    EXPECT_EQ(series_of(kernels_, "cloud"), "6.1 6.12 7.0 7.1 7.2 7.3");
}

TEST_F(Recorded, PrefersTheBuildThatIsAllThere) {
    const Package binary{"linux-binary-7.2.13+deb13-cloud-amd64", "7.2.13-2", 13'000'000,
                         std::string(64, 'b')};
    std::vector<DebianKernel> more = kernels_;
    for (const DebianKernel& one : debian_kernels({binary}))
        more.push_back(one);
    const DebianKernel* found = choose(more, *parse_debian_spec("debian:7.2.13"));
    ASSERT_NE(found, nullptr);
    EXPECT_TRUE(found->modules) << "a later revision without modules was preferred";
}

}  // namespace
}  // namespace mano::kernels
