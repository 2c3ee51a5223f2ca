// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest printed → what it says about the guest's end. Pure; the text is hostile and bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mano::substrate::guest {

constexpr std::size_t kMaxConsole = std::size_t{1} << 20;
constexpr std::size_t kMaxEvidence = std::size_t{64} << 10;

// Printable text of a console's bytes: carriage returns and escape sequences gone, other control
// and non-ASCII bytes as '?'; of more than kMaxConsole bytes the middle is left out, and said.
std::string clean(std::string_view bytes);

// The panic's trace, from its first sign (the oops or BUG before it, when there is one) to the end,
// cut to kMaxEvidence; nullopt when the kernel didn't panic.
std::optional<std::string> panic_trace(std::string_view text);

// The last `bytes` of the text, from a line's start.
std::string tail(std::string_view text, std::size_t bytes);

}  // namespace mano::substrate::guest
