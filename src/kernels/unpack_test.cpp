// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "kernels/test_files.h"

namespace mano::kernels {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using testing::HasSubstr;

std::optional<fs::path> place_all(std::string_view member) {
    return fs::path(member);
}

TEST(ExtractDeb, OnlyWhatIsWantedComesOut) {
    const Folder folder;
    const std::string big(3'000'000, 'k');
    const fs::path deb = folder.file(
        "a.deb", test::make_deb({{"./boot/vmlinuz-1", big, ""}, {"./usr/share/doc/x", "no", ""}}));
    const auto count = extract_deb(deb, folder.path(), [](std::string_view member) {
        return member == "boot/vmlinuz-1" ? std::optional<fs::path>("image") : std::nullopt;
    });
    ASSERT_TRUE(count) << count.error().text();
    EXPECT_EQ(*count, 1U);
    EXPECT_EQ(read_file(folder.path() / "image").value(), big);
    EXPECT_FALSE(fs::exists(folder.path() / "usr"));
}

TEST(ExtractDeb, NoMemberLeavesTheFolder) {
    const Folder folder;
    fs::create_directories(folder.path() / "in");
    for (const char* path : {"../outside", "a/../../outside", "./../outside", "a/..", "."}) {
        const fs::path deb = folder.file("a.deb", test::make_deb({{path, "evil", ""}}));
        const auto count = extract_deb(deb, folder.path() / "in", place_all);
        EXPECT_FALSE(count) << path;
        EXPECT_FALSE(fs::exists(folder.path() / "outside")) << path;
    }
    // An absolute path is taken as one below the folder.
    const fs::path deb = folder.file("a.deb", test::make_deb({{"/etc/x", "tame", ""}}));
    EXPECT_EQ(extract_deb(deb, folder.path() / "in", place_all).value(), 1U);
    EXPECT_TRUE(fs::exists(folder.path() / "in/etc/x"));
}

TEST(ExtractDeb, LinksAreNeitherMadeNorFollowed) {
    const Folder folder;
    fs::create_directories(folder.path() / "in");
    fs::create_directories(folder.path() / "target");
    const fs::path deb = folder.file(
        "a.deb",
        test::make_deb({{"./d", "", (folder.path() / "target").string()}, {"./d/file", "x", ""}}));
    const auto count = extract_deb(deb, folder.path() / "in", place_all);
    ASSERT_TRUE(count) << count.error().text();
    EXPECT_FALSE(fs::is_symlink(folder.path() / "in/d"));
    EXPECT_FALSE(fs::exists(folder.path() / "target/file"));
}

TEST(ExtractDeb, ATruncatedPackageIsAClearError) {
    const Folder folder;
    std::string bytes = test::make_deb({{"./boot/vmlinuz-1", std::string(200'000, 'k'), ""}});
    for (const std::size_t keep : {std::size_t{0}, std::size_t{5}, std::size_t{60},
                                   std::size_t{150}, bytes.size() / 2, bytes.size() - 10}) {
        fs::remove_all(folder.path() / "in");
        fs::create_directories(folder.path() / "in");
        const fs::path deb = folder.file("cut.deb", bytes.substr(0, keep));
        const auto count = extract_deb(deb, folder.path() / "in", place_all);
        ASSERT_FALSE(count) << keep << " of " << bytes.size();
        EXPECT_EQ(count.error().code, Code::invalid);
        EXPECT_THAT(count.error().text(), HasSubstr("cut.deb"));
    }
}

TEST(ExtractDeb, RubbishIsAClearError) {
    const Folder folder;
    for (const std::string& bytes :
         {std::string("hello"), std::string(10'000, '\x80'), test::compress("x", "xz")}) {
        const auto count = extract_deb(folder.file("a.deb", bytes), folder.path(), place_all);
        ASSERT_FALSE(count);
        EXPECT_THAT(count.error().text(), HasSubstr("not a Debian package"));
    }
    EXPECT_EQ(extract_deb(folder.path() / "none.deb", folder.path(), place_all).error().code,
              Code::environment);
}

TEST(ExtractDeb, BombsAreBounded) {
    const Folder folder;
    fs::create_directories(folder.path() / "in");
    const fs::path deb =
        folder.file("a.deb", test::make_deb({{"./zeros", std::string(5'000'000, '\0'), ""}}));
    DebLimits limits;
    limits.bytes = 1'000'000;
    const auto count = extract_deb(deb, folder.path() / "in", place_all, {}, limits);
    ASSERT_FALSE(count);
    EXPECT_THAT(count.error().text(), HasSubstr("believable"));
    EXPECT_LE(fs::file_size(folder.path() / "in/zeros"), 1'000'000U);
}

TEST(ExtractDeb, StopsWhenAsked) {
    const Folder folder;
    const fs::path deb =
        folder.file("a.deb", test::make_deb({{"./zeros", std::string(5'000'000, '\0'), ""}}));
    const auto count = extract_deb(deb, folder.path(), place_all, [] { return true; });
    ASSERT_FALSE(count);
    EXPECT_EQ(count.error().code, Code::interrupted);
}

}  // namespace
}  // namespace mano::kernels
