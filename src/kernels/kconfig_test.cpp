// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/kconfig.h"

#include <gmock/gmock.h>

#include "kernels/shipped.h"
#include "kernels/test_files.h"

namespace mano::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Setting> settings(std::string_view text, Series kernel = {7, 3}) {
    const auto parsed = parse_fragment(text, "x.config", kernel);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text());
    return parsed.value_or(std::vector<Setting>{});
}

TEST(Fragment, Lines) {
    const auto all = settings(
        "# a comment\n\nCONFIG_A=y\nCONFIG_B=m\r\n# CONFIG_C is not set\nCONFIG_D=0x10\n"
        "CONFIG_E=\"x y\"\n CONFIG_F = n \n");
    std::string text;
    for (const Setting& one : all)
        text += one.option + "=" + one.value + "@" + one.where + " ";
    EXPECT_EQ(text,
              "A=y@x.config:3 B=m@x.config:4 C=n@x.config:5 D=0x10@x.config:6 "
              "E=\"x y\"@x.config:7 F=n@x.config:8 ");
}

TEST(Fragment, SectionsForVersions) {
    constexpr std::string_view kText =
        "CONFIG_A=y\n#@ from 6.12\nCONFIG_NEW=y\n#@ before 6.12\nCONFIG_OLD=y\n#@ all\n"
        "CONFIG_Z=y\n";
    const auto names = [&](Series kernel) {
        std::string out;
        for (const Setting& one : settings(kText, kernel))
            out += one.option + " ";
        return out;
    };
    EXPECT_EQ(names({6, 1}), "A OLD Z ");
    EXPECT_EQ(names({6, 12}), "A NEW Z ");
    EXPECT_EQ(names({7, 3}), "A NEW Z ");
}

TEST(Fragment, Typos) {
    for (const char* line : {"CONFIG_A", "CONFIG_A=", "CONFIG_A=yes", "A=y", "CONFIG_A=\"x",
                             "CONFIG_a-b=y", "#@ since 6.1", "#@ from six"}) {
        const auto parsed =
            parse_fragment(fmt::format("CONFIG_OK=y\n{}\n", line), "x.config", {7, 3});
        ASSERT_FALSE(parsed) << line;
        EXPECT_THAT(parsed.error().text(), HasSubstr("x.config:2: '")) << line;
        EXPECT_THAT(parsed.error().text(), HasSubstr("expected")) << line;
    }
}

TEST(Fragment, LaterReplacesEarlierAndSaysSo) {
    const Merged merged = merge_settings(
        {settings("CONFIG_A=y\nCONFIG_B=y\n"), settings("CONFIG_A=n\nCONFIG_C=3\n")});
    EXPECT_EQ(settings_text(merged.settings), "# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=3\n");
    EXPECT_THAT(merged.notes, ElementsAre("x.config:1: CONFIG_A=n in place of y (x.config:1)."));
}

TEST(Fragment, SeriesOfVersions) {
    EXPECT_EQ(parse_series("7.3")->text(), "7.3");
    EXPECT_EQ(parse_series("6.12.118-1")->text(), "6.12");
    EXPECT_EQ(parse_series("7.3-rc1")->text(), "7.3");
    EXPECT_FALSE(parse_series("7"));
    EXPECT_FALSE(parse_series("x.y"));
    EXPECT_LT(*parse_series("6.2"), *parse_series("6.12"));
}

// Every shipped fragment is one, for each kernel that Debian has.
TEST(Fragment, ShippedOnesParse) {
    const auto names = shipped_names("config");
    EXPECT_THAT(names,
                testing::IsSupersetOf({"base.config", "rt.config", "numa.config", "debug.config"}));
    for (const std::string& name : names) {
        for (const Series kernel : {Series{6, 1}, Series{6, 12}, Series{7, 2}, Series{7, 3}}) {
            const auto parsed = parse_fragment(*shipped_file("config/" + name), name, kernel);
            ASSERT_TRUE(parsed) << parsed.error().text();
            EXPECT_FALSE(parsed->empty()) << name << " " << kernel.text();
        }
    }
}

// The tick rate is one in all of them, whatever fragments are merged.
TEST(Fragment, OneTickRate) {
    for (const std::string& name : shipped_names("config")) {
        const auto parsed = parse_fragment(*shipped_file("config/" + name), name, {7, 3});
        ASSERT_TRUE(parsed);
        for (const Setting& one : *parsed) {
            if (!one.option.starts_with("HZ")) continue;
            if (one.option == "HZ_250" || !one.option.starts_with("HZ_")) continue;
            EXPECT_EQ(one.value, "n") << one.where;
        }
    }
}

TEST(Expression, Values) {
    const Config config = {{"Y", "y"}, {"M", "m"}, {"N", "n"}, {"S", "\"x\""}, {"I", "250"}};
    const auto value = [&](std::string_view text) { return evaluate_kconfig(text, config); };
    EXPECT_EQ(value("Y"), 2);
    EXPECT_EQ(value("M"), 1);
    EXPECT_EQ(value("N"), 0);
    EXPECT_EQ(value("UNKNOWN"), 0);
    EXPECT_EQ(value("!N && Y"), 2);
    EXPECT_EQ(value("Y && M"), 1);
    EXPECT_EQ(value("N || M"), 1);
    EXPECT_EQ(value("!M"), 1);
    EXPECT_EQ(value("(N || Y) && !(M && N)"), 2);
    EXPECT_EQ(value("Y=y"), 2);
    EXPECT_EQ(value("M!=n && I=250"), 2);
    EXPECT_EQ(value("Y=n"), 0);
    EXPECT_FALSE(value("$(cc-option,-mx)"));
    EXPECT_FALSE(value("(Y"));
    EXPECT_FALSE(value(""));
    EXPECT_FALSE(value(std::string(5000, '(')));
    EXPECT_FALSE(value(std::string(5000, '!') + "Y"));
}

