// SPDX-License-Identifier: GPL-2.0-or-later
#include "interchange/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mano::interchange {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string json_error(std::string_view text) {
    const auto tree = parse_json(text, "f.json");
    return tree ? "no error" : tree.error().message;
}
std::string yaml_error(std::string_view text) {
    const auto tree = parse_yaml(text, "f.yaml");
    return tree ? "no error" : tree.error().message;
}
std::string show(Place place) {
    return fmt::format("{}:{}", place.line, place.column);
}

TEST(Json, ValuesKnowTheirPlaces) {
    const auto tree = parse_json(
        "{\n  \"a\": [1, -2.5,\n    true],\n  \"b\": {\"c\": \"x\"}, \"d\":null}\n", "f.json");
    ASSERT_TRUE(tree) << tree.error().text();
    const Node* const a = tree->find("a");
    ASSERT_NE(a, nullptr);
    ASSERT_EQ(a->items.size(), 3U);
    EXPECT_EQ(show(a->place), "2:8");
    EXPECT_EQ(show(a->items[0].place), "2:9");
    EXPECT_EQ(a->items[1].number, -2.5);
    EXPECT_EQ(show(a->items[1].place), "2:12");
    EXPECT_EQ(show(a->items[2].place), "3:5");
    EXPECT_TRUE(a->items[2].boolean);
    EXPECT_EQ(tree->find("b")->find("c")->text, "x");
    EXPECT_EQ(show(tree->find("b")->find("c")->place), "4:14");
    EXPECT_TRUE(tree->find("d")->is(Node::Kind::null));
    EXPECT_EQ(tree->find("e"), nullptr);
}

TEST(Json, NumbersAtTheEndOfALine) {
    const auto tree = parse_json("{\"a\": [\n  10,\n  20\n]}", "f.json");
    ASSERT_TRUE(tree);
    EXPECT_EQ(show(tree->find("a")->items[0].place), "2:3");
    EXPECT_EQ(tree->find("a")->items[1].place.line, 3U);
}

TEST(Json, FaultsNameLineAndColumn) {
    EXPECT_THAT(json_error("{\"a\": 1,\n \"a\": 2}"),
                HasSubstr("f.json:2:2: the key \"a\" stands here again, first on line 1"));
    EXPECT_THAT(json_error("{\"a\": NaN}"), StartsWith("f.json:1:"));
    EXPECT_THAT(json_error("{\"a\":\n  [1, 2"), StartsWith("f.json:2:"));
    EXPECT_THAT(json_error("{\"a\": 1e999}"), StartsWith("f.json:1:"));
    EXPECT_THAT(json_error("{\"a\": \"\xff\"}"), StartsWith("f.json:1:"));
    EXPECT_THAT(json_error(""), HasSubstr("f.json:1:1: the file is empty"));
    EXPECT_THAT(json_error(" \r\n "), HasSubstr("empty"));
    EXPECT_THAT(json_error(std::string(100, '[')), HasSubstr("nested deeper than 64"));
    EXPECT_THAT(json_error("{\"a\": 1} x"), StartsWith("f.json:1:"));
}

TEST(Json, TooManyValues) {
    std::string text = "[0";
    for (std::size_t i = 0; i <= kMaxNodes; ++i)
        text += ",0";
    EXPECT_THAT(json_error(text + "]"), HasSubstr("more than 1000000 values"));
}

TEST(Yaml, ScalarsListsMaps) {
    const auto tree = parse_yaml(
        "---\ninfo:\n  release: 6.1\n  version: '#1 SMP'\nmetrics:\n  - stressor: null\n    ops: "
        "5\n"
        "    rate: .nan\n    none: ~\n...\n",
        "f.yaml");
    ASSERT_TRUE(tree) << tree.error().text();
    EXPECT_EQ(tree->find("info")->find("version")->text, "#1 SMP");
    EXPECT_EQ(tree->find("info")->find("release")->text, "6.1");
    const Node& entry = tree->find("metrics")->items.at(0);
    EXPECT_EQ(entry.find("stressor")->text, "null");
    EXPECT_EQ(entry.find("ops")->number, 5);
    EXPECT_EQ(show(entry.find("ops")->place), "7:10");
    EXPECT_TRUE(entry.find("rate")->is(Node::Kind::text));
    EXPECT_TRUE(entry.find("none")->is(Node::Kind::null));
}

TEST(Yaml, FaultsNameLineAndColumn) {
    EXPECT_THAT(yaml_error("a: 1\nb: [1, 2\n"), StartsWith("f.yaml:3:1: not YAML, or cut off"));
    EXPECT_THAT(yaml_error("a: 1\na: 2\n"),
                HasSubstr("f.yaml:2:1: the key \"a\" stands here again"));
    EXPECT_THAT(yaml_error("a: &x 1\nb: *x\n"), HasSubstr("f.yaml:1:4: an anchor"));
    EXPECT_THAT(yaml_error("a: *x\n"), HasSubstr("an alias"));
    EXPECT_THAT(yaml_error("? [a]\n: 1\n"), HasSubstr("a list or map as a key"));
    EXPECT_THAT(yaml_error("--- a\n--- b\n"), HasSubstr("a second document"));
    EXPECT_THAT(yaml_error(""), HasSubstr("f.yaml:1:1: the file is empty"));
    EXPECT_THAT(yaml_error("a: \xff\n"), StartsWith("f.yaml:"));
    EXPECT_THAT(yaml_error(std::string(100, '[')), StartsWith("f.yaml:1:"));
    EXPECT_THAT(yaml_error("a:\tb\n\tc: d"), StartsWith("f.yaml:"));
}

TEST(Text, LinesAndTheirFaults) {
    const auto lines = split_lines(
        "\xEF\xBB\xBF"
        "a\r\nb\n\nc",
        "f", 10);
    ASSERT_TRUE(lines);
    ASSERT_EQ(lines->size(), 4U);
    EXPECT_EQ((*lines)[0].text, "a");
    EXPECT_EQ((*lines)[3].number, 4U);
    EXPECT_EQ((*lines)[3].text, "c");
    const auto message = [](std::string_view text, std::size_t most = 10) {
        const auto found = split_lines(text, "f", most);
        return found ? "no error" : found.error().message;
    };
    EXPECT_THAT(message("a\nb\xff"), HasSubstr("f:2:2: byte 0xff isn't UTF-8"));
    EXPECT_THAT(message(std::string_view("a\nb\0", 4)), HasSubstr("f:2:2: a NUL byte"));
    EXPECT_THAT(message("a\nb\nc", 2), HasSubstr("f:3:1: more than 2 lines"));
    EXPECT_THAT(message(std::string(kMaxLineBytes + 1, 'x')), HasSubstr("f:1:1: a line of more"));
}

TEST(Text, Numbers) {
    EXPECT_EQ(parse_real("1.5e3"), 1500);
    EXPECT_EQ(parse_real("+2"), 2);
    for (const std::string_view bad :
         {"", "nan", "inf", "1e999", "0x1", "1,5", "1 ", "+-1", "--1"}) {
        EXPECT_EQ(parse_real(bad), std::nullopt) << bad;
    }
    EXPECT_EQ(parse_whole("12"), 12U);
    for (const std::string_view bad : {"", "-1", "1.0", "99999999999999999999"}) {
        EXPECT_EQ(parse_whole(bad), std::nullopt) << bad;
    }
    EXPECT_EQ(show(place_of("ab\ncd", 3)), "2:1");
    EXPECT_EQ(show(place_of("ab\ncd", 99)), "2:3");
}

}  // namespace
}  // namespace mano::interchange
