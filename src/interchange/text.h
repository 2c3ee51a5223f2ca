// SPDX-License-Identifier: GPL-2.0-or-later
// Text of a file → lines and numbers, each with its place. What every importer of a text format
// begins with. Knows no format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::interchange {

// 1-based; column counts bytes. 0: of the file as a whole.
struct Place {
    std::uint64_t line = 0;
    std::uint64_t column = 0;
};

// "results.json:12:8: message", as compilers write it.
template <typename... Args>
tl::unexpected<Error> fail_at(std::string_view file, Place place, fmt::format_string<Args...> text,
                              Args&&... args) {
    return fail(Code::hostile, "{}:{}:{}: {}", file, place.line, place.column,
                fmt::format(text, std::forward<Args>(args)...));
}

struct TextLine {
    std::uint64_t number = 0;  // 1-based
    std::string_view text;     // without its line end (LF or CRLF)
};
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

// All lines of `text`, which must outlive them; a byte order mark in front is skipped.
// Code::hostile with line and column: bytes that aren't UTF-8, NUL, a line of more than
// kMaxLineBytes, more than `most` lines.
Result<std::vector<TextLine>> split_lines(std::string_view text, std::string_view file,
                                          std::size_t most);

// Words between blanks, with the column of each.
struct Word {
    std::string_view text;
    std::uint64_t column = 0;
};
std::vector<Word> split_words(std::string_view line);

// A finite decimal number, all of `text`, with a point and without separators, whatever the locale.
std::optional<double> parse_real(std::string_view text);
std::optional<std::uint64_t> parse_whole(std::string_view text);

std::string_view trim(std::string_view text);
// The place of byte `at` of `text`.
Place place_of(std::string_view text, std::size_t at);

}  // namespace mano::interchange
