// SPDX-License-Identifier: GPL-2.0-or-later
// One lab kernel from Debian's source, one patch on it, and its placebo: built (or found in the
// cache), booted, and what the documents say of them. The build takes about ten minutes on two idle
// CPUs where nothing is cached.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdio>

#include "base/file.h"
#include "base/units.h"
#include "kernels/lab_build.h"
#include "kernels/module_build.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;
using testing::HasSubstr;

constexpr const char* kBase = "source:7.3";

// The cache knows the kernel by the patch's bytes, not by its path.
std::string patch_file() {
    static const auto folder =
        TempFolder::make(std::filesystem::temp_directory_path(), "mano-lab-");
    EXPECT_TRUE(folder) << (folder ? "" : folder.error().text());
    if (!folder) return "";
    const std::filesystem::path file = folder->path() / "version.patch";
    EXPECT_TRUE(write_file_atomic(file,
                                  "--- a/fs/proc/version.c\n+++ b/fs/proc/version.c\n"
                                  "@@ -9,6 +9,7 @@\n"
                                  " \n"
                                  " static int version_proc_show(struct seq_file *m, void *v)\n"
                                  " {\n"
                                  "+\tseq_puts(m, \"patched \");\n"
                                  " \tseq_printf(m, linux_proc_banner,\n"
                                  " \t\tutsname()->sysname,\n"
                                  " \t\tutsname()->release,\n"));
    return file.string();
}

void show_progress(kernels::Options& options) {
    options.cache = cache_folder();
    options.progress = [](std::string_view what, std::uint64_t, std::uint64_t) {
        static std::string last;
        if (what != last) std::printf("%.*s\n", static_cast<int>(what.size()), what.data());
        last = what;
    };
    options.building = [](const kernels::Building& step) {
        static std::uint64_t last = 0;
        if (step.done / 100 != last) {
            std::printf("%llu of %llu objects\n", static_cast<unsigned long long>(step.done),
                        static_cast<unsigned long long>(step.expected));
            std::fflush(stdout);
        }
        last = step.done / 100;
    };
}

kernels::Kernel built(const std::string& spec) {
    kernels::Options options;
    show_progress(options);
    const auto start = std::chrono::steady_clock::now();
    auto kernel = kernels::resolve(spec, options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%s: %.0f s\n", spec.c_str(), took.count());
    EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().text());
    return kernel.value_or(kernels::Kernel{});
}

TEST(Lab, BaseBootsWithEverythingThatExperimentsUse) {
    const kernels::Kernel base = built(kBase);
    ASSERT_FALSE(base.id.empty());
    EXPECT_THAT(base.provenance.release, testing::EndsWith("-lab"));
    EXPECT_TRUE(base.pvh);
    EXPECT_TRUE(kernels::can_build_modules(base));
    EXPECT_EQ(kernels::config_value(base, "HZ")->value_or(""), "250");
    OneTrial one(kBase);
    plan::TrialPlan& trial = one.trial();
    one.plan.shape.zram_bytes = 96 * kMiB;
    trial.swap = {96 * kMiB, "lz4"};
    trial.iterations = 2;
    trial.pressure = {
        plan::LoadId::hold, {950'000, 2, 0, 0, 16384, 750'000, 50'000'000, 10'000}, ""};
    trial.counters = {{"tp.page_alloc", "kmem/mm_page_alloc", "order == 0"}};
    const auto record = record_of(one);
    ASSERT_EQ(record.ending, Ending::goodbye) << record.evidence;
    const auto counted = [&](measure::Moment moment) {
        return value(record, "tp.page_alloc", 0, moment).value_or(0);
    };
    EXPECT_GT(counted(measure::Moment::after), counted(measure::Moment::before));
}

TEST(Lab, AModuleBuildsAgainstIt) {
    const kernels::Kernel base = built(kBase);
    ASSERT_FALSE(base.id.empty());
    const kernels::ModuleSource source{
        "lab_test",
        {{"Kbuild", "obj-m := lab_test.o\n"},
         {"lab_test.c",
          "// SPDX-License-Identifier: GPL-2.0-or-later\n"
          "#include <linux/module.h>\n"
          "static int __init lab_test_init(void) { return 0; }\n"
          "static void __exit lab_test_exit(void) { }\n"
          "module_init(lab_test_init);\nmodule_exit(lab_test_exit);\n"
          "MODULE_LICENSE(\"GPL\");\nMODULE_DESCRIPTION(\"test\");\n"}}};
    kernels::Options options;
    options.cache = cache_folder();
    const auto module = kernels::build_module(base, source, options);
    ASSERT_TRUE(module) << module.error().text();
    EXPECT_THAT(module->bytes, HasSubstr("vermagic=" + base.provenance.release));
    options.offline = true;
    EXPECT_EQ(kernels::build_module(base, source, options)->bytes, module->bytes);
}

TEST(Lab, OnePatch) {
    const kernels::Kernel base = built(kBase);
    const std::string spec = std::string(kBase) + "+" + patch_file();
    const kernels::Kernel patched = built(spec);
    ASSERT_FALSE(patched.id.empty());
    EXPECT_NE(patched.id, base.id);
    EXPECT_EQ(patched.provenance.release, base.provenance.release)
        << "a patch changes nothing beside what it changes";
    EXPECT_EQ(patched.provenance.config_sha256, base.provenance.config_sha256);
    OneTrial one(spec);
    one.trial().iterations = 1;
    const auto record = record_of(one);
    EXPECT_EQ(record.ending, Ending::goodbye) << record.evidence;
}

TEST(Lab, PlaceboMovesAndChangesNothing) {
    const kernels::Kernel base = built(kBase);
    const kernels::Kernel placebo = built(std::string(kBase) + ",placebo");
    ASSERT_FALSE(placebo.id.empty());
    EXPECT_NE(placebo.id, base.id);
    const auto symbols = [](const kernels::Kernel& kernel) {
        return read_file(kernel.devel->parent_path() / "symbols").value_or("");
    };
    const auto difference = kernels::compare_layout(symbols(base), symbols(placebo));
    std::printf("%s\n", difference.text().c_str());
    EXPECT_GT(difference.functions, 10'000U);
    EXPECT_GT(difference.moved_functions * 10, difference.functions * 8);
    EXPECT_EQ(difference.differing_count, 0U);
    OneTrial one(std::string(kBase) + ",placebo");
    EXPECT_EQ(record_of(one).ending, Ending::goodbye);
}

}  // namespace
}  // namespace mano::guest_test
