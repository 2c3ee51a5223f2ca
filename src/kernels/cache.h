// SPDX-License-Identifier: GPL-2.0-or-later
// The folder in which kernels are kept, below options.cache:
//
//   kernels/images/ID/          bzImage, vmlinux, config, image.json; ID = sha256 of the bzImage
//   kernels/debian/SHA256/      modules/, config, entry.json; SHA256 = that of the kernel's package
//   kernels/built/KEY/          kernels that were built here (built.h)
//   kernels/build/NAME/         where they are built (workshop.h); kernels/ccache/, its compiler
//   cache kernels/apt/                the private apt configuration and package index (fetch.cpp)
//   kernels/names.json          names given with add()
//   kernels/locks/, tmp/        who works on what; whatever isn't finished
//
// A folder under images/ or debian/ appears by a rename when it is whole, so readers take no lock.
// Knows nothing of SPECs or apt. Called by resolve.cpp, fetch.cpp and names.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "kernels/debian.h"
#include "kernels/kernel.h"

namespace mano::kernels {

// What can be said about a bzImage from its bytes alone, and the files made of it.
struct ImageEntry {
    std::string id;
    std::string origin;  // where it was first seen, for lists: a SPEC
    std::string release;
    std::string banner;
    std::string compiler;
    bool pvh = false;
    std::vector<std::string> notes;
    std::filesystem::path image;
    std::optional<std::filesystem::path> elf;
    std::optional<std::filesystem::path> config;  // embedded in the image
};

// A kernel from Debian's packages.
struct DebianEntry {
    std::string key;  // sha256 of the package with the image
    std::string image_id;
    std::string release;
    std::string flavour;
    std::string version;                          // of the package with the image
    std::map<std::string, std::string> packages;  // name → version
    std::map<std::string, std::string> sha256;    // "config", "modules", package → hex
    std::vector<std::string> notes;
    std::filesystem::path folder;
    std::optional<std::filesystem::path> modules;
    std::optional<std::filesystem::path> config;
};

class Cache {
  public:
    // `cache` is options.cache; empty: the user's own.
    explicit Cache(const std::filesystem::path& cache)
        : root_((cache.empty() ? cache_folder() : cache) / "kernels") {}

    const std::filesystem::path& root() const { return root_; }
    std::filesystem::path images() const { return root_ / "images"; }
    std::filesystem::path debian() const { return root_ / "debian"; }
    std::filesystem::path built() const { return root_ / "built"; }
    std::filesystem::path build() const { return root_ / "build"; }
    std::filesystem::path ccache() const { return root_ / "ccache"; }
    std::filesystem::path names_file() const { return root_ / "names.json"; }

    // nullopt: not there, or damaged (then store_image mends it).
    std::optional<ImageEntry> image(std::string_view id) const;
    std::vector<ImageEntry> all_images() const;
    std::optional<DebianEntry> debian_entry(std::string_view key) const;
    std::vector<DebianEntry> all_debian() const;

    // Puts a bzImage into the cache (it stays as it is when it is there), with its ELF extracted.
    // Code::invalid (see parse_bzimage) when it is none; Code::environment when the cache can't be
    // written.
    Result<ImageEntry> store_image(std::string_view bytes, std::string_view origin,
                                   const Options& options) const;
    // Writes entry.json into `folder` (with modules/ and config below it) and moves it into place.
    Result<DebianEntry> store_debian(const std::filesystem::path& folder,
                                     const DebianEntry& entry) const;

    // An exclusive lock for the work on one thing, held until the Fd is closed. Waits, asking
    // options.stop.
    Result<Fd> lock(std::string_view what, const Options& options) const;

  private:
    std::filesystem::path root_;
};

// A folder for unfinished work in ROOT/tmp. What dead processes left there is removed first. Held
// by a lock, so that the others can tell that its owner lives.
class WorkFolder {
  public:
    static Result<WorkFolder> make(const Cache& cache);
    WorkFolder() = default;
    WorkFolder(WorkFolder&& other) noexcept
        : path_(std::exchange(other.path_, {})),
          lock_path_(std::exchange(other.lock_path_, {})),
          lock_(std::move(other.lock_)) {}
    WorkFolder& operator=(WorkFolder&&) noexcept = delete;
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;
    ~WorkFolder();
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    std::filesystem::path lock_path_;
    Fd lock_;
};

// flock on `path` (made when missing): exclusive or shared. Asks options.stop ten times a second.
Result<Fd> wait_for_lock(const std::filesystem::path& path, bool shared, const Options& options);

// Moves a finished folder to where readers look. When another process was first and its folder is
// whole, that one stays: the name says that the contents are the same.
Status publish(const std::filesystem::path& finished, const std::filesystem::path& place,
               const std::function<bool()>& is_whole);

// A sha256 as lower-case hex.
bool hex_id(std::string_view id);

// Bytes of the regular files in and below `path`; 0 when it isn't there.
std::uint64_t bytes_on_disk(const std::filesystem::path& path);

}  // namespace mano::kernels
