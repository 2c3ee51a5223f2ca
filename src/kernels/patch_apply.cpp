// SPDX-License-Identifier: GPL-2.0-or-later
// Changes + files → changed files.
#include <algorithm>

#include "kernels/patch.h"

namespace mano::kernels {

namespace {

// A file as lines; the last may be without its newline.
struct Text {
    std::vector<std::string_view> lines;
    bool ends_with_newline = true;
};

Text split_lines(std::string_view bytes) {
    Text out;
    out.ends_with_newline = bytes.empty() || bytes.back() == '\n';
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        out.lines.push_back(bytes.substr(0, end));
        if (end == std::string_view::npos) break;
        bytes.remove_prefix(end + 1);
    }
    return out;
}

// One side of a hunk.
std::vector<const HunkLine*> side(const Hunk& hunk, char other) {
    std::vector<const HunkLine*> out;
    for (const HunkLine& line : hunk.lines) {
        if (line.kind != other) out.push_back(&line);
    }
    return out;
}

// How many of `wanted`'s lines the file has at `at`.
std::size_t matching(const Text& file, const std::vector<const HunkLine*>& wanted, std::size_t at) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < wanted.size() && at + i < file.lines.size(); ++i)
        count += file.lines[at + i] == wanted[i]->text ? 1U : 0U;
    return count;
}

bool fits(const Text& file, const std::vector<const HunkLine*>& wanted, std::size_t at) {
    if (at > file.lines.size() || wanted.size() > file.lines.size() - at) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (file.lines[at + i] != wanted[i]->text) return false;
        const bool last = at + i + 1 == file.lines.size();
        if (wanted[i]->no_newline != (last && !file.ends_with_newline)) return false;
    }
    return true;
}

// The place nearest to `expected` where all of it is, from `least` on.
std::optional<std::size_t> find_place(const Text& file, const std::vector<const HunkLine*>& wanted,
                                      std::size_t expected, std::size_t least) {
    const std::size_t count = file.lines.size();
    for (std::size_t distance = 0; distance <= count + 1; ++distance) {
        if (expected >= distance + least && fits(file, wanted, expected - distance)) {
            return expected - distance;
        }
        if (distance > 0 && expected + distance >= least &&
            fits(file, wanted, expected + distance)) {
            return expected + distance;
        }
    }
    return std::nullopt;
}

// Why a hunk fits nowhere: where most of it is, and the first line that isn't.
std::string why_not(const Text& file, const Hunk& hunk, std::size_t expected) {
    if (find_place(file, side(hunk, '-'), hunk.new_start == 0 ? 0 : hunk.new_start - 1, 0) &&
        !side(hunk, '-').empty()) {
        return "what it would make is there already: is the patch applied?";
    }
    const auto wanted = side(hunk, '+');
    std::size_t best = 0;
    std::size_t place = 0;
    // Ties go to the place nearest to where the patch says.
    const auto distance = [&](std::size_t at) {
        return at > expected ? at - expected : expected - at;
    };
    for (std::size_t at = 0; at < file.lines.size(); ++at) {
        const std::size_t count = matching(file, wanted, at);
        if (count > best || (count == best && count > 0 && distance(at) < distance(place))) {
            best = count;
            place = at;
        }
    }
    if (best * 2 < wanted.size() || best == 0) {
        return fmt::format("nothing like it is in the file, which has {} lines", file.lines.size());
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::size_t at = place + i;
        if (at >= file.lines.size()) {
            return fmt::format("the file ends at line {}, where the patch expects\n    {}",
                               file.lines.size(), wanted[i]->text);
        }
        if (file.lines[at] != wanted[i]->text) {
            return fmt::format(
                "{} of its {} lines are at line {}, but line {} is\n    {}\nwhere the patch "
                "expects\n    {}",
                best, wanted.size(), place + 1, at + 1, file.lines[at], wanted[i]->text);
        }
    }
    return "the end of the file differs in its last newline";
}

