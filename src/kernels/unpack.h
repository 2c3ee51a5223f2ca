// SPDX-License-Identifier: GPL-2.0-or-later
// Compressed bytes and Debian packages → plain bytes and chosen files (libarchive does the work).
// Must not know what a kernel is. Called by bzimage.cpp, modules.cpp and fetch.cpp. All input is
// hostile: sizes are bounded, and a member's path never becomes a path of ours unless the caller
// made it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace mano::kernels {

// Undoes one layer of gzip, xz, lzma, bzip2, lz4 (also the legacy frames of kernel images) or zstd,
// told by its magic. Bytes in no such form, a damaged stream, or more than `limit` bytes of output:
// Code::invalid, beginning with `what`.
Result<std::string> decompress(std::string_view bytes, std::uint64_t limit, std::string_view what);

// Where a member of a package goes, relative to the folder of the extraction; nullopt: nowhere. It
// gets the member's path without a leading "./" or "/".
using Placement = std::function<std::optional<std::filesystem::path>(std::string_view member)>;

struct DebLimits {
    std::uint64_t bytes = std::uint64_t{6} << 30;  // of all extracted files
    std::uint64_t members = 200'000;               // looked at
};

// Extracts the regular files of a .deb's data.tar.* that `place` wants into `folder` (which
// exists). Links, devices and folders are never made; a placement that isn't a plain relative path
// is refused. Returns the number of files written. A file that isn't a package, or ends too early:
// Code::invalid, naming `package`. `stop` true: Code::interrupted.
Result<std::uint64_t> extract_deb(const std::filesystem::path& package,
                                  const std::filesystem::path& folder, const Placement& place,
                                  const std::function<bool()>& stop = {},
                                  const DebLimits& limits = {});

// A tar archive, plain or compressed, from a file or a pipe.
struct TreeSource {
    int fd = -1;
    std::string what;    // for messages
    bool strip = false;  // without the first part of each path ("linux-source-7.3/mm" → "mm")
    std::function<void(std::uint64_t bytes_read)> progress;
};
// All of it into `folder` (which exists): files, folders, symbolic links. No member gets out of the
// folder, be it by "..", by an absolute path or through a link that came before it. Returns the
// number of members. Code::invalid: the archive is damaged or hostile; Code::environment: the disk
// is full or can't be written.
Result<std::uint64_t> extract_tree(const TreeSource& source, const std::filesystem::path& folder,
                                   const std::function<bool()>& stop = {});

}  // namespace mano::kernels
