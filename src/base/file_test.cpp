// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"

namespace mano {
namespace {

TEST(File, AtomicWriteThenRead) {
    const auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-test-");
    ASSERT_TRUE(folder);
    const auto path = folder->path() / "below" / "file";
    ASSERT_TRUE(write_file_atomic(path, "one"));
    ASSERT_TRUE(write_file_atomic(path, "two"));
    EXPECT_EQ(*read_file(path), "two");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}), 1);
    EXPECT_EQ(*sha256_file(path), sha256("two"));
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(File, HostileInputsAreErrorsThatNameThePath) {
    const auto folder = read_file("/proc/self");
    ASSERT_FALSE(folder);
    EXPECT_NE(folder.error().message.find("/proc/self is a directory"), std::string::npos);
    const auto endless = read_file("/dev/zero", 1 << 20);
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().code, Code::invalid);
    EXPECT_FALSE(read_file("/nonexistent/file"));
}

TEST(File, AFileInMemoryStartsAtItsStart) {
    const auto file = memory_file("mano-test", "some text");
    ASSERT_TRUE(file);
    EXPECT_EQ(*read_file(fmt::format("/proc/self/fd/{}", file->get())), "some text");
    char first = 0;
    EXPECT_EQ(::read(file->get(), &first, 1), 1);
    EXPECT_EQ(first, 's');
}

TEST(File, LockExcludesUntilClosed) {
    const auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-test-");
    ASSERT_TRUE(folder);
    auto first = lock_file(folder->path() / "lock");
    ASSERT_TRUE(first);
    EXPECT_FALSE(lock_file(folder->path() / "lock", false));
    first->close();
    EXPECT_TRUE(lock_file(folder->path() / "lock", false));
}

TEST(File, TempFolderIsRemoved) {
    std::filesystem::path path;
    {
        auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-test-");
        ASSERT_TRUE(folder);
        path = folder->path();
        ASSERT_TRUE(write_file_atomic(path / "x", "y"));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace mano
