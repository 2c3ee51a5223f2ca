// SPDX-License-Identifier: GPL-2.0-or-later
// Unified diffs → FilePatch. Mails are in patch_mail.cpp, applying is in patch_apply.cpp.
#include "kernels/patch.h"

#include <algorithm>
#include <charconv>

namespace mano::kernels {

namespace {

// A whole series touches hundreds of files; more than this is not a patch to a kernel.
constexpr std::size_t kMaxFiles = 20'000;
constexpr std::size_t kHunkShown = 40;

bool starts(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// C-style quoting as git writes it for names with unusual bytes. nullopt: not closed, or wrong.
std::optional<std::string> unquote(std::string_view& text) {
    std::string out;
    std::size_t at = 1;
    while (at < text.size() && text[at] != '"') {
        if (text[at] != '\\') {
            out += text[at++];
            continue;
        }
        if (++at >= text.size()) return std::nullopt;
        const char c = text[at];
        if (c >= '0' && c <= '3') {
            if (at + 3 > text.size()) return std::nullopt;
            unsigned value = 0;
            const auto end = text.data() + at + 3;
            const auto [stop, error] = std::from_chars(text.data() + at, end, value, 8);
            if (error != std::errc() || stop != end) return std::nullopt;
            out += static_cast<char>(value);
            at += 3;
            continue;
        }
        constexpr std::string_view kFrom = "abtnvfr\"\\";
        constexpr std::string_view kTo = "\a\b\t\n\v\f\r\"\\";
        const std::size_t which = kFrom.find(c);
        if (which == std::string_view::npos) return std::nullopt;
        out += kTo[which];
        ++at;
    }
    if (at >= text.size()) return std::nullopt;
    text.remove_prefix(at + 1);
    return out;
}

// The name in "--- NAME<tab>date" or "rename from NAME".
std::string name_of(std::string_view rest) {
    if (rest.starts_with('"')) {
        if (auto name = unquote(rest)) return std::move(*name);
    }
    rest = rest.substr(0, rest.find('\t'));
    while (!rest.empty() && rest.back() == ' ')
        rest.remove_suffix(1);
    return std::string(rest);
}

std::string without_first_part(const std::string& name) {
    const std::size_t slash = name.find('/');
    return slash == std::string::npos ? name : name.substr(slash + 1);
}

// Cursor over the lines of a text, without their ends.
class Lines {
  public:
    explicit Lines(std::string_view text) : text_(text) {}
    bool at_end() const { return at_ >= text_.size(); }
    std::string_view peek() const {
        std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
        return line;
    }
    void next() {
        const std::size_t end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end + 1;
        ++number_;
    }
    std::size_t number() const { return number_; }
    // The line `ahead` lines further on, or empty.
    std::string_view ahead(std::size_t count) const {
        Lines copy = *this;
        for (std::size_t i = 0; i < count && !copy.at_end(); ++i)
            copy.next();
        return copy.at_end() ? std::string_view() : copy.peek();
    }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t number_ = 1;
};

struct Range {
    std::size_t start = 0;
    std::size_t count = 1;
};

bool take_number(std::string_view& text, std::size_t& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

std::optional<Range> take_range(std::string_view& text) {
    Range out;
    if (!take_number(text, out.start)) return std::nullopt;
    if (starts(text, ",") && !take_number(text, out.count)) return std::nullopt;
    return out;
}

// "@@ -1,7 +1,6 @@ heading"
std::optional<Hunk> parse_hunk_header(std::string_view line) {
    Hunk hunk;
    hunk.header = line;
    if (!starts(line, "@@ -")) return std::nullopt;
    const auto before = take_range(line);
    if (!before || !starts(line, " +")) return std::nullopt;
    const auto after = take_range(line);
    if (!after || !line.starts_with(" @@")) return std::nullopt;
    hunk.old_start = before->start;
    hunk.old_count = before->count;
    hunk.new_start = after->start;
    hunk.new_count = after->count;
    return hunk;
}

bool starts_file(const Lines& lines) {
    const std::string_view line = lines.peek();
    if (line.starts_with("diff --git ")) return true;
    return line.starts_with("--- ") && lines.ahead(1).starts_with("+++ ") &&
           lines.ahead(2).starts_with("@@ ");
}

// What the lines before the first hunk of a file say.
struct Header {
    std::string git_from, git_to;  // of "diff --git", with prefixes
    std::optional<std::string> minus, plus;
    std::string moved_from, moved_to;
    Change change = Change::modify;
    std::string mode;
};

// "diff --git a/NAME b/NAME": unless quoted, the two halves are of equal length but for a rename,
// whose names come in lines of their own.
void read_git_line(std::string_view rest, Header& header) {
    if (rest.starts_with('"')) {
        if (auto name = unquote(rest)) header.git_from = std::move(*name);
        if (starts(rest, " ")) header.git_to = name_of(rest);
        return;
    }
    if (rest.size() % 2 == 0) return;
    const std::size_t half = rest.size() / 2;
    if (rest[half] != ' ') return;
    header.git_from = rest.substr(0, half);
    header.git_to = rest.substr(half + 1);
}

Result<Header> read_header(Lines& lines, std::string_view name) {
    Header header;
    std::string_view line = lines.peek();
    if (starts(line, "diff --git ")) {
        read_git_line(line, header);
        lines.next();
    }
    for (; !lines.at_end(); lines.next()) {
        line = lines.peek();
        if (line.starts_with("diff --git ") || line.starts_with("@@ ")) break;
        if (line.starts_with("GIT binary patch") || line.starts_with("Binary files ")) {
            return fail(Code::invalid,
                        "{}:{}: changes a binary file, which isn't supported: put the file into a "
                        "git tree and use tree:DIR",
                        name, lines.number());
        }
        if (starts(line, "--- ")) {
            header.minus = name_of(line);
        } else if (starts(line, "+++ ")) {
            header.plus = name_of(line);
            lines.next();
            break;
        } else if (starts(line, "new file mode ")) {
            header.change = Change::create;
            header.mode = line;
        } else if (starts(line, "deleted file mode ")) {
            header.change = Change::remove;
        } else if (starts(line, "new mode ")) {
            header.mode = line;
        } else if (starts(line, "rename from ")) {
            header.change = Change::rename;
            header.moved_from = name_of(line);
        } else if (starts(line, "copy from ")) {
            header.change = Change::copy;
            header.moved_from = name_of(line);
        } else if (starts(line, "rename to ") || starts(line, "copy to ")) {
            header.moved_to = name_of(line);
        } else if (!line.starts_with("old mode ") && !line.starts_with("index ") &&
                   !line.starts_with("similarity index ") &&
                   !line.starts_with("dissimilarity index ")) {
            break;  // the end of a change without hunks
        }
    }
    return header;
}

// Paths without the prefixes (a/, b/, linux-7.3/). A diff made without prefixes has the same name
// on both sides.
Result<FilePatch> file_of(const Header& header, std::string_view name, std::size_t line) {
    std::string from = header.minus.value_or(header.git_from);
    std::string to = header.plus.value_or(header.git_to);
    FilePatch out;
    out.change = header.change;
    if (from == "/dev/null") {
        out.change = Change::create;
        from = header.git_from;
    }
    if (to == "/dev/null") {
        out.change = Change::remove;
        to = header.git_to;
    }
    const bool bare = !from.empty() && from == to;
    out.from = bare ? from : without_first_part(from);
    out.to = bare ? to : without_first_part(to);
    if (!header.moved_from.empty()) out.from = header.moved_from;
    if (!header.moved_to.empty()) out.to = header.moved_to;
    if (out.change == Change::create) out.from.clear();
    if (out.change == Change::remove) out.to.clear();
    if (header.mode.starts_with("120") || header.mode.starts_with("160")) {
        return fail(Code::invalid, "{}:{}: makes a link or a submodule, which isn't supported",
                    name, line);
    }
    out.executable = header.mode.starts_with("100755");
    for (const std::string& path : {out.from, out.to}) {
        if (path.empty()) continue;
        if (!safe_path(path)) {
            return fail(Code::invalid,
                        "{}:{}: changes '{}', which is outside of the kernel's tree; expected "
                        "paths like a/mm/page_alloc.c",
                        name, line, path.substr(0, 200));
        }
    }
    const bool has_from = !out.from.empty() || out.change == Change::create;
    const bool has_to = !out.to.empty() || out.change == Change::remove;
    if (!has_from || !has_to) {
        return fail(Code::invalid, "{}:{}: it isn't said which file is changed", name, line);
    }
    return out;
}

Status read_hunk(Lines& lines, Hunk& hunk, std::string_view name) {
    const std::size_t first = lines.number();
    std::size_t old_left = hunk.old_count;
    std::size_t new_left = hunk.new_count;
    lines.next();
    while (!lines.at_end()) {
        const std::string_view line = lines.peek();
        if (line.starts_with('\\')) {  // "\ No newline at end of file"
            if (!hunk.lines.empty()) hunk.lines.back().no_newline = true;
            lines.next();
            continue;
        }
        if (old_left == 0 && new_left == 0) break;
        // Mail programs take the blank of an empty context line away.
        const char kind = line.empty() ? ' ' : line.front();
        const bool fits = (kind == ' ' && old_left > 0 && new_left > 0) ||
                          (kind == '-' && old_left > 0) || (kind == '+' && new_left > 0);
        if (!fits) break;
        hunk.lines.push_back({kind, std::string(line.substr(line.empty() ? 0 : 1)), false});
        if (kind != '+') --old_left;
        if (kind != '-') --new_left;
        lines.next();
    }
    if (old_left == 0 && new_left == 0) return {};
    return fail(Code::invalid,
                "{}:{}: the hunk '{}' is damaged: {} line{} of the old file and {} of the new one "
                "are missing in it, or line {} is wrapped (a mail program may have done it; take "
                "the patch as an attachment or with `git format-patch`)",
                name, first, hunk.header, old_left, old_left == 1 ? "" : "s", new_left,
                lines.number());
}

}  // namespace

std::string Hunk::text() const {
    std::string out = header + "\n";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i == kHunkShown) {
            out += fmt::format("... {} more lines\n", lines.size() - i);
            break;
        }
        out += lines[i].kind + lines[i].text + "\n";
    }
    return out;
}

bool safe_path(std::string_view path) {
    if (path.empty() || path.size() > 4000 || path.front() == '/') return false;
    if (path.find('\0') != std::string_view::npos) return false;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        if (part.empty() || part == "." || part == ".." || part == ".git") return false;
        if (slash == std::string_view::npos) return true;
        path.remove_prefix(slash + 1);
    }
    return false;  // it ended with a slash
}

