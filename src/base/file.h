// SPDX-License-Identifier: GPL-2.0-or-later
// File descriptors that close themselves, whole files, and writes that are there whole or not at
// all. Must not know what is in a file.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace mano {

// Owns one file descriptor.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int number) : number_(number) {}
    Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) {
            close();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { close(); }

    int get() const { return number_; }
    bool valid() const { return number_ >= 0; }
    int release() { return std::exchange(number_, -1); }
    void close();

  private:
    int number_ = -1;
};

constexpr std::size_t kReadLimit = std::size_t{256} << 20;

// Opens with O_CLOEXEC. The error names the path.
Result<Fd> open_file(const std::filesystem::path& path, int flags, unsigned mode = 0644);
// The whole file; more than `limit` bytes, a directory, or a device that never ends is an error.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = kReadLimit);
Status write_all(int fd, std::string_view bytes, std::string_view what);
// A file in memory under no path, at its start; `name` is how /proc shows it. Programs in it can be
// run even where no writable folder allows that.
Result<Fd> memory_file(const char* name, std::string_view content);
// Written beside `path`, synced, renamed: readers see the old file or the new one. The folder is
// made when missing.
Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes);
Status make_folders(const std::filesystem::path& path);

// A private folder that is removed with its contents at the end of its life.
class TempFolder {
  public:
    static Result<TempFolder> make(const std::filesystem::path& parent, std::string_view prefix);
    TempFolder() = default;
    TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TempFolder& operator=(TempFolder&& other) noexcept;
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder();
    const std::filesystem::path& path() const { return path_; }
    // Keeps the folder (after a rename into a cache).
    void release() { path_.clear(); }

  private:
    std::filesystem::path path_;
};

// An advisory lock (flock) on a file that is created when missing; freed by the kernel when the
// process dies. `wait` false: returns an error of code `environment` when another holds it.
Result<Fd> lock_file(const std::filesystem::path& path, bool wait = true);

// $XDG_CACHE_HOME/manometer, $XDG_DATA_HOME/manometer, and a per-user folder for running guests
// ($XDG_RUNTIME_DIR/manometer, else below the temporary folder). Not created.
std::filesystem::path cache_folder();
std::filesystem::path data_folder();
std::filesystem::path runtime_folder();

// First match on PATH, as the shell would; nullopt when there is none.
std::optional<std::filesystem::path> find_program(std::string_view name);

}  // namespace mano
