// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/git_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/process.h"
#include "base/units.h"
#include "kernels/unpack.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kTextLimit = std::size_t{64} << 20;
// More differing paths than this: the whole archive is faster than a long argument list.
constexpr std::size_t kMaxUpdate = 2'000;
constexpr std::size_t kListed = 5;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.remove_suffix(1);
    return text;
}

// One git repository, only read.
class Git {
  public:
    Git(fs::path folder, fs::path scratch, const Options& options)
        : folder_(std::move(folder)), scratch_(std::move(scratch)), options_(options) {}

    SpawnOptions spawn() const {
        SpawnOptions out;
        out.folder = folder_;
        out.environment = {"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
                           "GIT_NO_LAZY_FETCH=1"};
        // What a hook or an alias of the caller's has set would lead elsewhere.
        out.unset = {"GIT_DIR",
                     "GIT_WORK_TREE",
                     "GIT_INDEX_FILE",
                     "GIT_NAMESPACE",
                     "GIT_COMMON_DIR",
                     "GIT_OBJECT_DIRECTORY",
                     "GIT_ALTERNATE_OBJECT_DIRECTORIES"};
        if (!objects_.empty()) {
            out.environment.push_back("GIT_OBJECT_DIRECTORY=" + scratch_.string());
            out.environment.push_back("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + objects_);
        }
        return out;
    }
    static std::vector<std::string> line(std::vector<std::string> words) {
        // A monitor of the file system would be a program of the repository's choice.
        std::vector<std::string> out = {"git",       "-c", "core.fsmonitor=false",  "-c",
                                        "gc.auto=0", "-c", "maintenance.auto=false"};
        out.insert(out.end(), words.begin(), words.end());
        return out;
    }
    Result<Output> run(std::vector<std::string> words) const {
        return run_program(line(std::move(words)), spawn(), kTextLimit, options_.stop);
    }
    // The answer's one line; nullopt when git says no.
    Result<std::optional<std::string>> ask(std::vector<std::string> words) const {
        MANO_ASSIGN(const Output output, run(std::move(words)));
        if (!output.exit.ok()) return std::optional<std::string>();
        return std::optional<std::string>(trimmed(output.out));
    }
    // From here on what git stores goes to the scratch folder.
    void store_elsewhere(const fs::path& objects) { objects_ = objects.string(); }

  private:
    fs::path folder_;
    fs::path scratch_;
    const Options& options_;
    std::string objects_;
};

Result<fs::path> repository(const Git& git, const fs::path& folder) {
    MANO_ASSIGN(const Output output, git.run({"rev-parse", "--git-common-dir"}));
    if (output.exit.ok()) {
        const fs::path given(trimmed(output.out));
        std::error_code error;
        fs::path whole = fs::canonical(given.is_absolute() ? given : folder / given, error);
        if (error) return fail(Code::environment, "{}: {}", given.string(), error.message());
        return whole;
    }
    if (output.err.find("dubious ownership") != std::string::npos) {
        return fail(Code::environment,
                    "{}: git doesn't read a tree of another user: git config --global --add "
                    "safe.directory {}",
                    folder.string(), folder.string());
    }
    std::error_code error;
    const bool linux_tree = fs::exists(folder / "Kbuild", error);
    return fail(Code::invalid, "{}: not a git tree{}", folder.string(),
                linux_tree ? "; make it one: git init, git add -A, git commit" : "");
}

Result<std::string> resolve_commit(const Git& git, const fs::path& folder,
                                   std::string_view revision, bool shallow) {
    const std::string wanted = std::string(revision) + "^{commit}";
    MANO_ASSIGN(const auto commit,
                git.ask({"rev-parse", "--verify", "--quiet", "--end-of-options", wanted}));
    if (commit && commit->size() >= 40) return *commit;
    if (revision == "HEAD") {
        return fail(Code::invalid, "{}: the git tree has no commit yet", folder.string());
    }
    return fail(Code::not_found,
                "{}: there is no revision '{}' in this git tree{}; `git log --oneline --all` and "
                "`git tag` list those there are",
                folder.string(), revision,
                shallow ? ", which is a shallow clone without its history (git fetch --unshallow "
                          "gets it)"
                        : "");
}

// Is it the source of Linux? Judged by what a build of it needs.
Status check_linux(const Git& git, const GitRevision& found) {
    for (const char* path : {"Kbuild", "Kconfig", "Makefile", "arch/x86/Kconfig", "mm/Kconfig"}) {
        MANO_ASSIGN(const auto type, git.ask({"cat-file", "-t", found.commit + ":" + path}));
        if (type == "blob") continue;
        return fail(Code::invalid,
                    "{}: {} isn't the source of Linux: it has no file {}; a git tree of the kernel "
                    "is wanted",
                    found.folder.string(), found.described, path);
    }
    return {};
}

// What the user may take for part of the kernel and isn't.
Status note_changes(const Git& git, GitRevision& found, bool is_head) {
    if (!is_head) return {};
    MANO_ASSIGN(const Output output,
                git.run({"status", "--porcelain", "--untracked-files=no", "--ignore-submodules"}));
    if (!output.exit.ok() || output.out.empty()) return {};
    std::vector<std::string> files;
    std::size_t count = 0;
    for (std::size_t at = 0; at < output.out.size(); ++count) {
        const std::size_t end = std::min(output.out.find('\n', at), output.out.size());
        if (end - at > 3 && files.size() < kListed) {
            files.push_back(output.out.substr(at + 3, end - at - 3));
        }
        at = end + 1;
    }
    found.notes.push_back(fmt::format(
        "{} has changes that aren't committed, in {} file{} ({}{}): they are NOT in this kernel. "
        "Commit them, or give them as a patch: git diff HEAD > FILE.patch, then +FILE.patch.",
        found.folder.string(), count, count == 1 ? "" : "s", fmt::join(files, ", "),
        count > files.size() ? ", …" : ""));
    return {};
}

// `git archive` of some paths (none: all) into the folder.
Status unpack_archive(const Git& git, const GitRevision& revision,
                      const std::vector<std::string>& paths, const fs::path& folder,
                      const fs::path& scratch, const Options& options) {
    std::vector<std::string> words = {"archive", "--format=tar", revision.commit};
    if (!paths.empty()) words.emplace_back("--");
    for (const std::string& path : paths)
        words.push_back(":(literal)" + path);
    MANO_ASSIGN(Pipe pipe, make_pipe());
    const fs::path log = scratch / "git.log";
    MANO_ASSIGN(const Fd errors, open_file(log, O_WRONLY | O_CREAT | O_TRUNC));
    SpawnOptions spawn = git.spawn();
    spawn.stdout_fd = pipe.write.get();
    spawn.stderr_fd = errors.get();
    MANO_ASSIGN(Child child, Child::spawn(Git::line(std::move(words)), spawn));
    pipe.write.close();
    TreeSource source;
    source.fd = pipe.read.get();
    source.what = "git archive " + revision.described;
    source.progress = [&](std::uint64_t bytes) {
        if (options.progress) {
            options.progress(fmt::format("taking {} out of {}: {}", revision.described,
                                         revision.folder.string(), show_bytes(bytes)),
                             0, 0);
        }
    };
    const auto count = extract_tree(source, folder, options.stop);
    if (!count) {
        child.kill_and_reap();
        const auto said = read_file(log, kTextLimit);
        if (count.error().code == Code::invalid && said && !said->empty()) {
            return fail(Code::environment, "git archive {}: {}", revision.described,
                        trimmed(*said));
        }
        return tl::unexpected<Error>(count.error());
    }
    const Exit exit = child.wait();
    if (exit.ok()) return {};
    const auto said = read_file(log, kTextLimit);
    return fail(Code::environment, "git archive {}: {}", revision.described,
                said ? trimmed(*said) : exit.text());
}

struct Difference {
    std::vector<std::string> removed, written;
};

// What turns one tree into another; nullopt: git can't say (the old one is gone), or it is much.
Result<std::optional<Difference>> difference(const Git& git, const std::string& old_tree,
                                             const std::string& new_tree) {
    MANO_ASSIGN(const Output output, git.run({"diff-tree", "-r", "-z", "--no-renames",
                                              "--name-status", old_tree, new_tree}));
    if (!output.exit.ok()) return std::optional<Difference>();
    Difference out;
    std::string_view rest = output.out;
    const auto take = [&rest] {
        const std::size_t end = std::min(rest.find('\0'), rest.size());
        std::string word(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        return word;
    };
    while (!rest.empty()) {
        const std::string status = take();
        const std::string path = take();
        if (status != "D") out.written.push_back(path);
        // A link that becomes a file must not be written through.
        if (status == "D" || status == "T") out.removed.push_back(path);
        if (out.written.size() > kMaxUpdate) return std::optional<Difference>();
    }
    return std::optional<Difference>(std::move(out));
}

Git opened(const GitRevision& revision, const fs::path& scratch, const Options& options) {
    Git git(revision.folder, scratch, options);
    git.store_elsewhere(revision.git_dir / "objects");
    return git;
}

}  // namespace

Result<GitRevision> find_revision(const fs::path& folder, std::string_view revision,
                                  const fs::path& scratch, const Options& options) {
    GitRevision found;
    std::error_code error;
    found.folder = fs::canonical(folder, error);
    if (error) return fail(Code::not_found, "{}: {}", folder.string(), error.message());
    if (!fs::is_directory(found.folder, error)) {
        return fail(Code::invalid, "{}: not a folder; that of a git tree is wanted",
                    folder.string());
    }
    if (!find_program("git")) {
        return fail(Code::environment, "git was not found on PATH: apt-get install git");
    }
    Git git(found.folder, scratch, options);
    MANO_ASSIGN(found.git_dir, repository(git, found.folder));
    git.store_elsewhere(found.git_dir / "objects");
    MANO_ASSIGN(const auto shallow, git.ask({"rev-parse", "--is-shallow-repository"}));
    const bool is_shallow = shallow == "true";
    MANO_ASSIGN(found.commit, resolve_commit(git, found.folder, revision, is_shallow));
    MANO_ASSIGN(const auto tree, git.ask({"rev-parse", "--verify", found.commit + "^{tree}"}));
    if (!tree)
        return fail(Code::environment, "{}: git can't read the files of {}", found.folder.string(),
                    found.commit);
    found.tree = *tree;
    MANO_ASSIGN(const auto described,
                git.ask({"describe", "--always", "--abbrev=12", found.commit}));
    found.described = described.value_or(found.commit.substr(0, 12));
    MANO_TRY(check_linux(git, found));
    if (is_shallow) {
        found.notes.push_back(
            fmt::format("{} is a shallow clone: {} is whole, but revisions before it aren't there.",
                        found.folder.string(), found.described));
    }
    MANO_ASSIGN(const auto head, git.ask({"rev-parse", "--verify", "--quiet", "HEAD"}));
    MANO_TRY(note_changes(git, found, head == found.commit));
    return found;
}

Status checkout(Workshop& workshop, const GitRevision& revision, const fs::path& scratch,
                const Options& options) {
    const std::string wanted = "git-tree " + revision.tree;
    if (workshop.source() == wanted) return {};
    const Git git = opened(revision, scratch, options);
    if (workshop.source().starts_with("git-tree ")) {
        MANO_ASSIGN(const auto change, difference(git, workshop.source().substr(9), revision.tree));
        if (change) {
            return workshop.update(wanted, change->removed, [&](const fs::path& folder) -> Status {
                if (change->written.empty()) return {};
                return unpack_archive(git, revision, change->written, folder, scratch, options);
            });
        }
    }
    return workshop.fill(wanted, [&](const fs::path& folder) {
        return unpack_archive(git, revision, {}, folder, scratch, options);
    });
}

}  // namespace mano::kernels