Result<std::vector<FilePatch>> parse_diff(std::string_view text, std::string_view name) {
    std::vector<FilePatch> out;
    Lines lines(text);
    while (!lines.at_end()) {
        const std::string_view line = lines.peek();
        if (line.starts_with("diff --cc ") || line.starts_with("diff --combined ") ||
            line.starts_with("@@@ ")) {
            return fail(Code::invalid,
                        "{}:{}: the combined diff of a merge can't be applied; make one against "
                        "its first parent: git diff MERGE^1 MERGE",
                        name, lines.number());
        }
        if (starts_file(lines)) {
            if (out.size() == kMaxFiles) {
                return fail(Code::invalid, "{}: changes more than {} files", name, kMaxFiles);
            }
            const std::size_t number = lines.number();
            MANO_ASSIGN(const Header header, read_header(lines, name));
            MANO_ASSIGN(FilePatch file, file_of(header, name, number));
            out.push_back(std::move(file));
            continue;
        }
        auto hunk = parse_hunk_header(line);
        if (!hunk) {
            lines.next();
            continue;
        }
        if (out.empty()) {
            return fail(Code::invalid,
                        "{}:{}: a hunk without a file: the lines '--- a/FILE' and '+++ b/FILE' are "
                        "missing before it",
                        name, lines.number());
        }
        MANO_TRY(read_hunk(lines, *hunk, name));
        out.back().hunks.push_back(std::move(*hunk));
    }
    return out;
}

Result<std::vector<Patch>> parse_patches(std::string_view text, std::string_view name) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        return fail(Code::invalid, "{}: the patch is empty", name);
    }
    std::vector<Patch> out;
    const std::vector<Mail> mails = split_mails(text);
    for (std::size_t i = 0; i < mails.size(); ++i) {
        Patch patch;
        patch.name =
            mails.size() == 1 ? std::string(name) : fmt::format("{} (mail {})", name, i + 1);
        patch.subject = mails[i].subject;
        MANO_ASSIGN(patch.files, parse_diff(mails[i].body, patch.name));
        if (!patch.files.empty()) out.push_back(std::move(patch));
    }
    if (!out.empty()) return out;
    const bool html = text.substr(0, 1000).find("<html") != std::string_view::npos ||
                      text.substr(0, 1000).find("<!DOCTYPE") != std::string_view::npos;
    return fail(Code::invalid,
                "{}: no change is in it: expected a unified diff with lines '--- a/FILE', "
                "'+++ b/FILE' and '@@ -1,2 +1,3 @@'{}",
                name, html ? "; this is a web page: fetch the raw patch" : "");
}

}  // namespace mano::kernels
