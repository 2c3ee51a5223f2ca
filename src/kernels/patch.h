// SPDX-License-Identifier: GPL-2.0-or-later
// Text of a patch → its changes, and changes + files → changed files. Pure: the files come through
// a function, nothing is written. Called by source_tree.cpp; patch_fuzz.cpp holds it to its word
// that no input breaks it and no path in it leads out of the tree.
//
// Read are: unified diffs (of diff -u and of git), mails of `git format-patch`, and mboxes of such
// mails (as served by mail archives: sorted by their [PATCH n/m], cover letters and replies left
// out), quoted-printable and base64 bodies undone. Matching is strict, as in `git apply`: a hunk
// may lie elsewhere in the file, but all its lines must be there. What is measured must be what
// was meant.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::kernels {

struct HunkLine {
    char kind = ' ';   // ' ' in both, '-' in the old file, '+' in the new one
    std::string text;  // without the line end
    bool no_newline = false;
};

struct Hunk {
    std::size_t old_start = 0;  // as the header says, from 1; 0 for an empty file
    std::size_t old_count = 0;
    std::size_t new_start = 0;
    std::size_t new_count = 0;
    std::string header;  // "@@ -1,7 +1,6 @@ int f(void)"
    std::vector<HunkLine> lines;
    // The text as it stands in the patch, for messages; at most kHunkShown lines.
    std::string text() const;
};

enum class Change { modify, create, remove, rename, copy };

struct FilePatch {
    Change change = Change::modify;
    std::string from;         // path in the tree before; empty for create
    std::string to;           // path after; empty for remove
    bool executable = false;  // the new mode says so
    std::vector<Hunk> hunks;
};

// One mail, or one plain diff.
struct Patch {
    std::string name;     // for messages: the file, and the mail's number in it when there are more
    std::string subject;  // of the mail; empty for a plain diff
    std::vector<FilePatch> files;
};

// `name` is the patch file's, for messages. Code::invalid: nothing in it changes a file, a path
// leads out of the tree ("../", absolute), a hunk is shorter than it says (damaged by a mail
// program), or it is of a kind that can't be applied (binary, combined, links, submodules).
Result<std::vector<Patch>> parse_patches(std::string_view text, std::string_view name);

// The diffs of a text without mail headers; for parse_patches() and the tests.
Result<std::vector<FilePatch>> parse_diff(std::string_view text, std::string_view name);

// The mails of an mbox or a single mail, decoded, in the order of their numbers; a text that is no
// mail comes back as it is. Never fails: what can't be decoded stays as it was.
struct Mail {
    std::string subject;
    std::string body;
};
std::vector<Mail> split_mails(std::string_view text);

// A path that stays inside the tree: relative, without "..", "." or empty parts, not in .git.
bool safe_path(std::string_view path);

// Path → bytes of the file; nullopt: there is no such file.
using ReadFile = std::function<Result<std::optional<std::string>>(const std::string& path)>;

struct NewFile {
    std::optional<std::string> bytes;  // nullopt: the file is removed
    std::optional<bool> executable;    // nullopt: as it was
};
// What the tree's changed files are after `patches`, in order. Code::invalid: a patch doesn't fit;
// the message has the file, the hunk, and the first line in which file and hunk differ.
using Changes = std::map<std::string, NewFile>;
Result<Changes> apply_patches(const std::vector<Patch>& patches, const ReadFile& read);

}  // namespace mano::kernels
