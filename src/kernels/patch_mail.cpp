// SPDX-License-Identifier: GPL-2.0-or-later
// Mails and mboxes → texts that diffs can be read from.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "kernels/patch.h"

namespace mano::kernels {

namespace {

constexpr std::size_t kMaxDepth = 4;  // of parts in parts

bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

// "Subject: …" and the like, as mail headers begin.
bool header_line(std::string_view line) {
    const std::size_t colon = line.find(':');
    return colon != std::string_view::npos && colon > 1 &&
           std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon), name_char);
}

std::string_view line_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return {};
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::size_t after_line(std::string_view text, std::size_t at) {
    const std::size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

struct Headers {
    std::string subject, encoding, type;
};

// Reads the headers from `at`, which it leaves behind the blank line that ends them.
Headers take_headers(std::string_view text, std::size_t& at) {
    Headers out;
    std::string* last = nullptr;
    std::string ignored;
    while (at < text.size()) {
        const std::string_view line = line_at(text, at);
        if (!line.empty() && line.front() != ' ' && line.front() != '\t' && !header_line(line) &&
            !line.starts_with(">From ")) {
            return out;  // the headers end without a blank line
        }
        at = after_line(text, at);
        if (line.empty()) return out;
        if (line.front() == ' ' || line.front() == '\t') {
            if (last != nullptr) *last += line;
            continue;
        }
        const std::string name = lower(line.substr(0, line.find(':')));
        last = name == "subject"                     ? &out.subject
               : name == "content-transfer-encoding" ? &out.encoding
               : name == "content-type"              ? &out.type
                                                     : &ignored;
        const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
        *last = value == std::string_view::npos ? "" : line.substr(value);
    }
    return out;
}

std::string from_quoted_printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '=') {
            out += text[at];
            continue;
        }
        const std::string_view rest = text.substr(at + 1);
        if (rest.starts_with("\r\n")) {
            at += 2;
        } else if (rest.starts_with('\n')) {
            at += 1;
        } else {
            unsigned value = 0;
            const std::string_view digits = rest.substr(0, 2);
            const auto end = digits.data() + digits.size();
            const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
            if (error == std::errc() && stop == end && digits.size() == 2) {
                out += static_cast<char>(value);
                at += 2;
            } else {
                out += '=';
            }
        }
    }
    return out;
}

std::string from_base64(std::string_view text) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    unsigned bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const std::size_t value = kDigits.find(c);
        if (value == std::string_view::npos) continue;
        bits = (bits << 6U | static_cast<unsigned>(value)) & 0xffffffU;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out += static_cast<char>(bits >> count & 0xffU);
        }
    }
    return out;
}

// boundary=… of a multipart type; nullopt: it is none.
std::optional<std::string> boundary_of(const std::string& type) {
    if (!lower(type).starts_with("multipart/")) return std::nullopt;
    const std::size_t at = lower(type).find("boundary=");
    if (at == std::string::npos) return std::nullopt;
    std::string_view value = std::string_view(type).substr(at + 9);
    if (value.starts_with('"')) {
        value.remove_prefix(1);
        return std::string(value.substr(0, value.find('"')));
    }
    return std::string(value.substr(0, value.find_first_of("; \t")));
}

std::string decode(std::string_view body, const Headers& headers, std::size_t depth);

// The texts of all parts, one after the other.
std::string join_parts(std::string_view body, const std::string& boundary, std::size_t depth) {
    const std::string mark = "--" + boundary;
    std::string out;
    std::size_t part = std::string_view::npos;
    for (std::size_t at = 0; at <= body.size(); at = after_line(body, at)) {
        const bool end = at >= body.size();
        if (!end && !line_at(body, at).starts_with(mark)) continue;
        if (part != std::string_view::npos) {
            std::string_view text = body.substr(part, at - part);
            std::size_t start = 0;
            const Headers headers = take_headers(text, start);
            out += decode(text.substr(start), headers, depth + 1) + "\n";
        }
        if (end) break;
        part = after_line(body, at);
    }
    return out;
}

