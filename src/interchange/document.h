// SPDX-License-Identifier: GPL-2.0-or-later
// JSON and YAML → one tree whose nodes know their place in the file, so that every complaint about
// a value can name its line and column. Hostile input: depth, size and number of nodes are bounded,
// a key that stands twice in one map is an error. Knows no tool's format.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interchange/text.h"

namespace mano::interchange {

struct Node {
    enum class Kind : unsigned char { null, boolean, number, text, list, map };
    Kind kind = Kind::null;
    bool boolean = false;
    double number = 0;  // finite
    Place place;
    std::string text;  // of Kind::text; of a number as written
    std::vector<Node> items;
    std::vector<std::pair<std::string, Node>> members;  // in the order of the file

    // Not in the header: a pair with a Node needs a Node that is complete.
    Node();
    Node(const Node& other);
    Node(Node&& other) noexcept;
    Node& operator=(const Node& other);
    Node& operator=(Node&& other) noexcept;
    ~Node();

    // nullptr: not there, or this is no map.
    const Node* find(std::string_view key) const;
    bool is(Kind wanted) const { return kind == wanted; }
};
std::string_view name_of(Node::Kind kind);  // "a list"

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxDocumentBytes = std::size_t{128} << 20;

// RFC 8259, strictly: no NaN, no comments. Code::hostile with file, line and column.
Result<Node> parse_json(std::string_view text, std::string_view file);
// One YAML 1.1 document. Anchors and aliases are refused: no tool here writes them, and they are
// how a small file becomes a large tree. A plain scalar that is a finite number becomes one; the
// others
// (".nan" too) stay text.
Result<Node> parse_yaml(std::string_view text, std::string_view file);

// The member, of that kind; else Code::hostile saying what was expected where.
Result<const Node*> expect(const Node& map, std::string_view key, Node::Kind kind,
                           std::string_view file);

// What both parsers build the tree with. Only for this folder.
class TreeBuilder {
  public:
    explicit TreeBuilder(std::string_view file) : file_(file) {}
    Status value(Node node);
    Status open(Node::Kind kind, Place place);
    Status close();
    Status key(std::string key, Place place);
    bool done() const { return stack_.empty() && root_set_; }
    Node take() { return std::move(root_); }

  private:
    struct Level {
        Node node;
        std::string key;
        std::unordered_map<std::string, std::uint64_t> lines;  // of the keys so far
    };
    Status attach(Node node);

    std::string file_;
    std::vector<Level> stack_;
    Node root_;
    bool root_set_ = false;
    std::size_t nodes_ = 0;
};

}  // namespace mano::interchange
