// SPDX-License-Identifier: GPL-2.0-or-later
// A whole source tree out of a tar archive, links and modes included.
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#include <memory>
#include <vector>

#include "base/file.h"
#include "kernels/unpack.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;
constexpr std::uint64_t kMaxBytes = std::uint64_t{8} << 30;
constexpr std::uint64_t kMaxMembers = 400'000;

struct FreeRead {
    void operator()(archive* one) const { archive_read_free(one); }
};
struct FreeWrite {
    void operator()(archive* one) const { archive_write_free(one); }
};

std::string reason(archive* one) {
    const char* text = archive_error_string(one);
    return text != nullptr ? text : "damaged or truncated";
}

// A failure of the disk (full, no right) is the machine's, one of the archive is the input's.
tl::unexpected<Error> disk_error(archive* disk, std::string_view path) {
    return fail(Code::environment, "{}: {}", path, reason(disk));
}

Status copy_data(archive* in, archive* disk, const TreeSource& source, std::uint64_t& left,
                 const std::string& path) {
    const void* data = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    while (true) {
        const int status = archive_read_data_block(in, &data, &size, &offset);
        if (status == ARCHIVE_EOF) return {};
        if (status < ARCHIVE_WARN) {
            return fail(Code::invalid, "{}: {}", source.what, reason(in));
        }
        if (size > left)
            return fail(Code::invalid, "{}: holds more than is believable", source.what);
        left -= size;
        if (archive_write_data_block(disk, data, size, offset) < ARCHIVE_WARN) {
            return disk_error(disk, path);
        }
    }
}

// The member's path without its first part; nullopt: it is that part itself.
std::optional<std::string> stripped(const char* name, bool strip) {
    std::string_view path = name;
    while (path.starts_with("./"))
        path.remove_prefix(2);
    if (strip) {
        const std::size_t slash = path.find('/');
        if (slash == std::string_view::npos) return std::nullopt;
        path.remove_prefix(slash + 1);
    }
    if (path.empty()) return std::nullopt;
    return std::string(path);
}

}  // namespace

Result<std::uint64_t> extract_tree(const TreeSource& source, const fs::path& folder,
                                   const std::function<bool()>& stop) {
    const std::unique_ptr<archive, FreeRead> in(archive_read_new());
    const std::unique_ptr<archive, FreeWrite> disk(archive_write_disk_new());
    if (!in || !disk) return fail(Code::environment, "out of memory");
    archive_read_support_filter_xz(in.get());
    archive_read_support_filter_gzip(in.get());
    archive_read_support_filter_zstd(in.get());
    archive_read_support_format_tar(in.get());
    archive_write_disk_set_options(disk.get(), ARCHIVE_EXTRACT_UNLINK |
                                                   ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                   ARCHIVE_EXTRACT_SECURE_NODOTDOT);
    if (archive_read_open_fd(in.get(), source.fd, kBlock) != ARCHIVE_OK) {
        return fail(Code::invalid, "{}: {}", source.what, reason(in.get()));
    }
    std::uint64_t left = kMaxBytes;
    std::uint64_t members = 0;
    while (true) {
        if (stop && stop())
            return fail(Code::interrupted, "stopped while unpacking {}", source.what);
        archive_entry* entry = nullptr;
        const int status = archive_read_next_header(in.get(), &entry);
        if (status == ARCHIVE_EOF) return members;
        if (status < ARCHIVE_WARN) {
            return fail(Code::invalid, "{}: {}", source.what, reason(in.get()));
        }
        if (++members > kMaxMembers) {
            return fail(Code::invalid, "{}: too many members", source.what);
        }
        if (source.progress && members % 256 == 0) {
            source.progress(static_cast<std::uint64_t>(archive_filter_bytes(in.get(), -1)));
        }
        const char* name = archive_entry_pathname(entry);
        const auto path = name == nullptr ? std::nullopt : stripped(name, source.strip);
        if (!path) continue;
        if (const char* link = archive_entry_hardlink(entry); link != nullptr) {
            return fail(Code::invalid, "{}: has a hard link in it ('{}')", source.what, name);
        }
        archive_entry_set_pathname(entry, (folder / *path).c_str());
        // The absolute path is ours; what the member adds to it is checked here.
        if (fs::path(*path).is_absolute() || path->find("..") == 0 ||
            path->find("/../") != std::string::npos || path->ends_with("/..")) {
            return fail(Code::invalid, "{}: the member '{}' leads elsewhere", source.what, name);
        }
        if (archive_write_header(disk.get(), entry) < ARCHIVE_WARN) {
            return disk_error(disk.get(), *path);
        }
        if (archive_entry_filetype(entry) == AE_IFREG) {
            MANO_TRY(copy_data(in.get(), disk.get(), source, left, *path));
        }
        if (archive_write_finish_entry(disk.get()) < ARCHIVE_WARN) {
            return disk_error(disk.get(), *path);
        }
    }
}

}  // namespace mano::kernels
