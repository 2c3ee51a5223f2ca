// SPDX-License-Identifier: GPL-2.0-or-later
#include "interchange/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "interchange/csv_reader.h"

namespace mano::interchange {
namespace {

constexpr std::string_view kBlanks = " \t\v\f";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Result<std::vector<TextLine>> split_lines(std::string_view text, std::string_view file,
                                          std::size_t most) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    std::vector<TextLine> lines;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        TextLine line{lines.size() + 1, text.substr(at, end - at)};
        at = end + 1;
        if (line.number > most) {
            return fail_at(file, {line.number, 1}, "more than {} lines", most);
        }
        if (line.text.size() > kMaxLineBytes) {
            return fail_at(file, {line.number, 1}, "a line of more than {} bytes", kMaxLineBytes);
        }
        if (line.text.ends_with('\r')) line.text.remove_suffix(1);
        if (const std::size_t valid = valid_utf8(line.text); valid != line.text.size()) {
            return fail_at(file, {line.number, valid + 1},
                           "byte 0x{:02x} isn't UTF-8; save the file as UTF-8",
                           static_cast<unsigned char>(line.text[valid]));
        }
        if (const std::size_t nul = line.text.find('\0'); nul != std::string_view::npos) {
            return fail_at(file, {line.number, nul + 1}, "a NUL byte; this isn't a text file");
        }
        lines.push_back(line);
    }
    return lines;
}

std::vector<Word> split_words(std::string_view line) {
    std::vector<Word> words;
    std::size_t at = line.find_first_not_of(kBlanks);
    while (at < line.size()) {
        const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
        words.push_back({line.substr(at, end - at), at + 1});
        at = line.find_first_not_of(kBlanks, end);
    }
    return words;
}

std::optional<double> parse_real(std::string_view text) {
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
    return number;
}

std::optional<std::uint64_t> parse_whole(std::string_view text) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
    return number;
}

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Place place_of(std::string_view text, std::size_t at) {
    at = std::min(at, text.size());
    const std::string_view before = text.substr(0, at);
    const auto lines = static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t start = before.rfind('\n');
    return {lines + 1, start == std::string_view::npos ? at + 1 : at - start};
}

}  // namespace mano::interchange
