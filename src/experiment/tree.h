// SPDX-License-Identifier: GPL-2.0-or-later
// TOML text → a tree of values that know their place in the file. Keeps the TOML library out of
// everything else; must not know what the keys mean. Used by the parser alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "experiment/faults.h"

namespace mano::experiment {

struct Entry;

struct Node {
    enum class Kind : std::uint8_t { table, array, text, integer, number, boolean, date } kind;
    Place place;
    std::string text;            // of a text
    std::int64_t integer = 0;    // of an integer
    double number = 0;           // of a number
    bool boolean = false;        // of a boolean
    std::vector<Node> items;     // of an array
    std::vector<Entry> entries;  // of a table, in the order of the file
};

struct Entry {
    std::string key;
    Place place;  // of the key
    Node value;
};

// "a text", "a whole number" …
std::string_view name_of(Node::Kind kind);
const Entry* find_entry(const Node& table, std::string_view key);

// Bounded in size and depth. A fault of syntax goes into `faults` with its place.
Result<Node> read_toml(std::string_view text, std::string_view file, Faults& faults);

}  // namespace mano::experiment
