// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/kernel_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/output.h"

namespace mano::cli {
namespace {

kernels::Kernel kernel() {
    kernels::Kernel one;
    one.id = std::string(64, 'a');
    one.provenance.spec = "debian:7.3";
    one.provenance.exact_spec = "debian:7.3.4+deb13-cloud";
    one.provenance.release = "7.3.4+deb13-cloud-amd64";
    one.provenance.packages = {{"linux-binary-7.3.4", "7.3.4-1"}};
    return one;
}

TEST(KernelJson, WhatResumingNeedsComesBack) {
    const auto stored = stored_kernel(kernel_json_text(kernel()));
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->id, std::string(64, 'a'));
    EXPECT_EQ(stored->spec, "debian:7.3");
    EXPECT_EQ(stored->exact_spec, "debian:7.3.4+deb13-cloud");
    EXPECT_EQ(stored->release, "7.3.4+deb13-cloud-amd64");
}

TEST(KernelJson, UnknownIsNull) {
    const auto value = kernel_to_json(kernel());
    EXPECT_TRUE(value.at("compiler").is_null());
    EXPECT_TRUE(value.at("config_sha256").is_null());
    EXPECT_EQ(value.at("packages").at("linux-binary-7.3.4"), "7.3.4-1");
}

TEST(KernelJson, BytesThatAreNoUtf8DoNotBreakIt) {
    kernels::Kernel one = kernel();
    one.provenance.banner = "Linux \xff\xfe version";
    EXPECT_TRUE(stored_kernel(kernel_json_text(one)));
}

TEST(KernelJson, AnybodysStoreIsNotBelieved) {
    for (const char* text : {"", "{", "[]", "null", "{}", R"({"id":1,"spec":"debian:7.3"})",
                             R"({"id":"aa"})", R"({"id":"","spec":"x"})"}) {
        EXPECT_FALSE(stored_kernel(text)) << text;
    }
}

TEST(Output, AGuestCannotSteerTheTerminal) {
    EXPECT_EQ(printable("a\x1b[2Jb\r\nc\td\x7f"), "a?[2Jb?\nc d?");
}

TEST(Output, FilledTextKeepsItsParagraphs) {
    EXPECT_EQ(fill("one\ntwo  three\n\nfour\n", 2), "  one two three\n\n  four\n");
    const std::string word(30, 'x');
    EXPECT_EQ(fill(word + " " + word + " " + word, 4),
              "    " + word + " " + word + "\n    " + word + "\n");
    EXPECT_EQ(fill("", 2), "");
    EXPECT_EQ(fill("\n\n", 2), "");
}

TEST(Output, ColumnsLineUp) {
    EXPECT_EQ(columns({{"a", "n"}, {"long", "12"}, {"b", "3"}}, {1}),
              "a      n\nlong  12\nb      3\n");
    EXPECT_EQ(columns({{"a", ""}, {"b"}}), "a\nb\n");
}

TEST(Output, ExitCodesAreTheContracts) {
    const auto code = [](Code what) { return exit_code_of({what, "x", nullptr}); };
    EXPECT_EQ(code(Code::invalid), 1);
    EXPECT_EQ(code(Code::not_found), 1);
    EXPECT_EQ(code(Code::environment), 2);
    EXPECT_EQ(code(Code::hostile), 3);
    EXPECT_EQ(code(Code::corrupt), 2);
    EXPECT_EQ(code(Code::internal), 3);
    EXPECT_EQ(code(Code::interrupted), 130);
}

}  // namespace
}  // namespace mano::cli
