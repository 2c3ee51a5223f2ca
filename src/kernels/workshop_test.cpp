// SPDX-License-Identifier: GPL-2.0-or-later
// The folder in which kernels are built, the runs of make, and the placebo.
#include "kernels/workshop.h"

#include <gmock/gmock.h>

#include "kernels/lab_build.h"
#include "kernels/make_run.h"
#include "kernels/test_files.h"

namespace mano::kernels {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WorkshopTest : public testing::Test {
  protected:
    WorkshopTest() : cache_(folder_.path() / "cache") {}

    Workshop open() {
        auto out = Workshop::open(cache_, "one", {});
        EXPECT_TRUE(out) << (out ? "" : out.error().text());
        return std::move(*out);
    }
    Workshop filled() {
        Workshop out = open();
        const auto done = out.fill("v1", [](const fs::path& tree) -> Status {
            MANO_TRY(write_file_atomic(tree / "mm/a.c", "a\n"));
            MANO_TRY(write_file_atomic(tree / "mm/b.c", "b\n"));
            fs::create_directory_symlink("mm", tree / "link");
            return {};
        });
        EXPECT_TRUE(done);
        return out;
    }
    static std::string text(const Workshop& workshop, const char* path) {
        return read_file(workshop.tree() / path).value_or("(none)");
    }
    static std::vector<std::string> apply(Workshop& workshop, const Changes& changes) {
        auto written = workshop.apply(changes);
        EXPECT_TRUE(written) << (written ? "" : written.error().text());
        return written.value_or(std::vector<std::string>{"(error)"});
    }

    test::Folder folder_;
    Cache cache_;
};

TEST_F(WorkshopTest, OnlyWhatDiffersIsWritten) {
    Workshop one = filled();
    EXPECT_THAT(apply(one, {{"mm/a.c", {"A\n", {}}}, {"mm/new.c", {"n\n", true}}}),
                ElementsAre("mm/a.c", "mm/new.c"));
    EXPECT_EQ(text(one, "mm/a.c"), "A\n");
    const auto b_time = fs::last_write_time(one.tree() / "mm/b.c");
    // The next patch changes another file: the first is as it was, its own change is new.
    EXPECT_THAT(apply(one, {{"mm/b.c", {"B\n", {}}}}), ElementsAre("mm/a.c", "mm/b.c", "mm/new.c"));
    EXPECT_EQ(text(one, "mm/a.c"), "a\n");
    EXPECT_EQ(text(one, "mm/b.c"), "B\n");
    EXPECT_EQ(text(one, "mm/new.c"), "(none)");
    EXPECT_NE(fs::last_write_time(one.tree() / "mm/b.c"), b_time);
    EXPECT_THAT(apply(one, {{"mm/b.c", {"B\n", {}}}}), IsEmpty());
    EXPECT_THAT(apply(one, {}), ElementsAre("mm/b.c"));
    EXPECT_EQ(text(one, "mm/b.c"), "b\n");
}

TEST_F(WorkshopTest, RemembersWhatIsChanged) {
    {
        Workshop one = filled();
        apply(one, {{"mm/a.c", {"A\n", {}}}, {"mm/b.c", {std::nullopt, {}}}});
    }
    Workshop again = open();
    EXPECT_EQ(again.source(), "v1");
    EXPECT_EQ(again.pristine("mm/a.c")->value_or(""), "a\n");
    EXPECT_EQ(again.pristine("mm/b.c")->value_or(""), "b\n");
    EXPECT_THAT(apply(again, {}), ElementsAre("mm/a.c", "mm/b.c"));
    EXPECT_EQ(text(again, "mm/b.c"), "b\n");
}

TEST_F(WorkshopTest, HalfAFillIsNoSource) {
    {
        Workshop one = filled();
        const auto done = one.fill("v2", [](const fs::path& tree) -> Status {
            MANO_TRY(write_file_atomic(tree / "x", "x"));
            return fail(Code::environment, "the disk is full");
        });
        EXPECT_FALSE(done);
    }
    Workshop again = open();
    EXPECT_EQ(again.source(), "");
    EXPECT_FALSE(fs::exists(again.folder() / "tree.new")) << "half a tree only takes space";
}

TEST_F(WorkshopTest, HalfAnUpdateIsNoSource) {
    {
        Workshop one = filled();
        EXPECT_FALSE(one.update("v2", {"mm/a.c"}, [](const fs::path&) -> Status {
            return fail(Code::interrupted, "stopped");
        }));
    }
    EXPECT_EQ(open().source(), "");
    Workshop one = filled();
    EXPECT_TRUE(one.update("v2", {"mm/a.c", "../../x"}, [](const fs::path& tree) {
        return write_file_atomic(tree / "mm/c.c", "c\n");
    }));
    EXPECT_EQ(one.source(), "v2");
    EXPECT_EQ(text(one, "mm/a.c"), "(none)");
    EXPECT_EQ(text(one, "mm/c.c"), "c\n");
}

TEST_F(WorkshopTest, NoPathLeadsOut) {
    Workshop one = filled();
    for (const char* path : {"../x", "/tmp/x", "mm/../../x"}) {
        EXPECT_FALSE(one.apply({{path, {"x", {}}}})) << path;
        EXPECT_FALSE(one.pristine(path)) << path;
    }
    const auto through = one.apply({{"link/a.c", {"x", {}}}});
    ASSERT_FALSE(through);
    EXPECT_THAT(through.error().text(), HasSubstr("through a link"));
    EXPECT_EQ(text(one, "mm/a.c"), "a\n");
    EXPECT_EQ(one.pristine("link/a.c")->has_value(), false);
    EXPECT_FALSE(one.apply({{"link", {"x", {}}}}));
}

// The headers of kernels that were built before are links to the tree's files.
TEST_F(WorkshopTest, OtherNamesOfAFileKeepIt) {
    Workshop one = filled();
    fs::create_hard_link(one.tree() / "mm/a.c", folder_.path() / "kept.c");
    apply(one, {{"mm/a.c", {"A\n", {}}}});
    EXPECT_EQ(*read_file(folder_.path() / "kept.c"), "a\n");
}

TEST_F(WorkshopTest, OneAtATime) {
    const Workshop one = filled();
    Options options;
    options.stop = [] { return true; };
    const auto second = Workshop::open(cache_, "one", options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::interrupted);
    EXPECT_TRUE(Workshop::open(cache_, "other", options));
}

TEST(MakeRun, Objects) {
    EXPECT_TRUE(counts_as_object("  CC      mm/page_alloc.o"));
    EXPECT_TRUE(counts_as_object("  AS      arch/x86/entry/entry_64.o"));
    EXPECT_TRUE(counts_as_object("  CC [M]  drivers/x.o"));
    for (const char* line : {"  HOSTCC  scripts/x", "  AR      mm/built-in.a", "CC x.o", ""})
        EXPECT_FALSE(counts_as_object(line)) << line;
}

TEST(MakeRun, FirstError) {
    const auto found = first_error(
        "  CC      mm/a.o\n../mm/a.c: In function 'f':\n../mm/a.c:3:5: error: 'x' undeclared\n"
        "    3 | x = 1;\n      | ^\nmake[3]: *** [mm/a.o] Error 1\n../mm/b.c:1: error: other\n");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->code, Code::invalid);
    EXPECT_EQ(found->text,
              "../mm/a.c: In function 'f':\n../mm/a.c:3:5: error: 'x' undeclared\n    3 | x = 1;\n"
              "      | ^\n");
    EXPECT_EQ(first_error("ld: mm/a.o: undefined reference to `f'\n")->code, Code::invalid);
    EXPECT_EQ(first_error("make: *** [x] Error 2\n")->text, "make: *** [x] Error 2\n");
    EXPECT_FALSE(first_error("  CC      mm/a.o\n"));
}

