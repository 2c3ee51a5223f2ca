// SPDX-License-Identifier: GPL-2.0-or-later
#include "interchange/document.h"

#include <algorithm>

namespace mano::interchange {

Node::Node() = default;
Node::Node(const Node& other) = default;
Node::Node(Node&& other) noexcept = default;
Node& Node::operator=(const Node& other) = default;
Node& Node::operator=(Node&& other) noexcept = default;
Node::~Node() = default;

const Node* Node::find(std::string_view key) const {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const auto& member) { return member.first == key; });
    return found == members.end() ? nullptr : &found->second;
}

std::string_view name_of(Node::Kind kind) {
    switch (kind) {
        case Node::Kind::null:
            return "nothing";
        case Node::Kind::boolean:
            return "true or false";
        case Node::Kind::number:
            return "a number";
        case Node::Kind::text:
            return "a text";
        case Node::Kind::list:
            return "a list";
        case Node::Kind::map:
            return "a map";
    }
    return "nothing";
}

Result<const Node*> expect(const Node& map, std::string_view key, Node::Kind kind,
                           std::string_view file) {
    const Node* const found = map.find(key);
    if (found == nullptr) {
        return fail_at(file, map.place, "no \"{}\" here, expected {}", key, name_of(kind));
    }
    if (found->kind != kind) {
        return fail_at(file, found->place, "\"{}\" is {}, expected {}", key, name_of(found->kind),
                       name_of(kind));
    }
    return found;
}

Status TreeBuilder::attach(Node node) {
    if (stack_.empty()) {
        if (root_set_) return fail_at(file_, node.place, "a second value after the end");
        root_ = std::move(node);
        root_set_ = true;
        return {};
    }
    Level& level = stack_.back();
    if (level.node.kind == Node::Kind::list) {
        level.node.items.push_back(std::move(node));
    } else {
        level.node.members.emplace_back(std::move(level.key), std::move(node));
        level.key.clear();
    }
    return {};
}

Status TreeBuilder::value(Node node) {
    if (++nodes_ > kMaxNodes) {
        return fail_at(file_, node.place, "more than {} values", kMaxNodes);
    }
    return attach(std::move(node));
}

Status TreeBuilder::open(Node::Kind kind, Place place) {
    if (stack_.size() >= kMaxDepth) {
        return fail_at(file_, place, "nested deeper than {} levels", kMaxDepth);
    }
    if (++nodes_ > kMaxNodes) return fail_at(file_, place, "more than {} values", kMaxNodes);
    Level level;
    level.node.kind = kind;
    level.node.place = place;
    stack_.push_back(std::move(level));
    return {};
}

Status TreeBuilder::close() {
    Node node = std::move(stack_.back().node);
    stack_.pop_back();
    return attach(std::move(node));
}

Status TreeBuilder::key(std::string key, Place place) {
    Level& level = stack_.back();
    const auto [first, added] = level.lines.try_emplace(key, place.line);
    if (!added) {
        return fail_at(file_, place, "the key \"{}\" stands here again, first on line {}", key,
                       first->second);
    }
    level.key = std::move(key);
    return {};
}

}  // namespace mano::interchange
