// SPDX-License-Identifier: GPL-2.0-or-later
// tree: SPECs from the git tree to the kernel in the cache, with a "kernel" whose make file does in
// a moment what the real one does in minutes. (source: SPECs differ in where the files come from:
// network_test.cpp and the lab test in tests/guest.)
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/process.h"
#include "kernels/built.h"
#include "kernels/cache.h"
#include "kernels/kernel.h"
#include "kernels/module_build.h"
#include "kernels/prune.h"
#include "kernels/test_files.h"

namespace mano::kernels {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// As the real one: allnoconfig, bzImage and modules with O=, and M= for modules of others. Each
// build adds a line to builds.log; DROPPED never sticks.
constexpr const char* kMakefile = R"(
VERSION = 7
PATCHLEVEL = 3
ifdef M
modules:
	@cp $(M)/thing.c $(M)/thing.ko
else
allnoconfig:
	@grep -v DROPPED $(KCONFIG_ALLCONFIG) > $(O)/.config
bzImage:
	@echo x >> BUILDS
	@mkdir -p $(O)/arch/x86/boot $(O)/include/generated
	@echo "  CC      mm/a.o"
	@test ! -e SLOW || sleep 20
	@test ! -e FULL || { echo "cc: fatal error: No space left on device"; false; }
	$(CC) -c -o $(O)/vmlinux mm/a.c
	@cat image mm/a.c > $(O)/arch/x86/boot/bzImage
	@echo symvers > $(O)/Module.symvers
modules: bzImage
endif
)";

class Lab : public testing::Test {
  protected:
    void SetUp() override {
        // What really keeps these from running is said; they need no more than a build does.
        for (const char* tool : {"git", "make", "gcc", "nm", "flex", "bison", "bc", "perl"}) {
            if (!find_program(tool)) GTEST_SKIP() << tool << " isn't here: tools/deps kernel";
        }
        if (!fs::exists("/usr/include/libelf.h")) GTEST_SKIP() << "tools/deps kernel";
        builds_ = folder_.path() / "builds.log";
        std::string makefile = kMakefile;
        makefile.replace(makefile.find("BUILDS"), 6, builds_.string());
        makefile.replace(makefile.find("SLOW"), 4, (folder_.path() / "slow").string());
        makefile.replace(makefile.find("FULL"), 4, (folder_.path() / "full").string());
        write("Makefile", makefile);
        for (const char* file : {"Kbuild", "Kconfig", "arch/x86/Kconfig", "mm/Kconfig"})
            write(file, "# nothing\n");
        write("arch/x86/Makefile", "# nothing\n");
        write("include/a.h", "#define A 1\n");
        write("mm/a.c", "int a = 1;\n");
        write("image", test::make_kernel("7.3.0-lab"));
        git({"init", "-q", "-b", "main"});
        commit();
        options_.cache = folder_.path() / "cache";
        options_.building = [this](const Building&) { ++steps_; };
    }

    fs::path tree() const { return folder_.path() / "linux"; }
    std::string spec(std::string_view more = "") const {
        return "tree:" + tree().string() + std::string(more);
    }
    void write(const std::string& name, std::string_view bytes) const {
        ASSERT_TRUE(write_file_atomic(tree() / name, bytes));
    }
    std::string git(std::vector<std::string> words) const {
        std::vector<std::string> line = {"git", "-c", "user.name=T", "-c", "user.email=t@t"};
        line.insert(line.end(), words.begin(), words.end());
        SpawnOptions spawn;
        spawn.folder = tree();
        const auto output = run_program(line, spawn);
        EXPECT_TRUE(output && output->exit.ok()) << (output ? output->err : output.error().text());
        return output ? output->out : "";
    }
    void commit() const {
        git({"add", "-A"});
        git({"commit", "-q", "-m", "x"});
    }
    std::string patch(const char* name, const char* from, const char* to) const {
        return folder_
            .file(name,
                  fmt::format("--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1 +1 @@\n-{}\n+{}\n", from, to))
            .string();
    }
    // The base configuration asks for what the fake kernel has no Kconfig for; it sticks anyway.
    Kernel good(const std::string& text) const {
        auto kernel = resolve(text, options_);
        EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().text());
        return kernel.value_or(Kernel{});
    }
    Error bad(const std::string& text) const {
        const auto kernel = resolve(text, options_);
        EXPECT_FALSE(kernel) << text;
        return kernel ? Error{} : kernel.error();
    }
    std::size_t builds() const { return read_file(builds_).value_or("").size() / 2; }
    // Every file of the user's tree: name → size, time, and bytes' beginning.
    std::map<std::string, std::string> snapshot() const {
        std::map<std::string, std::string> out;
        for (const auto& entry : fs::recursive_directory_iterator(tree())) {
            struct stat status = {};
            EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0);
            out[entry.path().string()] =
                fmt::format("{} {}.{} {}", status.st_size, status.st_mtim.tv_sec,
                            status.st_mtim.tv_nsec, status.st_mode);
        }
        return out;
    }

    test::Folder folder_;
    fs::path builds_;
    Options options_;
    mutable std::atomic<int> steps_ = 0;
};

