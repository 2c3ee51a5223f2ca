// SPDX-License-Identifier: GPL-2.0-or-later
// Each built-in experiment's C file is compiled by the command that its own head names, with every
// warning as an error.
#include "reproduce/reproduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/process.h"
#include "experiment/experiment.h"

namespace mano::reproduce {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

plan::Plan plan_of(const std::string& name) {
    auto experiment = experiment::load(name);
    EXPECT_TRUE(experiment) << name;
    experiment::PlanOptions options;
    options.arms = {{"a", "debian:7.3", {}, {}}};
    options.command = name == "command" ? R"(echo "a\b" */ ?\?/ 'x')" : "";
    auto plan = experiment::make_plan(*experiment, options);
    if (plan) return std::move(*plan);
    ADD_FAILURE() << name << ": " << plan.error().text();
    return {};
}

// What gcc says; empty: nothing.
std::string compile(const std::string& text) {
    auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "mano-reproduce-");
    if (!folder) return folder.error().text();
    const auto file = folder->path() / "reproduce.c";
    if (const Status done = write_file_atomic(file, text); !done) return done.error().text();
    const auto said = run_program({"gcc", "-O2", "-Wall", "-Werror", "-o",
                                   (folder->path() / "reproduce").string(), file.string()});
    if (!said) return said.error().text();
    return said->exit.ok() ? "" : said->err + said->exit.text();
}

class BuiltIn : public ::testing::TestWithParam<std::string> {};

TEST_P(BuiltIn, Compiles) {
    const auto text = stand_alone_c(plan_of(GetParam()), "", "manometer run x -k a=b");
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_EQ(compile(*text), "");
}

INSTANTIATE_TEST_SUITE_P(All, BuiltIn, ::testing::ValuesIn(experiment::built_in_names()),
                         [](const auto& of) {
                             std::string name = of.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(Reproduce, TheCaseDecidesTheParameters) {
    const plan::Plan plan = plan_of("mthp-fault");
    const auto quiet = stand_alone_c(plan, plan.cases.front().name, "x");
    const auto full = stand_alone_c(plan, "", "x");
    ASSERT_TRUE(quiet && full);
    EXPECT_THAT(*quiet, HasSubstr("#define PRESSURE_DEMAND 900000 "));
    EXPECT_THAT(*full, HasSubstr("#define PRESSURE_DEMAND 1000000 ")) << "the last one by default";
    const auto none = stand_alone_c(plan, "demand=7%", "x");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().text(), HasSubstr(plan.cases.front().name));
}

// Texts come from experiments and stores of others.
TEST(Reproduce, NoTextBreaksOut) {
    plan::Plan plan = plan_of("idle");
    plan.question = "ends */ int main(void) { here";
    plan.cases[0].trial.settings.push_back({"/proc/sys/\"; abort(); //", "\n\\\"?\?/", true});
    const auto text = stand_alone_c(plan, "", "*/ #error\n#error");
    ASSERT_TRUE(text);
    EXPECT_EQ(compile(*text), "");
    EXPECT_THAT(*text, Not(HasSubstr("*/ int main(void) { here")));
}

}  // namespace
}  // namespace mano::reproduce