class Unmet : public testing::Test {
  protected:
    void SetUp() override {
        folder_.file("Kconfig",
                     "source \"arch/$(SRCARCH)/Kconfig\"\n"
                     "if BLOCK\nsource \"mm/Kconfig\"\nendif\n");
        folder_.file("arch/x86/Kconfig",
                     "config X86\n\tdef_bool y\n\tselect CHOSEN if SMP\n"
                     "config SMP\n\tbool \"SMP\"\n\thelp\n\t  config NOT_ONE\n\n\t  More.\n"
                     "config BLOCK\n\tbool \"Block\"\n");
        folder_.file("mm/Kconfig",
                     "menu \"Memory\"\n\tdepends on MMU\n"
                     "config SWAP\n\tbool \"Swap\"\n\tdepends on SYSFS && \\\n\t\t!EMBEDDED\n"
                     "endmenu\n"
                     "config CHOSEN\n\tbool\n"
                     "config COMPUTED\n\tdef_bool SMP\n"
                     "choice\n\tprompt \"One\"\n"
                     "config ONE\n\tbool \"one\"\nconfig TWO\n\tbool \"two\"\nendchoice\n"
                     "config EXPERT_ONLY\n\tbool \"x\" if EXPERT\n"
                     "config TRI\n\ttristate \"t\"\n");
        kconfig_ = Kconfig::read(folder_.path());
    }
    std::string why(const std::string& line, Config config) {
        config.try_emplace("BLOCK", "y");
        const auto unmet = unmet_settings(settings(line), config, kconfig_);
        return unmet.size() == 1 ? unmet[0] : fmt::format("{} unmet", unmet.size());
    }
    test::Folder folder_;
    Kconfig kconfig_;
};

TEST_F(Unmet, NothingWhenAllStuck) {
    EXPECT_EQ(why("CONFIG_SMP=y\n", {{"SMP", "y"}}), "0 unmet");
    EXPECT_EQ(why("# CONFIG_SMP is not set\n", {}), "0 unmet");
}

TEST_F(Unmet, Reasons) {
    EXPECT_THAT(why("CONFIG_SPAM=y\n", {}),
                HasSubstr("x.config:1: CONFIG_SPAM=y became n: this kernel has no such option; did "
                          "you mean CONFIG_S"));
    // A misspelt option that is to be off would go unseen otherwise.
    EXPECT_THAT(why("# CONFIG_SWAPP is not set\n", {}), HasSubstr("did you mean CONFIG_SWAP?"));
    EXPECT_THAT(why("CONFIG_NOT_ONE=y\n", {}), HasSubstr("no such option")) << "help isn't read";
    EXPECT_THAT(why("CONFIG_SWAP=y\n", {{"MMU", "y"}}),
                HasSubstr("depends on SYSFS, which isn't so (mm/Kconfig:3)"));
    EXPECT_THAT(why("CONFIG_SWAP=y\n", {{"SYSFS", "y"}}), HasSubstr("depends on MMU"));
    EXPECT_THAT(why("CONFIG_TRI=y\n", {{"BLOCK", "n"}}), HasSubstr("depends on BLOCK"));
    EXPECT_THAT(why("CONFIG_CHOSEN=y\n", {}),
                HasSubstr("it is on where one of these is: CONFIG_X86"));
    EXPECT_THAT(why("# CONFIG_CHOSEN is not set\n", {{"CHOSEN", "y"}, {"X86", "y"}, {"SMP", "y"}}),
                HasSubstr("it is selected by CONFIG_X86"));
    EXPECT_THAT(why("CONFIG_COMPUTED=y\n", {}), HasSubstr("the kernel computes it"));
    EXPECT_THAT(why("CONFIG_ONE=y\n", {{"TWO", "y"}}), HasSubstr("CONFIG_TWO was taken"));
    EXPECT_THAT(why("CONFIG_EXPERT_ONLY=y\n", {}), HasSubstr("only be chosen if EXPERT"));
    EXPECT_THAT(why("CONFIG_SMP=m\n", {}), HasSubstr("it can't be a module"));
    EXPECT_THAT(why("CONFIG_TRI=3\n", {}), HasSubstr("it is y, m or n"));
}

TEST_F(Unmet, BrokenFilesExplainLess) {
    const Kconfig none = Kconfig::read(folder_.path() / "nowhere");
    EXPECT_FALSE(none.has("SMP"));
    folder_.file("Kconfig",
                 "source \"Kconfig\"\nendif\nendmenu\nconfig\nchoice\nsource \"../x\"\n");
    EXPECT_FALSE(Kconfig::read(folder_.path()).has("SMP"));
}

}  // namespace
}  // namespace mano::kernels