TEST_F(Lab, BuiltOnceThenCached) {
    const auto before = snapshot();
    const Kernel first = good(spec());
    EXPECT_EQ(first.provenance.release, "7.3.0-lab");
    EXPECT_EQ(builds(), 1U);
    EXPECT_GT(steps_, 0);
    EXPECT_THAT(first.provenance.sha256.at("source"), HasSubstr("git-tree "));
    EXPECT_TRUE(first.provenance.config_sha256);
    EXPECT_TRUE(first.devel);
    EXPECT_EQ(snapshot(), before) << "the user's tree and its .git are only read";
    const Kernel again = good(spec());
    EXPECT_EQ(again.id, first.id);
    EXPECT_EQ(builds(), 1U);
    EXPECT_EQ(good(again.provenance.exact_spec).id, first.id) << again.provenance.exact_spec;
    options_.offline = true;
    EXPECT_EQ(good(spec()).id, first.id);
    EXPECT_EQ(builds(), 1U);
}

TEST_F(Lab, PatchesInOrderAndBack) {
    const Kernel base = good(spec());
    const std::string one = patch("one.patch", "int a = 1;", "int a = 2;");
    const std::string two = patch("two.patch", "int a = 2;", "int a = 3;");
    const Kernel both = good(spec("+" + one + "+" + two));
    EXPECT_NE(both.id, base.id);
    EXPECT_THAT(read_file(both.image).value_or(""), testing::EndsWith("int a = 3;\n"));
    EXPECT_TRUE(both.provenance.sha256.contains("patch 1: one.patch"));
    EXPECT_TRUE(both.provenance.sha256.contains("patch 2: two.patch"));
    EXPECT_THAT(bad(spec("+" + two + "+" + one)).text(), HasSubstr("hunk 1 of 1 in mm/a.c fails"));
    EXPECT_EQ(good(spec()).id, base.id);
    // Building the base anew, after the patches, gives the same kernel.
    ASSERT_TRUE(remove(base.id, options_));
    EXPECT_EQ(good(spec()).id, base.id);
}

TEST_F(Lab, HeadersStayThoseOfTheKernel) {
    const Kernel base = good(spec());
    const std::string patch = folder_
                                  .file("h.patch",
                                        "--- a/include/a.h\n+++ b/include/a.h\n@@ -1 +1 @@\n"
                                        "-#define A 1\n+#define A 2\n")
                                  .string();
    const Kernel patched = good(spec("+" + patch));
    EXPECT_EQ(*read_file(*base.devel / "include/a.h"), "#define A 1\n");
    EXPECT_EQ(*read_file(*patched.devel / "include/a.h"), "#define A 2\n");
}

TEST_F(Lab, RevisionsAndWhatIsNotCommitted) {
    const std::string first = git({"rev-parse", "HEAD"}).substr(0, 40);
    const Kernel old = good(spec());
    write("mm/a.c", "int a = 7;\n");
    write("mm/gone.c", "int gone;\n");
    const Kernel dirty = good(spec());
    EXPECT_EQ(dirty.id, old.id);
    EXPECT_THAT(dirty.provenance.notes, Contains(HasSubstr("NOT in this kernel")));
    commit();
    EXPECT_THAT(read_file(good(spec()).image).value_or(""), testing::EndsWith("int a = 7;\n"));
    EXPECT_EQ(good(spec("@" + first)).id, old.id);
    EXPECT_EQ(good(spec("@HEAD~1")).id, old.id);
    const Error error = bad(spec("@v9.9"));
    EXPECT_EQ(error.code, Code::not_found);
    EXPECT_THAT(error.text(), HasSubstr("no revision 'v9.9'"));
}