std::string decode(std::string_view body, const Headers& headers, std::size_t depth) {
    if (depth > kMaxDepth) return {};
    if (const auto boundary = boundary_of(headers.type); boundary && !boundary->empty()) {
        return join_parts(body, *boundary, depth);
    }
    const std::string encoding = lower(headers.encoding);
    if (encoding.starts_with("quoted-printable")) return from_quoted_printable(body);
    if (encoding.starts_with("base64")) return from_base64(body);
    return std::string(body);
}

// Line ends of the mail's transport, told by the diff's own header lines; the kernel's files have
// none.
std::string without_returns(std::string text) {
    std::size_t at = text.find("\n@@ -");
    if (at == std::string::npos) return text;
    at = text.find('\n', at + 1);
    if (at == std::string::npos || text[at - 1] != '\r') return text;
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\r' || i + 1 >= text.size() || text[i + 1] != '\n') out += text[i];
    }
    return out;
}

Mail read_mail(std::string_view text) {
    std::size_t at = 0;
    const Headers headers = take_headers(text, at);
    return {headers.subject, without_returns(decode(text.substr(at), headers, 0))};
}

// Does a mail's separator begin at `at`: "From " after a blank line, a header behind it?
bool separator(std::string_view text, std::size_t at) {
    if (text.substr(at, 5) != "From ") return false;
    if (at >= 2 && text[at - 2] != '\n' && text.substr(at - 2, 2) != "\r\n") return false;
    const std::string_view second = line_at(text, after_line(text, at));
    return header_line(second) || second.starts_with(">From ");
}

// n and m of "[PATCH v2 n/m] …".
struct Place {
    unsigned number = 0;
    unsigned count = 0;
};
std::optional<Place> place_of(std::string_view subject) {
    const std::size_t close = subject.find(']');
    if (!subject.starts_with('[') || close == std::string_view::npos) return std::nullopt;
    const std::string_view tag = subject.substr(1, close - 1);
    const std::size_t slash = tag.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    std::size_t start = slash;
    while (start > 0 && std::isdigit(static_cast<unsigned char>(tag[start - 1])) != 0)
        --start;
    Place out;
    const char* end = tag.data() + tag.size();
    const auto first = std::from_chars(tag.data() + start, tag.data() + slash, out.number);
    const auto second = std::from_chars(tag.data() + slash + 1, end, out.count);
    if (first.ec != std::errc() || second.ec != std::errc()) return std::nullopt;
    return out;
}

bool is_reply(std::string_view subject) {
    return lower(subject.substr(0, 3)) == "re:";
}

// Archives serve a thread as it came in. Sorted only when every patch of it says where it belongs.
void sort_series(std::vector<Mail>& mails) {
    std::vector<Mail> patches;
    unsigned count = 0;
    for (const Mail& mail : mails) {
        if (is_reply(mail.subject)) continue;
        const auto place = place_of(mail.subject);
        if (!place || (count != 0 && place->count != count)) return;
        count = place->count;
        patches.push_back(mail);
    }
    if (patches.empty()) return;
    std::stable_sort(patches.begin(), patches.end(), [](const Mail& a, const Mail& b) {
        return place_of(a.subject)->number < place_of(b.subject)->number;
    });
    mails = std::move(patches);
}

}  // namespace

std::vector<Mail> split_mails(std::string_view text) {
    // A mark at the beginning, as some editors leave it.
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    std::vector<Mail> mails;
    if (!separator(text, 0)) {
        const std::string_view first = line_at(text, 0);
        const bool mail = header_line(first) && !first.starts_with("Index:") &&
                          text.substr(0, 20'000).find("\nSubject:") != std::string_view::npos;
        if (mail || first.starts_with("Subject:")) return {read_mail(text)};
        return {Mail{"", without_returns(std::string(text))}};
    }
    std::size_t start = after_line(text, 0);
    for (std::size_t at = start; at <= text.size(); at = after_line(text, at)) {
        const bool end = at >= text.size();
        if (!end && !separator(text, at)) continue;
        mails.push_back(read_mail(text.substr(start, at - start)));
        if (end) break;
        start = after_line(text, at);
    }
    sort_series(mails);
    return mails;
}

}  // namespace mano::kernels
