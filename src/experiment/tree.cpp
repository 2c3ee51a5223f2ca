// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment/tree.h"

#include <algorithm>

// The library (3.3) asserts that some characters can't come, in places where a broken file brings
// them, and handles them two lines later; clang's release build would even assume it. So: neither
// assert nor assume (found by the fuzz target, which keeps watch).
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace mano::experiment {
namespace {

constexpr std::size_t kMaxText = std::size_t{256} << 10;
constexpr int kMaxNesting = 8;

Place place_of(const toml::source_region& region) {
    return {std::max<std::uint32_t>(region.begin.line, 1),
            std::max<std::uint32_t>(region.begin.column, 1)};
}

Node convert(const toml::node& in, int depth, Faults& faults) {
    Node out{};
    out.place = place_of(in.source());
    if (const auto* table = in.as_table()) {
        out.kind = Node::Kind::table;
        if (depth >= kMaxNesting) {
            faults.add(out.place, "nested too deeply");
            return out;
        }
        for (const auto& [key, value] : *table) {
            out.entries.push_back({std::string(key.str()), place_of(key.source()),
                                   convert(value, depth + 1, faults)});
        }
        // The library sorts keys by name; people read files from the top.
        std::stable_sort(out.entries.begin(), out.entries.end(),
                         [](const Entry& a, const Entry& b) { return a.place < b.place; });
    } else if (const auto* array = in.as_array()) {
        out.kind = Node::Kind::array;
        if (depth >= kMaxNesting) {
            faults.add(out.place, "nested too deeply");
            return out;
        }
        for (const toml::node& item : *array)
            out.items.push_back(convert(item, depth + 1, faults));
    } else if (const auto* text = in.as_string()) {
        out.kind = Node::Kind::text;
        out.text = text->get();
    } else if (const auto* integer = in.as_integer()) {
        out.kind = Node::Kind::integer;
        out.integer = integer->get();
    } else if (const auto* number = in.as_floating_point()) {
        out.kind = Node::Kind::number;
        out.number = number->get();
    } else if (const auto* boolean = in.as_boolean()) {
        out.kind = Node::Kind::boolean;
        out.boolean = boolean->get();
    } else {
        out.kind = Node::Kind::date;
    }
    return out;
}

}  // namespace

std::string_view name_of(Node::Kind kind) {
    switch (kind) {
        case Node::Kind::table:
            return "a table";
        case Node::Kind::array:
            return "a list";
        case Node::Kind::text:
            return "a text";
        case Node::Kind::integer:
            return "a whole number";
        case Node::Kind::number:
            return "a number with a point";
        case Node::Kind::boolean:
            return "true or false";
        case Node::Kind::date:
            return "a date";
    }
    return "something else";
}

const Entry* find_entry(const Node& table, std::string_view key) {
    for (const Entry& entry : table.entries) {
        if (entry.key == key) return &entry;
    }
    return nullptr;
}

Result<Node> read_toml(std::string_view text, std::string_view file, Faults& faults) {
    if (text.size() > kMaxText) {
        return fail(Code::invalid, "{}: {} bytes, expected at most {}", file, text.size(),
                    kMaxText);
    }
    if (text.find('\0') != std::string_view::npos) {
        return fail(Code::invalid, "{}: holds binary data, expected a TOML text", file);
    }
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        const toml::parse_error& error = parsed.error();
        faults.add(place_of(error.source()), fmt::format("not TOML: {}", error.description()));
        return tl::unexpected<Error>(faults.error());
    }
    return convert(parsed.table(), 0, faults);
}

}  // namespace mano::experiment