TEST_F(Lab, ShallowClone) {
    write("mm/a.c", "int a = 7;\n");
    commit();
    const std::string clone = (folder_.path() / "shallow").string();
    git({"clone", "-q", "--depth", "1", "file://" + tree().string(), clone});
    const Kernel kernel = good("tree:" + clone);
    EXPECT_THAT(kernel.provenance.notes, Contains(HasSubstr("is a shallow clone")));
    EXPECT_THAT(bad("tree:" + clone + "@HEAD~1").text(), HasSubstr("shallow clone"));
}

TEST_F(Lab, WhatIsNoKernel) {
    EXPECT_EQ(bad("tree:" + (folder_.path() / "nowhere").string()).code, Code::not_found);
    fs::create_directories(folder_.path() / "plain");
    EXPECT_THAT(bad("tree:" + (folder_.path() / "plain").string()).text(),
                HasSubstr("not a git tree"));
    fs::remove(tree() / "mm/Kconfig");
    commit();
    const Error error = bad(spec());
    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_THAT(error.text(), HasSubstr("isn't the source of Linux: it has no file mm/Kconfig"));
    EXPECT_EQ(builds(), 0U);
}

TEST_F(Lab, MissingOrEmptyPatch) {
    EXPECT_EQ(bad(spec("+nowhere.patch")).code, Code::not_found);
    EXPECT_THAT(bad(spec("+" + folder_.file("e.patch", "").string())).text(),
                HasSubstr("the patch is empty"));
    EXPECT_THAT(bad(spec("+" + folder_.path().string())).text(), HasSubstr("a directory"));
    EXPECT_EQ(builds(), 0U);
}

TEST_F(Lab, FirstErrorAndLog) {
    const std::string broken = patch("broken.patch", "int a = 1;", "int a = nothing;");
    const Error error = bad(spec("+" + broken));
    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_THAT(error.text(), HasSubstr("mm/a.c:1:9: error: 'nothing' undeclared"));
    const std::size_t at = error.text().find("the whole log is ") + 17;
    const std::string log = error.text().substr(at, error.text().find(';', at) - at);
    EXPECT_THAT(read_file(log).value_or(""), HasSubstr("  CC      mm/a.o"));
    EXPECT_NE(good(spec()).id, "");
}

TEST_F(Lab, SettingThatDoesNotStick) {
    const std::string config = folder_.file("my.config", "CONFIG_DROPPED=y\n").string();
    const Error error = bad(spec(",config=" + config));
    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_THAT(error.text(), HasSubstr("my.config:1: CONFIG_DROPPED=y became n"));
    const std::string typo = folder_.file("typo.config", "CONFIG_X=yes\n").string();
    EXPECT_THAT(bad(spec(",config=" + typo)).text(), HasSubstr("typo.config:1: 'CONFIG_X=yes'"));
    const std::string more = folder_.file("more.config", "CONFIG_MORE=y\nCONFIG_PSI=n\n").string();
    const auto kernel = resolve(spec(",config=" + more), options_);
    // PSI off can't be told from a typo in this tree without Kconfig, and says so.
    EXPECT_FALSE(kernel);
}

TEST_F(Lab, CompilerThatIsNotThere) {
    const Error error = bad(spec(",cc=no-such-cc"));
    EXPECT_EQ(error.code, Code::environment);
    EXPECT_THAT(error.text(), HasSubstr("no-such-cc"));
}

TEST_F(Lab, StoppedAndGoneOnWith) {
    folder_.file("slow", "");
    options_.stop = [this] { return builds() > 0; };
    const Error error = bad(spec());
    EXPECT_EQ(error.code, Code::interrupted);
    fs::remove(folder_.path() / "slow");
    options_.stop = {};
    EXPECT_NE(good(spec()).id, "");
    EXPECT_EQ(builds(), 2U);
}

TEST_F(Lab, FullDiskIsTheMachines) {
    folder_.file("full", "");
    const Error error = bad(spec());
    EXPECT_EQ(error.code, Code::environment);
    EXPECT_THAT(error.text(), HasSubstr("The disk is full"));
    for (const auto& entry : fs::recursive_directory_iterator(options_.cache / "kernels/build")) {
        EXPECT_FALSE(entry.is_directory() && entry.path().filename().string().starts_with("obj-"))
            << entry.path();
    }
    fs::remove(folder_.path() / "full");
    EXPECT_NE(good(spec()).id, "");
}