TEST(MakeRun, AFullDiskIsTheMachines) {
    const auto found = first_error(
        "mm/a.c:1:1: error: something\n/tmp/cc.s: fatal error: mm/a.o: No space left on device\n"
        "make: *** Error\n");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->code, Code::environment);
    EXPECT_THAT(found->text, HasSubstr("kernel prune"));
    EXPECT_EQ(first_error("gcc: fatal error: Killed signal terminated program cc1\n")->code,
              Code::environment);
    EXPECT_EQ(first_error("/bin/sh: 1: flex: not found\n")->code, Code::environment);
}

TEST(MakeRun, MissingCompiler) {
    const auto found = compiler_identity("no-such-compiler-7", {});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::environment);
    EXPECT_THAT(found.error().text(), HasSubstr("no-such-compiler-7"));
}

TEST(Placebo, ComparesLayouts) {
    constexpr std::string_view kBase =
        "0000000000001000 0000000000000010 T f\n0000000000001010 0000000000000020 t g\n"
        "0000000000002000 D data\n";
    constexpr std::string_view kMoved =
        "0000000000001000 0000000000000010 T f\n0000000000003010 0000000000000020 t g\n"
        "0000000000004000 D data\n";
    const LayoutDifference same = compare_layout(kBase, kBase);
    EXPECT_EQ(same.functions, 2U);
    EXPECT_EQ(same.other_symbols, 1U);
    EXPECT_EQ(same.moved_functions + same.moved_others, 0U);
    EXPECT_EQ(same.differing_count, 0U);
    const LayoutDifference moved = compare_layout(kBase, kMoved);
    EXPECT_EQ(moved.moved_functions, 1U);
    EXPECT_EQ(moved.moved_others, 1U);
    EXPECT_THAT(moved.moved_by, ElementsAre(0x2000));
    EXPECT_EQ(moved.differing_count, 0U);
    EXPECT_EQ(moved.text(),
              "1 of 2 functions and 1 of 1 other symbols lie elsewhere (functions by 8192 bytes), "
              "the image is as large; all have the names, kinds and sizes of the base.");
    const LayoutDifference other = compare_layout(
        kBase,
        "0000000000001000 0000000000000018 T f\n0000000000001018 0000000000000020 t g\n"
        "0000000000002000 D data\n0000000000002008 D more\n");
    EXPECT_EQ(other.differing_count, 3U) << "f twice (its size), and what is new";
    EXPECT_THAT(other.differing, ElementsAre("f", "f", "more"));
    EXPECT_EQ(compare_layout("0000000000001000 D _end\n", "0000000000002000 D _end\n").end_moved,
              0x1000);
}

TEST(Placebo, FilesDifferByNumber) {
    const ReadFile read = [](const std::string&) -> Result<std::optional<std::string>> {
        return std::optional<std::string>("obj-y := main.o\n");
    };
    const auto one = placebo_changes(1, read);
    const auto two = placebo_changes(2, read);
    ASSERT_TRUE(one && two);
    EXPECT_THAT(one->at("init/Makefile").bytes.value(), HasSubstr("obj-y += manometer_placebo.o"));
    for (const char* folder : {"init", "arch/x86", "mm"}) {
        const std::string file = std::string(folder) + "/manometer_placebo.c";
        EXPECT_NE(one->at(file).bytes, two->at(file).bytes);
    }
    const ReadFile nothing = [](const std::string&) -> Result<std::optional<std::string>> {
        return std::optional<std::string>();
    };
    EXPECT_FALSE(placebo_changes(1, nothing));
}

}  // namespace
}  // namespace mano::kernels
