// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

namespace mano {

namespace fs = std::filesystem;

void Fd::close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
}

Result<Fd> open_file(const fs::path& path, int flags, unsigned mode) {
    int fd = -1;
    do {
        fd = ::open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode));
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return fail_errno(errno, path.string());
    return Fd(fd);
}

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
    MANO_ASSIGN(const Fd fd, open_file(path, O_RDONLY));
    struct stat status = {};
    if (fstat(fd.get(), &status) != 0) return fail_errno(errno, path.string());
    if (S_ISDIR(status.st_mode)) {
        return fail(Code::invalid, "{} is a directory, a file was expected", path.string());
    }
    std::string text;
    if (status.st_size > 0) text.reserve(std::min(static_cast<std::size_t>(status.st_size), limit));
    char buffer[65536];
    while (true) {
        const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, path.string());
        if (got == 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > limit) {
            return fail(Code::invalid, "{} is larger than {} bytes", path.string(), limit);
        }
    }
}

Status write_all(int fd, std::string_view bytes, std::string_view what) {
    while (!bytes.empty()) {
        const ssize_t done = ::write(fd, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_errno(errno, what);
        bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return {};
}

Result<Fd> memory_file(const char* name, std::string_view content) {
    Fd file(::memfd_create(name, MFD_CLOEXEC));
    if (!file.valid()) return fail_errno(errno, name);
    MANO_TRY(write_all(file.get(), content, name));
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno(errno, name);
    return file;
}

Status make_folders(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return fail(Code::environment, "{}: {}", path.string(), error.message());
    return {};
}

Status write_file_atomic(const fs::path& path, std::string_view bytes) {
    if (path.has_parent_path()) MANO_TRY(make_folders(path.parent_path()));
    std::string pattern = path.string() + ".XXXXXX";
    const int number = ::mkostemp(pattern.data(), O_CLOEXEC);
    if (number < 0) return fail_errno(errno, path.string());
    const Fd fd(number);
    Status written = write_all(fd.get(), bytes, path.string());
    if (written && ::fchmod(fd.get(), 0644) != 0) written = fail_errno(errno, path.string());
    if (written && ::fsync(fd.get()) != 0) written = fail_errno(errno, path.string());
    if (written && ::rename(pattern.c_str(), path.c_str()) != 0) {
        written = fail_errno(errno, path.string());
    }
    if (!written) ::unlink(pattern.c_str());
    return written;
}

Result<TempFolder> TempFolder::make(const fs::path& parent, std::string_view prefix) {
    MANO_TRY(make_folders(parent));
    std::string pattern = (parent / prefix).string() + "XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return fail_errno(errno, pattern);
    TempFolder folder;
    folder.path_ = pattern;
    return folder;
}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

TempFolder::~TempFolder() {
    if (path_.empty()) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

Result<Fd> lock_file(const fs::path& path, bool wait) {
    if (path.has_parent_path()) MANO_TRY(make_folders(path.parent_path()));
    MANO_ASSIGN(Fd fd, open_file(path, O_RDWR | O_CREAT));
    while (::flock(fd.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) {
            return fail(Code::environment, "{} is locked by another process", path.string());
        }
        return fail_errno(errno, path.string());
    }
    return fd;
}

namespace {

// A folder below the temporary one that is this user's alone. Anybody can make a folder there
// first, with a link in it to where our files should go: such a one is passed over.
fs::path private_folder() {
    std::error_code error;
    fs::path temporary = fs::temp_directory_path(error);
    if (error) temporary = "/tmp";
    fs::path folder;
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
        folder = temporary / (i == 0 ? fmt::format("manometer-{}", ::getuid())
                                     : fmt::format("manometer-{}-{}", ::getuid(), i));
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) break;  // the caller will say it
        struct stat found = {};
        if (::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
            found.st_uid == ::getuid() && (found.st_mode & 022) == 0) {
            break;
        }
    }
    return folder;
}

fs::path xdg(const char* variable, const char* below_home) {
    const char* set = std::getenv(variable);
    // The base directory specification: a relative path is invalid and to be ignored.
    if (set != nullptr && set[0] == '/') return fs::path(set) / "manometer";
    const char* home = std::getenv("HOME");
    if (home != nullptr && home[0] == '/') return fs::path(home) / below_home / "manometer";
    return private_folder() / below_home;
}

}  // namespace

fs::path cache_folder() {
    return xdg("XDG_CACHE_HOME", ".cache");
}
fs::path data_folder() {
    return xdg("XDG_DATA_HOME", ".local/share");
}

fs::path runtime_folder() {
    const char* set = std::getenv("XDG_RUNTIME_DIR");
    if (set != nullptr && set[0] == '/' && ::access(set, W_OK) == 0) {
        return fs::path(set) / "manometer";
    }
    return private_folder();
}

std::optional<fs::path> find_program(std::string_view name) {
    const char* path = std::getenv("PATH");
    std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    while (!rest.empty()) {
        const std::size_t colon = rest.find(':');
        const std::string_view folder = rest.substr(0, colon);
        rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
        if (folder.empty()) continue;
        fs::path candidate = fs::path(folder) / name;
        std::error_code ignored;
        if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, ignored)) {
            return candidate;
        }
    }
    return std::nullopt;
}

}  // namespace mano
