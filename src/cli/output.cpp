// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "cli/stop.h"

namespace mano::cli {

namespace {

constexpr std::size_t kWidth = 80;

// 0 or the errno of the write that failed.
int write_whole(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : EIO;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

}  // namespace

Status print(std::string_view text) {
    const int error = write_whole(STDOUT_FILENO, text);
    if (error == 0 || error == EPIPE) return {};
    return fail_errno(error, "standard output");
}

void print_error(std::string_view text) {
    static_cast<void>(write_whole(STDERR_FILENO, text));
}

void complain(const Error& error) {
    std::string text = printable(error.text());
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    print_error("manometer: " + text + "\n");
}

Status write_output(const std::string& where, std::string_view text) {
    namespace fs = std::filesystem;
    if (where == "-") return print(text);
    std::error_code ignored;
    const fs::path folder = fs::path(where).parent_path();
    if (!folder.empty() && !fs::is_directory(folder, ignored)) {
        return fail(Code::invalid, "{}: there is no folder {}", where, folder.string());
    }
    struct stat there = {};
    const bool exists = ::lstat(where.c_str(), &there) == 0;
    if (exists && !S_ISREG(there.st_mode)) {
        MANO_ASSIGN(const Fd fd, open_file(where, O_WRONLY | O_TRUNC));
        return write_all(fd.get(), text, where);
    }
    if (exists && ::access(where.c_str(), W_OK) != 0) return fail_errno(errno, where);
    MANO_TRY(write_file_atomic(where, text));
    if (exists && ::chmod(where.c_str(), there.st_mode & 07777) != 0) {
        return fail_errno(errno, where);
    }
    return {};
}

int exit_code_of(const Error& error) {
    switch (error.code) {
        case Code::invalid:
        case Code::not_found:
            return 1;
        case Code::environment:
        case Code::corrupt:  // a damaged store or cache: the message says what to move away
            return 2;
        case Code::interrupted:
            return interrupted_exit_code();
        case Code::hostile:
        case Code::internal:
            return 3;
    }
    return 3;
}

bool terminal_takes_utf8() {
    if (::isatty(STDOUT_FILENO) != 1) return false;
    // The first that is set and not empty decides, as setlocale(3) has it.
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
        if (value == nullptr || *value == '\0') continue;
        std::string locale(value);
        std::transform(locale.begin(), locale.end(), locale.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        return locale.find("utf-8") != std::string::npos ||
               locale.find("utf8") != std::string::npos;
    }
    return false;
}

std::string printable(std::string_view text) {
    std::string clean(text);
    for (char& c : clean) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < ' ' && c != '\n') || byte == 0x7f) c = c == '\t' ? ' ' : '?';
    }
    return clean;
}

std::string columns(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<std::size_t>& right) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string blanks(widths[i] - row[i].size(), ' ');
            const bool to_right = std::find(right.begin(), right.end(), i) != right.end();
            line += to_right ? blanks + row[i] : row[i] + blanks;
            if (i + 1 < row.size()) line += "  ";
        }
        while (!line.empty() && line.back() == ' ')
            line.pop_back();
        text += line + '\n';
    }
    return text;
}

std::string fill(std::string_view text, std::size_t indent) {
    const std::string margin(indent, ' ');
    std::string out;
    std::string line;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
        const std::string_view word = text.substr(at, end - at);
        at = end + 1;
        if (word.empty()) {
            // An empty line parts paragraphs.
            const bool ends_paragraph = end < text.size() && text[end] == '\n' && end > 0 &&
                                        text[end - 1] == '\n' && !(out.empty() && line.empty());
            if (!ends_paragraph) continue;
            if (!line.empty()) out += margin + line + '\n';
            line.clear();
            if (at < text.size()) out += '\n';
            continue;
        }
        if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
            out += margin + line + '\n';
            line.clear();
        }
        if (!line.empty()) line += ' ';
        line += word;
    }
    if (!line.empty()) out += margin + line + '\n';
    return out;
}

}  // namespace mano::cli