Result<std::string> apply_hunks(const std::string& bytes, const FilePatch& change,
                                const Patch& patch, const std::string& path) {
    const Text file = split_lines(bytes);
    std::string out;
    out.reserve(bytes.size());
    std::size_t at = 0;  // first line of the file that isn't in `out` yet
    std::ptrdiff_t drift = 0;
    const auto put = [&out](std::string_view line, bool newline) {
        out += line;
        if (newline) out += '\n';
    };
    const auto copy_until = [&](std::size_t end) {
        for (; at < end; ++at)
            put(file.lines[at], at + 1 < file.lines.size() || file.ends_with_newline);
    };
    for (std::size_t number = 0; number < change.hunks.size(); ++number) {
        const Hunk& hunk = change.hunks[number];
        const auto wanted = side(hunk, '+');
        // An insertion without context stands behind the line that the header names.
        const std::size_t said =
            hunk.old_count == 0 ? hunk.old_start : std::max<std::size_t>(hunk.old_start, 1) - 1;
        const auto guess = static_cast<std::ptrdiff_t>(std::min(said, file.lines.size())) + drift;
        const auto expected = static_cast<std::size_t>(std::max<std::ptrdiff_t>(guess, 0));
        const auto place = find_place(file, wanted, expected, at);
        if (!place) {
            return fail(Code::invalid,
                        "{} doesn't fit: hunk {} of {} in {} fails: {}\nThe hunk:\n{}", patch.name,
                        number + 1, change.hunks.size(), path, why_not(file, hunk, expected),
                        hunk.text());
        }
        drift += static_cast<std::ptrdiff_t>(*place) - static_cast<std::ptrdiff_t>(expected);
        copy_until(*place);
        for (const HunkLine* line : side(hunk, '-'))
            put(line->text, !line->no_newline);
        at = *place + wanted.size();
    }
    copy_until(file.lines.size());
    return out;
}

class Tree {
  public:
    explicit Tree(const ReadFile& read) : read_(read) {}

    Result<std::optional<std::string>> file(const std::string& path) const {
        if (const auto found = changes_.find(path); found != changes_.end()) {
            return found->second.bytes;
        }
        return read_(path);
    }

    Status apply(const FilePatch& change, const Patch& patch) {
        std::string before;
        if (change.change == Change::create) {
            MANO_ASSIGN(const auto there, file(change.to));
            if (there) {
                return fail(Code::invalid,
                            "{} doesn't fit: it creates {}, which is there already: is the patch "
                            "applied, or for an older kernel?",
                            patch.name, change.to);
            }
        } else {
            MANO_ASSIGN(auto there, file(change.from));
            if (!there) {
                return fail(Code::invalid,
                            "{} doesn't fit: it changes {}, but this tree has no such file: is the "
                            "patch for another tree or version?{}",
                            patch.name, change.from,
                            change.hunks.empty()
                                ? ""
                                : "\nIts first hunk:\n" + change.hunks.front().text());
            }
            before = std::move(*there);
        }
        const std::string& path = change.from.empty() ? change.to : change.from;
        MANO_ASSIGN(std::string after, apply_hunks(before, change, patch, path));
        if (change.change == Change::remove && !after.empty()) {
            return fail(Code::invalid,
                        "{} doesn't fit: it removes {}, which has more lines here than the patch "
                        "knows",
                        patch.name, change.from);
        }
        if (change.change == Change::remove || change.change == Change::rename) {
            changes_[change.from] = NewFile{std::nullopt, std::nullopt};
        }
        if (change.change != Change::remove) {
            NewFile& file = changes_[change.to];
            file.bytes = std::move(after);
            if (change.executable) file.executable = true;
        }
        return {};
    }

    Changes take() { return std::move(changes_); }

  private:
    const ReadFile& read_;
    Changes changes_;
};

}  // namespace

Result<Changes> apply_patches(const std::vector<Patch>& patches, const ReadFile& read) {
    Tree tree(read);
    for (const Patch& patch : patches) {
        for (const FilePatch& change : patch.files)
            MANO_TRY(tree.apply(change, patch));
    }
    return tree.take();
}

}  // namespace mano::kernels
