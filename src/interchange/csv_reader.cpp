// SPDX-License-Identifier: GPL-2.0-or-later
#include "interchange/csv_reader.h"

namespace mano::interchange {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Bytes of the UTF-8 sequence at the front of `text`; 0: none is valid there.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    }
    const unsigned char second = byte(1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool surrogate = lead == 0xED && second > 0x9F;
    const bool too_large = lead == 0xF4 && second > 0x8F;
    return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

std::size_t valid_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = sequence_length(text.substr(at));
        if (length == 0) break;
        at += length;
    }
    return at;
}

CsvReader::CsvReader(std::string_view text, std::string_view file) : text_(text), file_(file) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

std::string CsvReader::place(const CsvRecord& record) const {
    return fmt::format("{}:{}: column {}", file_, record.line, record.fields.size() + 1);
}

bool CsvReader::at_line_end() const {
    return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r';
}

Status CsvReader::check_text(const std::string& field, const CsvRecord& record) const {
    if (field.size() > kMaxFieldBytes) {
        return fail(Code::hostile, "{}: more than {} bytes in one field", place(record),
                    kMaxFieldBytes);
    }
    const std::size_t valid = valid_utf8(field);
    if (valid != field.size()) {
        return fail(Code::hostile,
                    "{}: byte {} of the field (0x{:02x}) is not UTF-8; save the "
                    "file as UTF-8",
                    place(record), valid + 1, static_cast<unsigned char>(field[valid]));
    }
    if (field.find('\0') != std::string::npos) {
        return fail(Code::hostile, "{}: a NUL byte; this isn't a CSV file", place(record));
    }
    return {};
}

Result<std::string> CsvReader::quoted(const CsvRecord& record) {
    std::string value;
    ++at_;  // the opening quote
    while (at_ < text_.size() && value.size() <= kMaxFieldBytes) {
        const char c = text_[at_++];
        if (c == '\n') ++line_;
        if (c != '"') {
            value += c;
            continue;
        }
        if (at_ < text_.size() && text_[at_] == '"') {
            value += '"';
            ++at_;
            continue;
        }
        if (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) {
            return fail(Code::hostile,
                        "{}: text after the closing quote, expected a comma or the "
                        "end of the line",
                        place(record));
        }
        return value;
    }
    if (value.size() > kMaxFieldBytes) {
        return fail(Code::hostile,
                    "{}: more than {} bytes in one field (a quote that isn't "
                    "closed?)",
                    place(record), kMaxFieldBytes);
    }
    return fail(Code::hostile, "{}: the quote that opens here is never closed", place(record));
}

Result<std::string> CsvReader::field(const CsvRecord& record) {
    if (at_ < text_.size() && text_[at_] == '"') return quoted(record);
    const std::size_t start = at_;
    while (!at_line_end() && text_[at_] != ',') {
        if (text_[at_] == '"') {
            return fail(Code::hostile,
                        "{}: a quote inside a field that doesn't begin with one; "
                        "write \"…\" around the field and double the quote",
                        place(record));
        }
        ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
}

Result<std::optional<CsvRecord>> CsvReader::next() {
    if (at_ == text_.size()) return std::optional<CsvRecord>();
    CsvRecord record;
    record.line = line_;
    while (true) {
        if (record.fields.size() == kMaxFields) {
            return fail(Code::hostile, "{}: more than {} columns", place(record), kMaxFields);
        }
        MANO_ASSIGN(std::string value, field(record));
        MANO_TRY(check_text(value, record));
        record.fields.push_back(std::move(value));
        if (at_ == text_.size() || text_[at_] != ',') break;
        ++at_;
    }
    if (at_ < text_.size() && text_[at_] == '\r') {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != '\n') {
            return fail(Code::hostile, "{}:{}: a carriage return that isn't part of a line end",
                        file_, line_);
        }
        ++at_;
    }
    if (at_ < text_.size()) {
        ++at_;  // the line feed
        ++line_;
    }
    return std::optional(std::move(record));
}

}  // namespace mano::interchange
