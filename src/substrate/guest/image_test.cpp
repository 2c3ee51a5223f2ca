// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/image.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <memory>

#include "base/file.h"
#include "base/rng.h"
#include "substrate/guest/guest.h"

namespace mano::substrate::guest {
namespace {

using ::testing::HasSubstr;

struct Seen {
    std::string bytes;
    std::string link;
    unsigned type = 0;
    unsigned mode = 0;
    std::int64_t time = -1;
    std::int64_t owner = -1;
};

// What another reader of cpio archives finds, in order.
std::vector<std::pair<std::string, Seen>> unpack(std::string_view image) {
    std::vector<std::pair<std::string, Seen>> found;
    const std::unique_ptr<archive, decltype(&archive_read_free)> in{archive_read_new(),
                                                                    &archive_read_free};
    archive_read_support_format_cpio(in.get());
    EXPECT_EQ(archive_read_open_memory(in.get(), image.data(), image.size()), ARCHIVE_OK);
    archive_entry* entry = nullptr;
    while (archive_read_next_header(in.get(), &entry) == ARCHIVE_OK) {
        Seen seen;
        seen.type = archive_entry_filetype(entry);
        seen.mode = archive_entry_perm(entry);
        seen.time = archive_entry_mtime(entry);
        seen.owner = archive_entry_uid(entry);
        if (const char* link = archive_entry_symlink(entry)) seen.link = link;
        seen.bytes.resize(static_cast<std::size_t>(archive_entry_size(entry)));
        if (seen.type == AE_IFLNK) seen.bytes.clear();  // its size is the link's length
        if (!seen.bytes.empty()) {
            EXPECT_EQ(archive_read_data(in.get(), seen.bytes.data(), seen.bytes.size()),
                      static_cast<la_ssize_t>(seen.bytes.size()));
        }
        found.emplace_back(archive_entry_pathname(entry), std::move(seen));
    }
    return found;
}

std::vector<ImageFile> some_files() {
    return {{"plan", "the plan", 0644, {}},
            {"init", std::string(100'001, 'i'), 0755, {}},
            {"modules/deep/zram.ko", std::string("\0\1\2", 3), 0644, {}},
            {"bin/busybox", "b", 0755, {}},
            {"bin/sh", "", 0777, "busybox"},
            {"empty", "", 0600, {}}};
}

TEST(Image, AnotherReaderFindsWhatWasPutIn) {
    const auto image = make_image(some_files());
    ASSERT_TRUE(image) << image.error().text();
    const auto found = unpack(*image);
    std::map<std::string, Seen> by_path(found.begin(), found.end());
    ASSERT_EQ(by_path.size(), found.size()) << "a path twice";
    for (const ImageFile& file : some_files()) {
        ASSERT_TRUE(by_path.contains(file.path)) << file.path;
        const Seen& seen = by_path[file.path];
        EXPECT_EQ(seen.bytes, file.bytes);
        EXPECT_EQ(seen.link, file.link);
        EXPECT_EQ(seen.type, file.link.empty() ? AE_IFREG : AE_IFLNK) << file.path;
        EXPECT_EQ(seen.mode, file.mode) << file.path;
    }
    for (const auto& [path, seen] : found) {
        EXPECT_EQ(seen.time, 0) << path;
        EXPECT_EQ(seen.owner, 0) << path;
    }
}

TEST(Image, ParentsComeBeforeWhatIsInThem) {
    const auto image = make_image(some_files());
    ASSERT_TRUE(image);
    std::map<std::string, std::size_t> place;
    const auto found = unpack(*image);
    for (std::size_t i = 0; i < found.size(); ++i)
        place[found[i].first] = i;
    for (const char* folder : {"modules", "modules/deep", "bin", "proc", "sys", "dev", "tmp"}) {
        ASSERT_TRUE(place.contains(folder)) << folder;
        EXPECT_EQ(found[place[folder]].second.type, static_cast<unsigned>(AE_IFDIR));
    }
    EXPECT_LT(place["modules"], place["modules/deep"]);
    EXPECT_LT(place["modules/deep"], place["modules/deep/zram.ko"]);
    EXPECT_LT(place["bin"], place["bin/sh"]);
}

TEST(Image, SameContentSameBytesInAnyOrder) {
    const auto first = make_image(some_files());
    ASSERT_TRUE(first);
    Rng rng(20260101);
    for (int round = 0; round < 20; ++round) {
        auto files = some_files();
        for (std::size_t i = files.size(); i > 1; --i) {
            std::swap(files[i - 1], files[rng.below(i)]);
        }
        const auto again = make_image(std::move(files));
        ASSERT_TRUE(again);
        EXPECT_EQ(*again, *first);
    }
}

TEST(Image, OtherContentOtherBytes) {
    auto files = some_files();
    files[0].bytes = "The plan";
    EXPECT_NE(*make_image(std::move(files)), *make_image(some_files()));
}

TEST(Image, PathsThatLeaveTheGuestAreRefused) {
    for (const char* path : {"", "/etc/passwd", "../outside", "a/../../outside", "a/.."}) {
        const auto image = make_image({{path, "x", 0644, {}}});
        ASSERT_FALSE(image) << path;
        EXPECT_EQ(image.error().code, Code::invalid);
        EXPECT_THAT(image.error().message, HasSubstr(path));
    }
}

TEST(Image, TheSamePathTwiceIsRefused) {
    const auto image = make_image({{"plan", "a", 0644, {}}, {"plan", "b", 0644, {}}});
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, Code::invalid);
    EXPECT_THAT(image.error().message, HasSubstr("plan"));
}

TEST(Image, TheAgentIsAStaticProgram) {
    EXPECT_GT(agent_binary().size(), 10'000U);
    EXPECT_TRUE(is_static_elf(agent_binary()));
}

TEST(Image, OnlyStaticProgramsAreStatic) {
    // This test program itself is linked dynamically (and names its loader in its text too).
    const auto self = read_file("/proc/self/exe");
    ASSERT_TRUE(self);
    EXPECT_FALSE(is_static_elf(*self));
    EXPECT_FALSE(is_static_elf(""));
    EXPECT_FALSE(is_static_elf("#!/bin/sh\n"));
}

TEST(Image, DamagedProgramsAreNotStatic) {
    Rng rng(7);
    const std::string whole(agent_binary().substr(0, 4096));
    for (std::size_t size = 0; size < 300; ++size) {
        static_cast<void>(is_static_elf(std::string_view(whole).substr(0, size)));
    }
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = whole;
        for (int i = 0; i < 8; ++i)
            damaged[rng.below(128)] = static_cast<char>(rng.below(256));
        static_cast<void>(is_static_elf(damaged));  // no read outside (the sanitizers watch)
    }
    EXPECT_FALSE(is_static_elf(std::string_view(whole).substr(0, 64))) << "no room for its headers";
}

// A pipe would be waited for, for ever.
TEST(AddedFile, OnlyFiles) {
    auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-add-");
    ASSERT_TRUE(folder);
    const auto pipe = folder->path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const std::filesystem::path& path :
         {pipe, folder->path(), std::filesystem::path("/dev/zero")}) {
        const auto added = describe_added_file(path);
        ASSERT_FALSE(added) << path;
        EXPECT_THAT(added.error().text(), HasSubstr("expected a file"));
    }
    const auto file = folder->path() / "data";
    ASSERT_TRUE(write_file_atomic(file, "x"));
    EXPECT_TRUE(describe_added_file(file));
}

}  // namespace
}  // namespace mano::substrate::guest
