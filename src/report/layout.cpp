// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/layout.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

namespace mano::report {

std::string ascii(std::string_view text) {
    std::string clean;
    clean.reserve(text.size());
    for (const char c : text) {
        if (c == '\n' || c == '\t' || c == '\r') {
            clean += ' ';
        } else if (c >= ' ' && c <= '~') {
            clean += c;
        } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
            clean += '?';  // one for a whole UTF-8 sequence
        }
    }
    return clean;
}

std::string excerpt(std::string_view text, std::size_t width) {
    const std::string line = ascii(text.substr(0, text.find('\n')));
    if (line.size() <= width) return line;
    return width < 3 ? line.substr(0, width) : line.substr(0, width - 3) + "...";
}

namespace {

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text) {
        if (c != ' ') {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::exchange(word, {}));
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    return words;
}

// As words_of, but a quoted blank does not end a word.
std::vector<std::string> shell_words(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            word += c;
            word += text[++i];
        } else if (c == ' ' && quote == 0) {
            if (!word.empty()) words.push_back(std::exchange(word, {}));
        } else {
            if (quote == 0 && (c == '\'' || c == '"')) {
                quote = c;
            } else if (c == quote) {
                quote = 0;
            }
            word += c;
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    return words;
}

// An option and its value stay on one line: "-k", "a=b" → "-k a=b".
std::vector<std::string> with_values(const std::vector<std::string>& words) {
    std::vector<std::string> joined;
    for (const std::string& word : words) {
        const bool value = !joined.empty() && joined.back().starts_with('-') &&
                           joined.back().find(' ') == std::string::npos && !word.starts_with('-');
        if (value) {
            joined.back() += ' ' + word;
        } else {
            joined.push_back(word);
        }
    }
    return joined;
}

}  // namespace

std::string wrap(std::string_view text, std::size_t first, std::size_t next) {
    std::string lines;
    std::string line(first, ' ');
    bool empty = true;
    for (const std::string& word : words_of(ascii(text))) {
        if (!empty && line.size() + 1 + word.size() > kColumns) {
            lines += line + '\n';
            line.assign(next, ' ');
            empty = true;
        }
        if (!empty) line += ' ';
        line += word;
        empty = false;
    }
    if (!empty) lines += line + '\n';
    return lines;
}

std::string wrap_command(std::string_view prefix, std::string_view command) {
    constexpr std::size_t kIndent = 4;
    std::string lines;
    std::string line(prefix);
    bool empty = true;
    for (const std::string& word : with_values(shell_words(ascii(command)))) {
        if (!empty && line.size() + 1 + word.size() + 2 > kColumns) {
            lines += line + " \\\n";
            line.assign(kIndent, ' ');
            empty = true;
        }
        if (!empty) line += ' ';
        line += word;
        empty = false;
    }
    return lines + line + '\n';
}

std::string show_number(double value) {
    const double size = std::fabs(value);
    if (size < 1e7 && value == std::floor(value)) return fmt::format("{:.0f}", value + 0.0);
    if (size >= 1e7) return fmt::format("{:.4g}", value);
    if (size >= 1000) return fmt::format("{:.0f}", value);
    return fmt::format("{:.4g}", value);
}

std::string show_signed(double value) {
    const std::string text = show_number(value == 0 ? 0 : value);
    return value > 0 ? "+" + text : text;
}

std::string show_percent(double percent) {
    const double size = std::fabs(percent);
    if (size < 0.005) return "0%";
    if (size < 1) return fmt::format("{:+.2f}%", percent);
    if (size < 100) return fmt::format("{:+.1f}%", percent);
    if (size < 1e5) return fmt::format("{:+.0f}%", percent);
    return fmt::format("{:+.2g}%", percent);
}

std::string show_p(double p) {
    if (p < 0.0001) return "<.0001";
    if (p > 0.995) return "1";
    return p < 0.1 ? fmt::format("{:.2g}", p) : fmt::format("{:.2f}", p);
}

std::string pad_left(std::string_view text, std::size_t width) {
    return std::string(text.size() < width ? width - text.size() : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
    return std::string(text) + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

}  // namespace mano::report
