// SPDX-License-Identifier: GPL-2.0-or-later
// Bytes → records of RFC 4180, strictly: what the RFC leaves open is an error here, so that no
// misread file becomes numbers. Knows nothing of what the fields mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::interchange {

struct CsvRecord {
    std::uint64_t line = 0;  // 1-based, where the record begins
    std::vector<std::string> fields;
};

// Bounds for hostile files.
constexpr std::size_t kMaxFields = 64;
constexpr std::size_t kMaxFieldBytes = 4096;

class CsvReader {
  public:
    // `text` must outlive the reader; a UTF-8 byte order mark in front is skipped. `file` is for
    // messages.
    CsvReader(std::string_view text, std::string_view file);

    // The next record; nullopt at the end. Code::hostile: bytes that aren't UTF-8, NUL, a quote
    // inside an unquoted field, text after a closing quote, a quote never closed, a carriage return
    // without line feed, too many or too long fields.
    Result<std::optional<CsvRecord>> next();

  private:
    Result<std::string> field(const CsvRecord& record);
    Result<std::string> quoted(const CsvRecord& record);
    Status check_text(const std::string& field, const CsvRecord& record) const;
    // "results.csv:12: column 3"
    std::string place(const CsvRecord& record) const;
    bool at_line_end() const;

    std::string_view text_;
    std::string file_;
    std::size_t at_ = 0;
    std::uint64_t line_ = 1;
};

// Length of the longest prefix that is valid UTF-8 (RFC 3629: no surrogates, no overlong forms).
std::size_t valid_utf8(std::string_view text);

}  // namespace mano::interchange
