// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mano::substrate::guest {
namespace {

// Length of an escape sequence at the start of `text` (which begins with ESC).
std::size_t escape_length(std::string_view text) {
    std::size_t length = 1;
    if (length < text.size() && text[length] == '[') {
        ++length;
        while (length < text.size() && (text[length] < '@' || text[length] > '~'))
            ++length;
    }
    return std::min(length + 1, text.size());
}

std::string printable(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char c = bytes[i];
        if (c == '\033') {
            i += escape_length(bytes.substr(i)) - 1;
        } else if (c == '\n' || c == '\t' || (c >= ' ' && c <= '~')) {
            out += c;
        } else if (c != '\r') {
            out += '?';
        }
    }
    return out;
}

}  // namespace

std::string clean(std::string_view bytes) {
    if (bytes.size() <= kMaxConsole) return printable(bytes);
    const std::size_t half = kMaxConsole / 2;
    return printable(bytes.substr(0, half)) +
           fmt::format("\n[... {} bytes left out ...]\n", bytes.size() - 2 * half) +
           printable(bytes.substr(bytes.size() - half));
}

std::optional<std::string> panic_trace(std::string_view text) {
    const std::size_t panic = text.find("Kernel panic - not syncing");
    if (panic == std::string_view::npos) return std::nullopt;
    // What led to it, but never so long a history (of OOM reports) that the panic is pushed out.
    const std::size_t from = panic - std::min(panic, kMaxEvidence / 2);
    std::size_t start = panic;
    static constexpr std::array<std::string_view, 5> kSigns{
        "BUG: ", "Oops: ", "general protection fault", "invoked oom-killer", "kernel BUG at"};
    for (const std::string_view sign : kSigns)
        start = std::min(start, text.find(sign, from));
    start = text.rfind('\n', start);
    start = start == std::string_view::npos ? 0 : start + 1;
    const std::string_view trace = text.substr(start);
    return std::string(trace.substr(0, kMaxEvidence));
}

std::string tail(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) return std::string(text);
    const std::string_view end = text.substr(text.size() - bytes);
    const std::size_t line = end.find('\n');
    return std::string(line == std::string_view::npos ? end : end.substr(line + 1));
}

}  // namespace mano::substrate::guest
