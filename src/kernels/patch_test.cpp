// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/patch.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "base/process.h"
#include "base/rng.h"
#include "kernels/test_files.h"

namespace mano::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

ReadFile reader(const Files& files) {
    return [&files](const std::string& path) -> Result<std::optional<std::string>> {
        const auto found = files.find(path);
        if (found == files.end()) return std::optional<std::string>();
        return std::optional<std::string>(found->second);
    };
}

// The files after the patch, or the error's text.
std::string applied(const Files& before, std::string_view patch, Files* after = nullptr) {
    const auto parsed = parse_patches(patch, "x.patch");
    if (!parsed) return parsed.error().text();
    const auto changes = apply_patches(*parsed, reader(before));
    if (!changes) return changes.error().text();
    Files out = before;
    for (const auto& [path, file] : *changes) {
        out.erase(path);
        if (file.bytes) out[path] = *file.bytes;
    }
    if (after != nullptr) *after = out;
    return "";
}

const Files kTree = {{"mm/a.c", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"}};

constexpr std::string_view kPlain =
    "--- a/mm/a.c\n"
    "+++ b/mm/a.c\n"
    "@@ -2,3 +2,3 @@ int f(void)\n"
    " two\n"
    "-three\n"
    "+THREE\n"
    " four\n";

TEST(Patch, PlainDiff) {
    Files after;
    EXPECT_EQ(applied(kTree, kPlain, &after), "");
    EXPECT_EQ(after["mm/a.c"], "one\ntwo\nTHREE\nfour\nfive\nsix\nseven\n");
}

TEST(Patch, HunkLiesElsewhere) {
    Files tree = {{"mm/a.c", "new\nnew\nnew\n" + kTree.at("mm/a.c")}};
    Files after;
    EXPECT_EQ(applied(tree, kPlain, &after), "");
    EXPECT_EQ(after["mm/a.c"], "new\nnew\nnew\none\ntwo\nTHREE\nfour\nfive\nsix\nseven\n");
}

TEST(Patch, OtherTreeSaysHunkAndLine) {
    const Files tree = {{"mm/a.c", "one\ntwo\n3\nfour\nfive\n"}};
    const std::string error = applied(tree, kPlain);
    EXPECT_THAT(error, HasSubstr("hunk 1 of 1 in mm/a.c fails"));
    EXPECT_THAT(error, HasSubstr("line 3 is\n    3\n"));
    EXPECT_THAT(error, HasSubstr("expects\n    three"));
    EXPECT_THAT(error, HasSubstr("@@ -2,3 +2,3 @@ int f(void)\n two\n-three\n+THREE\n four\n"));
    EXPECT_THAT(applied({{"fs/b.c", ""}}, kPlain), HasSubstr("has no such file"));
}

TEST(Patch, AppliedAlready) {
    Files after;
    ASSERT_EQ(applied(kTree, kPlain, &after), "");
    EXPECT_THAT(applied(after, kPlain), HasSubstr("is the patch applied?"));
}

TEST(Patch, PathsThatLeaveTheTree) {
    for (const char* path : {"../../etc/passwd", "mm/../../x", "/etc/passwd", ".git/hooks/x"}) {
        const std::string slash = path[0] == '/' ? "" : "/";
        const std::string text =
            fmt::format("--- a{0}{1}\n+++ b{0}{1}\n@@ -0,0 +1 @@\n+x\n", slash, path);
        const std::string bare = fmt::format(
            "diff --git {0} {0}\nnew file mode 100644\n--- /dev/null\n+++ {0}\n"
            "@@ -0,0 +1 @@\n+x\n",
            path);
        if (path[0] != '/') {
            EXPECT_THAT(applied(kTree, text), HasSubstr("outside of the kernel's tree")) << path;
        }
        EXPECT_NE(applied(kTree, bare), "") << path;
    }
    EXPECT_THAT(applied(kTree, "diff --git a/x b/x\nrename from mm/a.c\nrename to ../a.c\n"),
                HasSubstr("outside of the kernel's tree"));
    EXPECT_THAT(applied(kTree,
                        "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n"
                        "@@ -0,0 +1 @@\n+/etc\n"),
                HasSubstr("makes a link"));
}

TEST(Patch, EmptyAndUseless) {
    EXPECT_THAT(applied(kTree, ""), HasSubstr("the patch is empty"));
    EXPECT_THAT(applied(kTree, " \n\n"), HasSubstr("the patch is empty"));
    EXPECT_THAT(applied(kTree, "hello\n"), HasSubstr("no change is in it"));
    EXPECT_THAT(applied(kTree, "<!DOCTYPE html>\n<html>"), HasSubstr("web page"));
    EXPECT_THAT(applied(kTree, "@@ -1 +1 @@\n-a\n+b\n"), HasSubstr("hunk without a file"));
    EXPECT_THAT(applied(kTree, "diff --cc mm/a.c\n@@@ -1,1 -1,1 +1,1 @@@\n"), HasSubstr("merge"));
    EXPECT_THAT(applied(kTree, "diff --git a/x b/x\nGIT binary patch\nliteral 3\n"),
                HasSubstr("binary"));
}

TEST(Patch, DamagedHunk) {
    const std::string text =
        "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -2,3 +2,3 @@\n two\n-three\n+THREE wrapped\nby a mailer\n";
    EXPECT_THAT(applied(kTree, text), HasSubstr("is damaged"));
}

TEST(Patch, CreateRemoveRenameAndMode) {
    const std::string text =
        "diff --git a/tools/new.sh b/tools/new.sh\nnew file mode 100755\nindex 000..123\n"
        "--- /dev/null\n+++ b/tools/new.sh\n@@ -0,0 +1,2 @@\n+#!/bin/sh\n+true\n"
        "diff --git a/mm/b.c b/mm/b.c\ndeleted file mode 100644\nindex 123..000\n"
        "--- a/mm/b.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        "diff --git a/mm/a.c b/mm/z.c\nsimilarity index 90%\nrename from mm/a.c\n"
        "rename to mm/z.c\n--- a/mm/a.c\n+++ b/mm/z.c\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
    Files tree = kTree;
    tree["mm/b.c"] = "gone\n";
    Files after;
    ASSERT_EQ(applied(tree, text, &after), "");
    EXPECT_EQ(after["tools/new.sh"], "#!/bin/sh\ntrue\n");
    EXPECT_FALSE(after.contains("mm/b.c"));
    EXPECT_FALSE(after.contains("mm/a.c"));
    EXPECT_EQ(after["mm/z.c"], "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    const auto changes = apply_patches(*parse_patches(text, "x"), reader(tree));
    EXPECT_EQ(changes->at("tools/new.sh").executable, true);
    tree["tools/new.sh"] = "there";
    EXPECT_THAT(applied(tree, text), HasSubstr("creates tools/new.sh, which is there already"));
}

TEST(Patch, NoNewlineAtTheEnd) {
    const Files tree = {{"x", "a\nb"}};
    const std::string text =
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n";
    Files after;
    ASSERT_EQ(applied(tree, text, &after), "");
    EXPECT_EQ(after["x"], "a\nc\n");
    EXPECT_THAT(applied({{"x", "a\nb\n"}}, text), HasSubstr("last newline"));
}

TEST(Patch, WithoutPrefixesAndWithDates) {
    const std::string text =
        "--- mm/a.c\t2026-01-01 00:00:00\n+++ mm/a.c\t2026-01-02 00:00:00\n@@ -1,2 +1,2 @@\n"
        "-one\n+1\n two\n";
    Files after;
    ASSERT_EQ(applied(kTree, text, &after), "");
    EXPECT_EQ(after["mm/a.c"].substr(0, 6), "1\ntwo\n");
    const std::string folders =
        "diff -ru linux-7.3/mm/a.c linux-new/mm/a.c\n--- linux-7.3/mm/a.c\n"
        "+++ linux-new/mm/a.c\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    EXPECT_EQ(applied(kTree, folders), "");
}

std::string mail(std::string_view subject, std::string_view body, std::string_view more = "") {
    return fmt::format(
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
        "From: A <a@example.org>\nDate: Mon, 1 Jun 2026 10:00:00 +0200\nSubject: {}\n{}\n{}\n",
        subject, more, body);
}

std::string change(std::string_view from, std::string_view to) {
    return fmt::format(
        "Text.\n---\n mm/a.c | 2 +-\n\n--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,2 +1,2 @@\n"
        "-{}\n+{}\n two\n-- \n2.39.5\n",
        from, to);
}

TEST(Patch, FormatPatchMail) {
    Files after;
    ASSERT_EQ(applied(kTree, mail("[PATCH] mm: x", change("one", "1")), &after), "");
    EXPECT_EQ(after["mm/a.c"].substr(0, 6), "1\ntwo\n");
    EXPECT_EQ(parse_patches(mail("[PATCH] mm: x", change("one", "1")), "x")->front().subject,
              "[PATCH] mm: x");
}

// A thread out of an archive: out of order, with a cover letter and a reply.
TEST(Patch, MboxIsSortedByItsNumbers) {
    const std::string box = mail("[PATCH v2 2/2] mm: second", change("1", "ONE")) +
                            mail("Re: [PATCH v2 1/2] mm: first", "> -one\n> +1\nNack.\n") +
                            mail("[PATCH v2 0/2] mm: cover", "Two patches.\n") +
                            mail("[PATCH v2 1/2] mm: first", change("one", "1"));
    Files after;
    ASSERT_EQ(applied(kTree, box, &after), "");
    EXPECT_EQ(after["mm/a.c"].substr(0, 8), "ONE\ntwo\n");
    const auto parsed = parse_patches(box, "x");
    ASSERT_EQ(parsed->size(), 2U);
    EXPECT_EQ(parsed->front().subject, "[PATCH v2 1/2] mm: first");
}

TEST(Patch, QuotedPrintableBase64AndMime) {
    std::string quoted = change("one", "o=3D1");
    Files after;
    ASSERT_EQ(
        applied(kTree, mail("[PATCH] x", quoted, "Content-Transfer-Encoding: quoted-printable\n"),
                &after),
        "");
    EXPECT_EQ(after["mm/a.c"].substr(0, 4), "o=1\n");
    // base64 of "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    const std::string encoded = "LS0tIGEveAorKysgYi94CkBAIC0xICsxIEBACi1hCitiCg==";
    ASSERT_EQ(applied({{"x", "a\n"}},
                      mail("[PATCH] x", encoded, "Content-Transfer-Encoding: base64\n"), &after),
              "");
    EXPECT_EQ(after["x"], "b\n");
    const std::string parts =
        "--XX\nContent-Type: text/plain\n\nHello.\n--XX\nContent-Type: text/x-patch\n"
        "Content-Transfer-Encoding: base64\n\n" +
        encoded + "\n--XX--\n";
    ASSERT_EQ(
        applied({{"x", "a\n"}},
                mail("[PATCH] x", parts, "Content-Type: multipart/mixed;\n boundary=\"XX\"\n"),
                &after),
        "");
    EXPECT_EQ(after["x"], "b\n");
}

TEST(Patch, MailWithCarriageReturns) {
    std::string text = mail("[PATCH] x", change("one", "1"));
    std::string dos;
    for (const char c : text) {
        if (c == '\n') dos += '\r';
        dos += c;
    }
    Files after;
    ASSERT_EQ(applied(kTree, dos, &after), "");
    EXPECT_EQ(after["mm/a.c"].substr(0, 6), "1\ntwo\n");
}

TEST(Patch, SecondPatchSeesTheFirst) {
    std::vector<Patch> all = *parse_patches(kPlain, "1");
    const std::string second = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -3 +3 @@\n-THREE\n+Drei\n";
    const std::vector<Patch> more = *parse_patches(second, "2");
    all.insert(all.end(), more.begin(), more.end());
    const auto changes = apply_patches(all, reader(kTree));
    ASSERT_TRUE(changes) << changes.error().text();
    EXPECT_EQ(changes->at("mm/a.c").bytes, "one\ntwo\nDrei\nfour\nfive\nsix\nseven\n");
}

// Oracle: diff(1). What it says turns one text into the other does so here.
TEST(Patch, AppliesWhatDiffWrites) {
    const auto diff = find_program("diff");
    if (!diff) GTEST_SKIP() << "no diff on this machine (package diffutils)";
    const test::Folder folder;
    const std::uint64_t seed = 20261130;
    RecordProperty("seed", static_cast<int>(seed));
    Rng rng(seed);
    const auto text = [&rng](std::uint64_t lines) {
        std::string out;
        for (std::uint64_t i = 0; i < lines; ++i)
            out += fmt::format("line {}\n", rng.below(7));
        if (rng.below(4) == 0 && !out.empty()) out.pop_back();
        return out;
    };
    for (int round = 0; round < 60; ++round) {
        const std::string old_text = text(rng.below(40));
        std::string new_text = old_text;
        for (std::uint64_t edits = 1 + rng.below(4); edits > 0 && !new_text.empty(); --edits) {
            const std::size_t at = rng.below(new_text.size());
            const std::size_t line = new_text.rfind('\n', at);
            const std::size_t begin = line == std::string::npos ? 0 : line + 1;
            if (rng.below(2) == 0) {
                new_text.insert(begin, text(rng.below(3)));
            } else {
                new_text.erase(begin, new_text.find('\n', begin) - begin + 1);
            }
        }
        if (old_text == new_text || old_text.empty() || new_text.empty()) continue;
        const auto a = folder.file("a", old_text);
        const auto b = folder.file("b", new_text);
        const auto output = run_program(
            {diff->string(), "-u", "--label", "a/x", "--label", "b/x", a.string(), b.string()});
        ASSERT_TRUE(output);
        Files after;
        ASSERT_EQ(applied({{"x", old_text}}, output->out, &after), "")
            << "seed " << seed << " round " << round << "\n"
            << output->out;
        EXPECT_EQ(after["x"], new_text) << "seed " << seed << " round " << round;
    }
}

TEST(Patch, SafePaths) {
    for (const char* path : {"mm/a.c", "a", "a..b/c", ".gitignore", "x/.gitignore"})
        EXPECT_TRUE(safe_path(path)) << path;
    for (const char* path : {"", "/a", "../a", "a/..", "a/../b", "./a", "a/./b", "a//b", "a/",
                             ".git/config", "x/.git/config"})
        EXPECT_FALSE(safe_path(path)) << path;
}

}  // namespace
}  // namespace mano::kernels
