// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"

namespace mano::substrate::live {
namespace {

using testing::HasSubstr;

constexpr std::string_view kV2 =
    "24 30 0:21 / /proc rw - proc proc rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr std::string_view kHybrid =
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(Hierarchies, V2) {
    const Hierarchies found =
        parse_hierarchies(kV2, "0::/user.slice/user-1000.slice/session-2.scope\n");
    EXPECT_EQ(found.kind(), "v2");
    ASSERT_TRUE(found.v2);
    EXPECT_EQ(found.v2->mount, "/sys/fs/cgroup");
    EXPECT_EQ(found.v2->own, "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
    EXPECT_FALSE(found.v1_memory);
}

TEST(Hierarchies, Hybrid) {
    const Hierarchies found = parse_hierarchies(kHybrid, "9:cpu,cpuacct:/\n4:memory:/a/b\n0::/\n");
    EXPECT_EQ(found.kind(), "v1 and v2 (hybrid)");
    ASSERT_TRUE(found.v2 && found.v1_memory);
    EXPECT_EQ(found.v2->own, "/sys/fs/cgroup/unified");
    EXPECT_EQ(found.v1_memory->own, "/sys/fs/cgroup/memory/a/b");
}

TEST(Hierarchies, V1AloneAndNone) {
    const std::string_view v1 = kHybrid.substr(0, kHybrid.rfind("41 31"));
    EXPECT_EQ(parse_hierarchies(v1, "4:memory:/\n").kind(), "v1");
    EXPECT_EQ(parse_hierarchies("", "").kind(), "none");
    const Site site = choose_site(parse_hierarchies(v1, "4:memory:/\n"));
    ASSERT_FALSE(site.lost.empty());
    EXPECT_THAT(site.lost, testing::Contains(HasSubstr("psi.probe.*")));
    EXPECT_FALSE(site.v2);
}

// What a container sees: its own subtree is the mount's root, or its path lies outside.
TEST(Hierarchies, Containers) {
    const std::string_view below =
        "30 24 0:26 /kubepods/pod1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
    EXPECT_EQ(parse_hierarchies(below, "0::/kubepods/pod1/app\n").v2->own, "/sys/fs/cgroup/app");
    EXPECT_EQ(parse_hierarchies(below, "0::/kubepods/pod1\n").v2->own, "/sys/fs/cgroup");
    EXPECT_EQ(parse_hierarchies(below, "0::/kubepods/pod10\n").v2->own, "/sys/fs/cgroup");
    EXPECT_EQ(parse_hierarchies(below, "0::/../other\n").v2->own, "/sys/fs/cgroup");
    EXPECT_EQ(parse_hierarchies(kV2, "0::/a/../../etc\n").v2->own, "/sys/fs/cgroup");
}

TEST(Hierarchies, HostileNames) {
    // A blank, a backslash and a colon in a group's name; a mount point with a blank.
    const std::string_view odd = "30 24 0:26 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw\n";
    EXPECT_EQ(parse_hierarchies(odd, "0::/a b:c\\040d\n").v2->own, "/sys/fs/c group/a b:c\\040d");
    // A v1 group that calls itself memory in its name, and one in another controller's list.
    EXPECT_FALSE(parse_hierarchies("33 31 0:30 / /c rw - cgroup memory rw,name=memory\n",
                                   "3:name=memory:/x\n")
                     .v1_memory);
    EXPECT_EQ(parse_hierarchies(kV2, "1:name=systemd:/0::/x\n0::/y\n").v2->own, "/sys/fs/cgroup/y");
    EXPECT_EQ(parse_hierarchies("no mount at all\n - \n\n", "::\n0:\n").kind(), "none");
}

TEST(Hierarchies, AnyBytesAreBorne) {
    constexpr std::uint64_t kSeed = 20261201;
    SCOPED_TRACE(kSeed);
    Rng rng(kSeed);
    constexpr std::string_view kLetters = " \\0127/.:-,=\n\tcgroup2memory\xff";
    for (int round = 0; round < 3000; ++round) {
        std::string mounts(kHybrid);
        std::string groups = "4:memory:/a\n0::/b\n";
        for (std::string* text : {&mounts, &groups}) {
            for (std::uint64_t i = 0, n = 1 + rng.below(12); i < n; ++i) {
                (*text)[rng.below(text->size())] = kLetters[rng.below(kLetters.size())];
            }
        }
        const Hierarchies found = parse_hierarchies(mounts, groups);
        for (const auto& one : {found.v2, found.v1_memory}) {
            if (!one) continue;
            // A folder of ours never leaves its mount.
            const std::string own = one->own.string();
            EXPECT_EQ(own.rfind(one->mount.string(), 0), 0U) << own;
            EXPECT_EQ(own.substr(one->mount.string().size()).find("/.."), std::string::npos);
        }
    }
}

// Folders in place of cgroups: which one is taken.
class Sites : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TempFolder::make(std::filesystem::temp_directory_path(), "mano-site-");
        ASSERT_TRUE(made);
        folder_ = std::move(*made);
        mount_ = folder_.path() / "mount";
        own_ = mount_ / "slice" / "scope";
        ASSERT_TRUE(make_folders(own_));
    }
    void children_of(const std::filesystem::path& folder, std::string_view controllers) {
        ASSERT_TRUE(write_file_atomic(folder / "cgroup.subtree_control", controllers));
    }
    Site site() const {
        Hierarchies here;
        here.v2 = Hierarchy{mount_, own_};
        return choose_site(here);
    }
    TempFolder folder_;
    std::filesystem::path mount_, own_;
};

TEST_F(Sites, NearestWithTheMemoryController) {
    children_of(own_, "\n");
    children_of(mount_ / "slice", "cpu memory pids\n");
    children_of(mount_, "memory\n");
    EXPECT_EQ(site().v2, mount_ / "slice");
    EXPECT_EQ(site().memory, mount_ / "slice");
    EXPECT_TRUE(site().lost.empty());
    children_of(own_, "memory\n");
    EXPECT_EQ(site().v2, own_);
}

TEST_F(Sites, WithoutTheControllerPressureIsStillThere) {
    children_of(own_, "cpu memory.high pids\n");
    EXPECT_EQ(site().v2, own_);
    EXPECT_FALSE(site().memory);
    EXPECT_THAT(site().lost, testing::Contains(HasSubstr("memory limit")));
}

TEST_F(Sites, GroupsAreMadeOnceAndLimited) {
    // Plain folders take the files that cgroups would bring along.
    Groups groups{mount_ / "manometer-1-0", mount_ / "manometer-1-0", false};
    const auto refused = make_groups(groups, 1 << 20);
    ASSERT_FALSE(refused) << "a plain folder has no memory.max";
    EXPECT_THAT(refused.error().text(), HasSubstr("memory.max"));
    for (const char* name : {"control", "load", "probe"})
        EXPECT_TRUE(std::filesystem::is_directory(*groups.v2 / name));
    EXPECT_FALSE(make_groups(groups, 0)) << "a group of that name is somebody's already";
    EXPECT_FALSE(make_groups({std::nullopt, std::nullopt, false}, 1 << 20));
    EXPECT_TRUE(make_groups({std::nullopt, std::nullopt, false}, 0));
}

}  // namespace
}  // namespace mano::substrate::live
