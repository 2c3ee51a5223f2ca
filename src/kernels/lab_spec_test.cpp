// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/lab_spec.h"

#include <gmock/gmock.h>

#include <set>

#include "kernels/lab_source.h"

namespace mano::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Exists with(std::set<std::string> files, std::set<std::string> folders = {}) {
    return {[files](const std::string& path) { return files.contains(path); },
            [folders](const std::string& path) { return folders.contains(path); }};
}

LabSpec good(std::string_view spec, const Exists& exists = with({})) {
    const auto parsed = parse_lab_spec(spec, exists);
    EXPECT_TRUE(parsed) << spec << ": " << (parsed ? "" : parsed.error().text());
    return parsed.value_or(LabSpec{});
}

std::string error(std::string_view spec, const Exists& exists = with({})) {
    const auto parsed = parse_lab_spec(spec, exists);
    EXPECT_FALSE(parsed) << spec;
    return parsed ? "" : parsed.error().text();
}

TEST(LabSpec, VersionsAndPatches) {
    const LabSpec plain = good("source:7.3");
    EXPECT_EQ(plain.version, "7.3");
    EXPECT_THAT(plain.patches, IsEmpty());
    EXPECT_FALSE(plain.tree);
    EXPECT_THAT(good("source:7.3+a.patch+../b.patch").patches,
                ElementsAre("a.patch", "../b.patch"));
    EXPECT_EQ(good("source:7.3-rc7").version, "7.3~rc7");
}

// Debian's versions have a '+' of their own.
TEST(LabSpec, DebianVersionsInFull) {
    const LabSpec spec = good("source:7.3.4-1~bpo13+1+x.patch,rt");
    EXPECT_EQ(spec.version, "7.3.4-1~bpo13+1");
    EXPECT_THAT(spec.patches, ElementsAre("x.patch"));
    EXPECT_EQ(good("source:6.1.190-1+deb12u1").version, "6.1.190-1+deb12u1");
    // A file of that name is a patch.
    EXPECT_THAT(good("source:7.3+1", with({"1"})).patches, ElementsAre("1"));
}

TEST(LabSpec, Options) {
    const LabSpec spec =
        good("source:7.3+x.patch,debug,numa,config=a.config,config=b.config,cc=clang-14,placebo=3");
    EXPECT_THAT(spec.fragments, ElementsAre("numa", "debug")) << "in the order of their merge";
    EXPECT_THAT(spec.configs, ElementsAre("a.config", "b.config"));
    EXPECT_EQ(spec.compiler, "clang-14");
    EXPECT_EQ(spec.placebo, 3U);
    EXPECT_EQ(good("source:7.3,placebo").placebo, 1U);
}

TEST(LabSpec, Trees) {
    const Exists exists = with({"/p/a.patch"}, {"../linux", "/home/me@work/c++/linux"});
    const LabSpec head = good("tree:../linux", exists);
    EXPECT_TRUE(head.tree);
    EXPECT_EQ(head.folder, "../linux");
    EXPECT_EQ(head.revision, "HEAD");
    const LabSpec at = good("tree:../linux@origin/master+/p/a.patch", exists);
    EXPECT_EQ(at.revision, "origin/master");
    EXPECT_THAT(at.patches, ElementsAre("/p/a.patch"));
    const LabSpec odd = good("tree:/home/me@work/c++/linux@v7.3+/p/a.patch,rt", exists);
    EXPECT_EQ(odd.folder, "/home/me@work/c++/linux");
    EXPECT_EQ(odd.revision, "v7.3");
    EXPECT_THAT(odd.fragments, ElementsAre("rt"));
    // One that isn't there is taken as it is written; who uses it says so.
    EXPECT_EQ(good("tree:nowhere@v1").folder, "nowhere");
}

TEST(LabSpec, PathsWithPlusAndComma) {
    const Exists exists = with({"a+b.patch", "c,d.patch"});
    EXPECT_THAT(good("source:7.3+a+b.patch+x", exists).patches, ElementsAre("a+b.patch", "x"));
    EXPECT_THAT(good("source:7.3+c,d.patch,rt", exists).patches, ElementsAre("c,d.patch"));
}

TEST(LabSpec, TextIsParsedToTheSame) {
    const Exists exists = with({}, {"/l"});
    for (const char* text :
         {"source:7.3", "source:7.3.4-1~bpo13+1+x.patch+y.patch,numa,rt,config=z,cc=gcc-11,placebo",
          "tree:/l@v7.3+x.patch,debug,placebo=2", "tree:/l"}) {
        EXPECT_EQ(good(text, exists).text(), text);
    }
}

TEST(LabSpec, Mistakes) {
    EXPECT_THAT(error("source:"), HasSubstr("is no version"));
    EXPECT_THAT(error("source:linux"), HasSubstr("is no version"));
    EXPECT_THAT(error("source:7.3+"), HasSubstr("path of a patch is missing"));
    EXPECT_THAT(error("source:7.3++x"), HasSubstr("path of a patch is missing"));
    EXPECT_THAT(error("source:7.3-rt"), HasSubstr("source:7.3,rt"));
    EXPECT_THAT(error("source:7.3,fast"), HasSubstr("'fast' isn't known"));
    EXPECT_THAT(error("source:7.3,rt,rt"), HasSubstr("twice"));
    EXPECT_THAT(error("source:7.3,config="), HasSubstr("is empty"));
    EXPECT_THAT(error("source:7.3,placebo=0"), HasSubstr("placebo=N"));
    EXPECT_THAT(error("source:7.3,placebo=x"), HasSubstr("placebo=N"));
    EXPECT_THAT(error("tree:"), HasSubstr("folder of the git tree is missing"));
    EXPECT_THAT(error("tree:/l@", with({}, {"/l"})), HasSubstr("no revision"));
    EXPECT_THAT(error("tree:/l@--exec=x", with({}, {"/l"})), HasSubstr("no revision"));
}

TEST(LabSource, Matching) {
    const Package package{"linux-source-7.3", "7.3.4-1~bpo13+1", 1, std::string(64, 'a')};
    for (const char* wanted : {"7.3", "7.3.4", "7.3.4-1~bpo13+1"})
        EXPECT_TRUE(source_matches(wanted, package)) << wanted;
    for (const char* wanted : {"7", "7.3.40", "7.30", "7.3.4-1", "7.3.4-1~bpo13+2"})
        EXPECT_EQ(source_matches(wanted, package), std::string_view(wanted) == "7") << wanted;
    const Package candidate{"linux-source-7.3", "7.3~rc7-1~exp1", 1, std::string(64, 'b')};
    EXPECT_TRUE(source_matches("7.3", candidate));
    EXPECT_TRUE(source_matches("7.3~rc7", candidate));
    EXPECT_FALSE(source_matches("7.3.4", candidate));
}

}  // namespace
}  // namespace mano::kernels