// After kill -9 nothing that was half written is believed.
TEST_F(Lab, KilledInMidBuild) {
    good(spec());
    fs::path object;
    for (const auto& entry : fs::recursive_directory_iterator(options_.cache / "kernels/build")) {
        if (entry.path().filename().string().starts_with("obj-") && entry.is_directory()) {
            object = entry.path();
        }
    }
    ASSERT_FALSE(object.empty());
    ASSERT_TRUE(write_file_atomic(object / "half.o", "half"));
    ASSERT_TRUE(write_file_atomic(object.string() + ".unclean", ""));
    good(spec("+" + patch("one.patch", "int a = 1;", "int a = 2;")));
    EXPECT_FALSE(fs::exists(object / "half.o"));
    EXPECT_FALSE(fs::exists(object.string() + ".unclean"));
}

TEST_F(Lab, TwoAtOnceBuildOnce) {
    std::vector<std::string> ids(3);
    {
        std::vector<std::jthread> threads;
        for (std::string& id : ids) {
            threads.emplace_back([&] {
                const auto kernel = resolve(spec(), options_);
                id = kernel ? kernel->id : kernel.error().text();
            });
        }
    }
    EXPECT_EQ(ids[0].size(), 64U) << ids[0];
    EXPECT_EQ(ids[1], ids[0]);
    EXPECT_EQ(ids[2], ids[0]);
    EXPECT_EQ(builds(), 1U);
}

TEST_F(Lab, OfflineBuildsNothing) {
    options_.offline = true;
    const Error error = bad(spec());
    EXPECT_EQ(error.code, Code::environment);
    EXPECT_THAT(error.text(), HasSubstr("kernel build"));
    EXPECT_EQ(builds(), 0U);
}

TEST_F(Lab, ListShowRemove) {
    const auto kernel = add("mine", spec(), options_);
    ASSERT_TRUE(kernel) << kernel.error().text();
    const auto known = list(options_);
    ASSERT_TRUE(known);
    ASSERT_EQ(known->size(), 1U);
    EXPECT_EQ(known->front().name, "mine");
    EXPECT_EQ(known->front().kernel.id, kernel->id);
    EXPECT_GT(known->front().bytes, 0U);
    EXPECT_EQ(show("mine", options_)->kernel.id, kernel->id);
    ASSERT_TRUE(remove("mine", options_));
    ASSERT_TRUE(remove(kernel->id, options_));
    EXPECT_THAT(list(options_).value(), IsEmpty());
    EXPECT_THAT(all_built(Cache(options_.cache)), IsEmpty());
}

TEST_F(Lab, ModuleIsBuiltOnceAndCached) {
    const Kernel kernel = good(spec());
    const ModuleSource source{"thing", {{"Kbuild", "obj-m := thing.o\n"}, {"thing.c", "one"}}};
    ASSERT_TRUE(can_build_modules(kernel));
    const auto module = build_module(kernel, source, options_);
    ASSERT_TRUE(module) << module.error().text();
    EXPECT_EQ(module->name, "thing");
    EXPECT_EQ(module->bytes, "one");
    options_.offline = true;
    EXPECT_EQ(build_module(kernel, source, options_)->bytes, "one");
    const ModuleSource other{"thing", {{"Kbuild", "obj-m := thing.o\n"}, {"thing.c", "two"}}};
    EXPECT_FALSE(build_module(kernel, other, options_));
    options_.offline = false;
    EXPECT_EQ(build_module(kernel, other, options_)->bytes, "two");
    EXPECT_FALSE(build_module(kernel, {"thing", {{"../x", ""}, {"Kbuild", ""}}}, options_));
    EXPECT_FALSE(build_module(kernel, {"thing", {{"thing.c", ""}}}, options_));
    Kernel debian = kernel;
    debian.devel.reset();
    EXPECT_FALSE(can_build_modules(debian));
    EXPECT_EQ(build_module(debian, source, options_).error().code, Code::environment);
}

TEST_F(Lab, PruneTakesTreesFirstAndKeepsKernelsInUse) {
    const Kernel kernel = good(spec());
    const auto shown = prune(0, true, options_);
    ASSERT_TRUE(shown);
    EXPECT_FALSE(shown->removed.empty());
    EXPECT_TRUE(fs::exists(kernel.image));
    const auto done = prune(0, false, options_);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_LT(done->after, done->before);
    EXPECT_THAT(done->kept, Contains(HasSubstr("within the last day")));
    EXPECT_TRUE(fs::exists(kernel.image));
    EXPECT_TRUE(fs::is_empty(options_.cache / "kernels/build"));
    EXPECT_EQ(good(spec()).id, kernel.id);
    EXPECT_EQ(builds(), 1U) << "a kernel doesn't need its tree";
}

}  // namespace
}  // namespace mano::kernels
