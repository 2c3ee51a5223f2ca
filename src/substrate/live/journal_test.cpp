// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "substrate/live/watched.h"

namespace mano::substrate::live {
namespace {

using testing::HasSubstr;

constexpr const char* kSetting = "/proc/sys/vm/watermark_scale_factor";

std::string complaint(const std::string& path) {
    const auto read = read_changes({{path, "1", true}});
    return read ? "accepted" : read.error().text();
}

TEST(Changes, OnlyWhatCanBePutBack) {
    for (const char* path : {"/proc/sys/vm/drop_caches", "/proc/sys/vm/compact_memory",
                             "/proc/sys/kernel/modules_disabled", "/etc/passwd",
                             "/proc/sys/../../etc/passwd", "/sys/kernel/mm/../../power/state",
                             "/sys/power/state", "/proc/sys/vm/a\nsetting /x\t1", ""}) {
        EXPECT_THAT(complaint(path), HasSubstr("can't be set on a live host")) << path;
    }
    EXPECT_THAT(complaint("/proc/sys/vm/no_such_setting"), HasSubstr("can't be read"));
    EXPECT_THAT(complaint("/proc/sys/vm/" + std::string(300, 'a')), HasSubstr("can't be set"));
}

TEST(Changes, WhatItIsNow) {
    const auto now = read_file(kSetting, 100);
    ASSERT_TRUE(now);
    if (::access(kSetting, W_OK) != 0) {
        EXPECT_THAT(complaint(kSetting), HasSubstr("may not be written by this user"));
        return;
    }
    // An arm's value goes over the case's; what it was is noted once.
    const auto changes = read_changes({{kSetting, "11", true}, {kSetting, "12", true}});
    ASSERT_TRUE(changes) << changes.error().text();
    ASSERT_EQ(changes->size(), 1U);
    EXPECT_EQ(changes->front().now + "\n", *now);
    EXPECT_EQ(changes->front().then, "12");
    EXPECT_EQ(journal_text(*changes, {"/c/manometer-1-2"}),
              "manometer 1\ngroup /c/manometer-1-2\nsetting " + std::string(kSetting) + "\t" +
                  changes->front().now + "\n");
}

class Claims : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TempFolder::make(std::filesystem::temp_directory_path(), "mano-claim-");
        ASSERT_TRUE(made);
        folder_ = std::move(*made);
    }
    // What a guard does about a journal: its complaints, joined.
    std::string put_back(std::string_view text) {
        auto claim = Claim::take(folder_.path() / "live");
        EXPECT_TRUE(claim) << claim.error().text();
        EXPECT_TRUE(claim->write(text));
        const auto complaints = Watched::restore(*claim);
        EXPECT_TRUE(complaints) << complaints.error().text();
        std::string all;
        for (const std::string& each : *complaints)
            all += each + "\n";
        const auto stale = claim->is_stale();
        EXPECT_TRUE(stale);
        // Empty exactly when nothing is left to do.
        EXPECT_EQ(*stale, !all.empty() && !text.empty());
        return all;
    }
    TempFolder folder_;
};

TEST_F(Claims, OneAtATime) {
    const auto first = Claim::take(folder_.path() / "live");
    ASSERT_TRUE(first) << first.error().text();
    const auto second = Claim::take(folder_.path() / "live");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().text(), HasSubstr("another live run"));
    EXPECT_EQ(second.error().code, Code::environment);
}

TEST_F(Claims, NotInAFolderOfOthers) {
    const auto open_to_all = folder_.path() / "all";
    ASSERT_EQ(::mkdir(open_to_all.c_str(), 0700), 0);
    ASSERT_EQ(::chmod(open_to_all.c_str(), 0777), 0);
    EXPECT_FALSE(Claim::take(open_to_all));
    const auto link = folder_.path() / "link";
    ASSERT_EQ(::symlink("/tmp", link.c_str()), 0);
    EXPECT_FALSE(Claim::take(link));
}

TEST_F(Claims, GuardBelievesNothing) {
    EXPECT_EQ(put_back(""), "");
    EXPECT_EQ(put_back("manometer 1\n"), "");
    // Never finished, so never done.
    EXPECT_EQ(put_back("manometer 1\nsetting /etc/hostname\tevil"), "");
    const auto victim = folder_.path() / "victim";
    ASSERT_TRUE(write_file_atomic(victim, "whole"));
    for (const std::string& line :
         {"setting " + victim.string() + "\tevil", std::string("setting /proc/sys/../../etc/x\t1"),
          "group " + folder_.path().string(), "group " + victim.string(), std::string("nonsense"),
          std::string("group manometer-1"), std::string("setting")}) {
        put_back("manometer 1\n" + line + "\n");
    }
    EXPECT_EQ(*read_file(victim), "whole");
    EXPECT_TRUE(std::filesystem::is_directory(folder_.path()));
}

TEST_F(Claims, GroupsAreRemoved) {
    const auto group = folder_.path() / "manometer-7-0";
    for (const char* name : {"control", "load", "probe"})
        ASSERT_TRUE(make_folders(group / name));
    EXPECT_EQ(put_back("manometer 1\ngroup " + group.string() + "\n"), "");
    EXPECT_FALSE(std::filesystem::exists(group));
    // Gone already: nothing to do.
    EXPECT_EQ(put_back("manometer 1\ngroup " + group.string() + "\n"), "");
}

TEST_F(Claims, ASettingIsPutBack) {
    if (::access(kSetting, W_OK) != 0) GTEST_SKIP() << "needs root: " << kSetting;
    const std::string before = *read_file(kSetting, 100);
    const auto changes = read_changes({{kSetting, "77", true}});
    ASSERT_TRUE(changes) << changes.error().text();
    const Fd file = *open_file(kSetting, 1);
    ASSERT_TRUE(write_all(file.get(), "77", kSetting));
    ASSERT_EQ(*read_file(kSetting, 100), "77\n");
    EXPECT_EQ(put_back(journal_text(*changes, {})), "");
    EXPECT_EQ(*read_file(kSetting, 100), before);
}

}  // namespace
}  // namespace mano::substrate::live
