// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and paragraphs as text of a fixed width. Knows no report. For the text renderer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mano::report {

constexpr std::size_t kColumns = 80;

// Printable ASCII only: what came from guests and files may hold terminal control sequences. Line
// breaks and tabs become blanks, anything else '?'.
std::string ascii(std::string_view text);
// First line, at most `width` characters, with "..." when cut.
std::string excerpt(std::string_view text, std::size_t width);
// Lines of at most kColumns, broken at blanks; the first indented by `first`, the others by `next`.
// A word longer than a line stands alone. Each line ends with '\n'.
std::string wrap(std::string_view text, std::size_t first, std::size_t next);
// A shell command over several lines with backslashes, broken at blanks outside quotes only.
std::string wrap_command(std::string_view prefix, std::string_view command);

// "64099", "5.903", "1.235e+08": four digits, whole numbers whole; the same in every locale.
std::string show_number(double value);
std::string show_signed(double value);
// "+79.2%", "-0.04%".
std::string show_percent(double percent);
// "0.0022", "<.0001", "1".
std::string show_p(double p);

std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

}  // namespace mano::report
