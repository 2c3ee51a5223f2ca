// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/apt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/test_files.h"

namespace mano::kernels {
namespace {

using test::Folder;
using testing::HasSubstr;

TEST(Mirror, IsReadFromBothFormats) {
    const Folder folder;
    folder.file(
        "sources.list",
        "# deb http://wrong.invalid/debian bookworm main\n"
        "deb cdrom:[Debian]/ bookworm main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://one.invalid/debian bookworm main contrib\n"
        "deb http://sec.invalid/debian-security bookworm-security main\n");
    const auto old_style = find_mirror(folder.path());
    ASSERT_TRUE(old_style) << old_style.error().text();
    EXPECT_EQ(old_style->uri, "http://one.invalid/debian");
    EXPECT_EQ(old_style->security_uri, "http://sec.invalid/debian-security");
    EXPECT_EQ(old_style->signed_by, "/k.gpg");
    folder.file("sources.list", "");
    folder.file("sources.list.d/0.sources",
                "Types: deb\nURIs: http://off.invalid/debian\nSuites: trixie\nComponents: main\n"
                "Enabled: no\n");
    folder.file(
        "sources.list.d/1.sources",
        "# the machine's\ntypes: deb deb-src\nURIs:\n http://two.invalid/debian\n"
        "Suites: trixie trixie-updates\nComponents: main\nSigned-By:\n -----BEGIN PGP\n x\n\n"
        "Types: deb\nURIs: http://two.invalid/sec\nSuites: trixie-security\n"
        "Components: main\n");
    folder.file("sources.list.d/other.list", "deb https://other.invalid/apt stable-ish main\n");
    const auto new_style = find_mirror(folder.path());
    ASSERT_TRUE(new_style) << new_style.error().text();
    EXPECT_EQ(new_style->uri, "http://two.invalid/debian");
    EXPECT_EQ(new_style->security_uri, "http://two.invalid/sec");
    EXPECT_EQ(new_style->signed_by, std::nullopt);
}

TEST(Mirror, AMachineWithoutDebianIsTold) {
    const Folder folder;
    folder.file("sources.list", "deb http://x.invalid/ubuntu jammy main\n");
    const auto mirror = find_mirror(folder.path());
    ASSERT_FALSE(mirror);
    EXPECT_EQ(mirror.error().code, Code::environment);
    EXPECT_THAT(mirror.error().text(), HasSubstr("bzImage"));
}

}  // namespace
}  // namespace mano::kernels
