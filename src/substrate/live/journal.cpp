// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mano::substrate::live {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxValue = 4096;
constexpr int kTries = 100;
constexpr unsigned kTryUs = 50'000;
constexpr std::size_t kMaxJournal = std::size_t{64} << 10;  // as the guard reads it

// Writing these does something, or can't be taken back, or gives a way to run programs as root.
constexpr std::array<std::string_view, 10> kNever{
    "/proc/sys/vm/drop_caches",           "/proc/sys/vm/compact_memory",
    "/proc/sys/vm/stat_refresh",          "/proc/sys/kernel/modules_disabled",
    "/proc/sys/kernel/core_pattern",      "/proc/sys/kernel/kexec_load_disabled",
    "/proc/sys/kernel/modprobe",          "/proc/sys/kernel/unprivileged_bpf_disabled",
    "/proc/sys/kernel/yama/ptrace_scope", "/proc/sys/kernel/poweroff_cmd"};

bool is_allowed(std::string_view path) {
    const bool tree = path.starts_with("/proc/sys/") || path.starts_with("/sys/kernel/mm/");
    return tree && path.find("/..") == std::string_view::npos &&
           path.find_first_of("\t\n") == std::string_view::npos && path.size() < 200 &&
           std::find(kNever.begin(), kNever.end(), path) == kNever.end();
}

// "always [madvise] never" → "madvise".
std::string chosen(std::string text) {
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || close == std::string::npos) return text;
    return text.substr(open + 1, close - open - 1);
}

Result<Change> read_change(const plan::Setting& setting) {
    if (!is_allowed(setting.path)) {
        return fail(Code::invalid,
                    "{}: can't be set on a live host, where every setting has to be put back "
                    "afterwards; expected a value below /proc/sys or /sys/kernel/mm that keeps "
                    "what is written to it",
                    setting.path.substr(0, 200));
    }
    auto text = read_file(setting.path, kMaxValue);
    if (!text) {
        return fail(Code::environment, "{}: can't be set here, since it can't be read: {}",
                    setting.path, text.error().text());
    }
    Change change{setting.path, chosen(std::move(*text)), setting.value};
    if (change.now.empty() || change.now.find('\n') != std::string::npos) {
        return fail(Code::invalid,
                    "{}: can't be set on a live host, since what it is now isn't one line that "
                    "could be written back",
                    setting.path);
    }
    if (::access(setting.path.c_str(), W_OK) != 0) {
        return fail(Code::environment, "{}: may not be written by this user ({}); run as root",
                    setting.path, errno == EROFS ? "mounted read-only" : "no permission");
    }
    return change;
}

// Ours, a folder and not a link, and writable by nobody else: what stands in a journal is done.
Status check_folder(const fs::path& folder) {
    struct stat status = {};
    if (::lstat(folder.c_str(), &status) != 0) return fail_errno(errno, folder.string());
    const bool good = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
                      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (good) return {};
    return fail(Code::environment, "{}: isn't a folder that only this user can write; remove it",
                folder.string());
}

}  // namespace

Result<std::vector<Change>> read_changes(const std::vector<plan::Setting>& settings) {
    std::vector<Change> changes;
    for (const plan::Setting& setting : settings) {
        const auto known = std::find_if(changes.begin(), changes.end(), [&](const Change& change) {
            return change.path == setting.path;
        });
        if (known != changes.end()) {
            known->then = setting.value;
            continue;
        }
        MANO_ASSIGN(Change change, read_change(setting));
        changes.push_back(std::move(change));
    }
    // Whoever switches huge pages has the kernel work out its watermarks anew
    // (set_recommended_min_free_kbytes() of mm/khugepaged.c). First here is put back last.
    const bool huge = std::any_of(changes.begin(), changes.end(), [](const Change& change) {
        return change.path.starts_with("/sys/kernel/mm/transparent_hugepage/");
    });
    const std::string along = "/proc/sys/vm/min_free_kbytes";
    const bool known = std::any_of(changes.begin(), changes.end(),
                                   [&](const Change& change) { return change.path == along; });
    if (huge && !known) {
        MANO_ASSIGN(Change change, read_change({along, "", false}));
        changes.insert(changes.begin(), std::move(change));
    }
    return changes;
}

std::string journal_text(const std::vector<Change>& changes, const std::vector<fs::path>& groups) {
    std::string text = "manometer 1\n";
    for (const fs::path& group : groups)
        text += fmt::format("group {}\n", group.string());
    for (const Change& change : changes)
        text += fmt::format("setting {}\t{}\n", change.path, change.now);
    return text;
}

fs::path live_folder() {
    if (::geteuid() == 0 && ::access("/run", W_OK) == 0) return "/run/manometer-live";
    return runtime_folder() / "live";
}

Result<Claim> Claim::take(const fs::path& folder) {
    if (folder.has_parent_path()) MANO_TRY(make_folders(folder.parent_path()));
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return fail_errno(errno, folder.string());
    }
    MANO_TRY(check_folder(folder));
    Claim claim;
    // A run that was just killed is still being cleared away.
    auto lock = lock_file(folder / "lock", false);
    for (int tries = 0; !lock && tries < kTries; ++tries) {
        ::usleep(kTryUs);
        lock = lock_file(folder / "lock", false);
    }
    if (!lock) {
        return fail(Code::environment,
                    "another live run of this user is going on, or its guard is still putting "
                    "things back; wait for it ({})",
                    lock.error().text());
    }
    claim.lock_ = std::move(*lock);
    claim.path_ = folder / "journal";
    MANO_ASSIGN(claim.journal_, open_file(claim.path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
    return claim;
}

Result<bool> Claim::is_stale() const {
    struct stat status = {};
    if (::fstat(journal_.get(), &status) != 0) return fail_errno(errno, path_.string());
    return status.st_size > 0;
}

Status Claim::write(std::string_view text) const {
    if (text.size() > kMaxJournal) return fail(Code::internal, "the journal is too long");
    if (::ftruncate(journal_.get(), 0) != 0 || ::lseek(journal_.get(), 0, SEEK_SET) != 0) {
        return fail_errno(errno, path_.string());
    }
    MANO_TRY(write_all(journal_.get(), text, path_.string()));
    if (::fsync(journal_.get()) != 0) return fail_errno(errno, path_.string());
    return {};
}

}  // namespace mano::substrate::live
