// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment/section.h"

#include <algorithm>
#include <cmath>

namespace mano::experiment {
namespace {

constexpr std::size_t kMaxList = 256;

// Text that is shown on terminals and stored: no control characters but line ends and tabs.
bool is_clean(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t';
    });
}

// A key may hold anything that TOML allows in quotes; messages show the plain part of it.
std::string shown(std::string_view key) {
    std::string text;
    for (const char c : key.substr(0, 64))
        text += c >= ' ' && c <= '~' ? c : '?';
    return text;
}

}  // namespace

Section::Section(const Node& node, std::string name, Faults& faults)
    : name_(std::move(name)), faults_(faults), place_(node.place) {
    if (node.kind == Node::Kind::table) {
        node_ = &node;
    } else {
        faults_.add(node.place,
                    fmt::format("{}: found {}, expected a table", name_, name_of(node.kind)));
    }
}

const Entry* Section::take(std::string_view key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return node_ == nullptr ? nullptr : find_entry(*node_, key);
}

void Section::fault(const Entry& entry, const std::string& text) {
    faults_.add(entry.value.place, fmt::format("{}: {}", shown(entry.key), text));
}

void Section::missing(std::string_view key, std::string_view what) {
    if (node_ == nullptr) return;  // said already
    faults_.add(place_, fmt::format("{}: '{}' is missing, expected {}", name_, key, what));
}

void Section::wrong_type(const Entry& entry, std::string_view expected) {
    fault(entry, fmt::format("found {}, expected {}", name_of(entry.value.kind), expected));
}

std::optional<std::string> Section::text(std::string_view key, bool required, std::size_t limit) {
    const Entry* entry = take(key);
    if (entry == nullptr) {
        if (required) missing(key, "a text");
        return std::nullopt;
    }
    if (entry->value.kind != Node::Kind::text) {
        wrong_type(*entry, "a text in quotes");
        return std::nullopt;
    }
    const std::string& value = entry->value.text;
    if (value.empty() || value.size() > limit || !is_clean(value)) {
        fault(*entry,
              fmt::format("expected a text of 1 to {} bytes without control characters", limit));
        return std::nullopt;
    }
    return value;
}

std::optional<double> Section::number(std::string_view key, bool required) {
    const Entry* entry = take(key);
    if (entry == nullptr) {
        if (required) missing(key, "a number");
        return std::nullopt;
    }
    if (entry->value.kind == Node::Kind::integer) return static_cast<double>(entry->value.integer);
    if (entry->value.kind == Node::Kind::number && std::isfinite(entry->value.number)) {
        return entry->value.number;
    }
    wrong_type(*entry, "a number");
    return std::nullopt;
}

std::optional<bool> Section::boolean(std::string_view key) {
    const Entry* entry = take(key);
    if (entry == nullptr) return std::nullopt;
    if (entry->value.kind == Node::Kind::boolean) return entry->value.boolean;
    wrong_type(*entry, "true or false");
    return std::nullopt;
}

std::vector<std::string> Section::texts(std::string_view key, std::size_t limit) {
    const Entry* entry = take(key);
    if (entry == nullptr) return {};
    if (entry->value.kind != Node::Kind::array || entry->value.items.size() > kMaxList) {
        wrong_type(*entry, "a list of texts");
        return {};
    }
    std::vector<std::string> values;
    for (const Node& item : entry->value.items) {
        const bool good = item.kind == Node::Kind::text && !item.text.empty() &&
                          item.text.size() <= limit && is_clean(item.text);
        if (good) {
            values.push_back(item.text);
        } else {
            faults_.add(item.place, fmt::format("{}: expected a list of texts of 1 to {} bytes",
                                                shown(key), limit));
        }
    }
    return values;
}

std::vector<const Node*> Section::tables(std::string_view key) {
    const Entry* entry = take(key);
    if (entry == nullptr) return {};
    if (entry->value.kind == Node::Kind::table) return {&entry->value};
    if (entry->value.kind != Node::Kind::array || entry->value.items.size() > kMaxList) {
        wrong_type(*entry, fmt::format("tables written as [[{}]]", key));
        return {};
    }
    std::vector<const Node*> found;
    for (const Node& item : entry->value.items)
        found.push_back(&item);
    return found;
}

void Section::finish() {
    if (node_ == nullptr) return;
    for (const Entry& entry : node_->entries) {
        if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
        const std::vector<std::string_view> names(known_.begin(), known_.end());
        faults_.add(entry.place, fmt::format("unknown key '{}' in {}, {}", shown(entry.key), name_,
                                             expected_one_of(entry.key, names)));
    }
}

}  // namespace mano::experiment
