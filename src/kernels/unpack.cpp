// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#include <memory>
#include <vector>

#include "base/file.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

struct FreeArchive {
    void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

constexpr std::size_t kBlock = std::size_t{64} << 10;

std::string_view reason(archive* reader) {
    const char* text = archive_error_string(reader);
    return text != nullptr ? text : "damaged or truncated";
}

// Only the filters that libarchive has built in: the others would start programs.
void support_filters(archive* reader) {
    archive_read_support_filter_gzip(reader);
    archive_read_support_filter_xz(reader);
    archive_read_support_filter_lzma(reader);
    archive_read_support_filter_bzip2(reader);
    archive_read_support_filter_lz4(reader);
    archive_read_support_filter_zstd(reader);
}

// WARN means that the data are fine and something beside them isn't.
bool good(la_ssize_t status) {
    return status >= 0 || status == ARCHIVE_WARN;
}

Status read_all(archive* reader, std::uint64_t limit, std::string_view what, std::string& into) {
    std::vector<char> block(kBlock);
    while (true) {
        const la_ssize_t got = archive_read_data(reader, block.data(), block.size());
        if (got < 0) return fail(Code::corrupt, "{}: {}", what, reason(reader));
        if (got == 0) return {};
        into.append(block.data(), static_cast<std::size_t>(got));
        if (into.size() > limit) {
            return fail(Code::invalid, "{}: more than {} bytes when unpacked", what, limit);
        }
    }
}

}  // namespace

Result<std::string> decompress(std::string_view bytes, std::uint64_t limit, std::string_view what) {
    const Reader reader(archive_read_new());
    if (!reader) return fail(Code::environment, "{}: out of memory", what);
    support_filters(reader.get());
    archive_read_support_format_raw(reader.get());
    if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
        return fail(Code::invalid, "{}: {}", what, reason(reader.get()));
    }
    archive_entry* entry = nullptr;
    if (!good(archive_read_next_header(reader.get(), &entry))) {
        return fail(Code::invalid, "{}: {}", what, reason(reader.get()));
    }
    // Without a filter "raw" hands the input through, which would be taken for success.
    if (archive_filter_count(reader.get()) < 2) {
        return fail(Code::invalid, "{}: in no compression that is known here", what);
    }
    std::string out;
    MANO_TRY(read_all(reader.get(), limit, what, out));
    return out;
}

namespace {

// Feeds the inner tar from a member of the outer ar.
struct Inner {
    archive* outer = nullptr;
    std::vector<char> block = std::vector<char>(kBlock);
};

la_ssize_t read_inner(archive* reader, void* context, const void** data) {
    auto* inner = static_cast<Inner*>(context);
    const la_ssize_t got =
        archive_read_data(inner->outer, inner->block.data(), inner->block.size());
    if (got < 0) archive_set_error(reader, EIO, "%s", std::string(reason(inner->outer)).c_str());
    *data = inner->block.data();
    return got < 0 ? ARCHIVE_FATAL : got;
}

// "./usr/lib/x" → "usr/lib/x". What may still be in it ("..") is the placement's to refuse.
std::string_view member_path(std::string_view path) {
    while (path.starts_with("./") || path.starts_with('/'))
        path.remove_prefix(path[0] == '/' ? 1 : 2);
    return path;
}

bool plain_relative(const fs::path& path) {
    if (path.empty() || path.is_absolute()) return false;
    for (const fs::path& part : path) {
        if (part.empty() || part == "." || part == "..") return false;
    }
    return true;
}

struct Extraction {
    const fs::path& package;
    const fs::path& folder;
    const Placement& place;
    const std::function<bool()>& stop;
    DebLimits left;
    std::uint64_t written = 0;
};

Status write_member(archive* tar, const fs::path& target, Extraction& job) {
    MANO_TRY(make_folders(target.parent_path()));
    MANO_ASSIGN(const Fd fd, open_file(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW));
    std::vector<char> block(kBlock);
    while (true) {
        if (job.stop && job.stop()) return fail(Code::interrupted, "stopped while unpacking");
        const la_ssize_t got = archive_read_data(tar, block.data(), block.size());
        if (got == 0) return {};
        if (got < 0) {
            return fail(Code::invalid, "{}: {}", job.package.string(), reason(tar));
        }
        const auto size = static_cast<std::uint64_t>(got);
        if (size > job.left.bytes) {
            return fail(Code::invalid, "{}: holds more than is believable", job.package.string());
        }
        job.left.bytes -= size;
        MANO_TRY(
            write_all(fd.get(), {block.data(), static_cast<std::size_t>(got)}, target.string()));
    }
}

Status extract_tar(archive* outer, Extraction& job) {
    const Reader tar(archive_read_new());
    if (!tar) return fail(Code::environment, "out of memory");
    support_filters(tar.get());
    archive_read_support_format_tar(tar.get());
    archive_read_support_format_empty(tar.get());
    Inner inner;
    inner.outer = outer;
    if (archive_read_open(tar.get(), &inner, nullptr, read_inner, nullptr) != ARCHIVE_OK) {
        return fail(Code::invalid, "{}: {}", job.package.string(), reason(tar.get()));
    }
    while (true) {
        archive_entry* entry = nullptr;
        const int status = archive_read_next_header(tar.get(), &entry);
        if (status == ARCHIVE_EOF) return {};
        if (!good(status)) {
            return fail(Code::invalid, "{}: {}", job.package.string(), reason(tar.get()));
        }
        if (job.left.members-- == 0) {
            return fail(Code::invalid, "{}: too many members", job.package.string());
        }
        const char* name = archive_entry_pathname(entry);
        if (name == nullptr || archive_entry_filetype(entry) != AE_IFREG ||
            archive_entry_hardlink(entry) != nullptr) {
            continue;
        }
        const auto target = job.place(member_path(name));
        if (!target) continue;
        if (!plain_relative(*target)) {
            return fail(Code::invalid, "{}: the member '{}' has a path that leads elsewhere",
                        job.package.string(), name);
        }
        MANO_TRY(write_member(tar.get(), job.folder / *target, job));
        ++job.written;
    }
}

}  // namespace

Result<std::uint64_t> extract_deb(const fs::path& package, const fs::path& folder,
                                  const Placement& place, const std::function<bool()>& stop,
                                  const DebLimits& limits) {
    // Opened here, so that a missing file or folder gets the system's own words.
    MANO_ASSIGN(const Fd fd, open_file(package, O_RDONLY));
    const Reader outer(archive_read_new());
    if (!outer) return fail(Code::environment, "out of memory");
    archive_read_support_format_ar(outer.get());
    if (archive_read_open_fd(outer.get(), fd.get(), kBlock) != ARCHIVE_OK) {
        return fail(Code::invalid, "{}: not a Debian package: {}", package.string(),
                    reason(outer.get()));
    }
    Extraction job{package, folder, place, stop, limits};
    bool any = false;
    while (true) {
        archive_entry* entry = nullptr;
        const int status = archive_read_next_header(outer.get(), &entry);
        if (status == ARCHIVE_EOF) break;
        if (!good(status)) {
            return fail(Code::invalid, "{}: not a Debian package, or a damaged one: {}",
                        package.string(), reason(outer.get()));
        }
        const char* name = archive_entry_pathname(entry);
        if (name == nullptr || !std::string_view(name).starts_with("data.tar")) continue;
        any = true;
        MANO_TRY(extract_tar(outer.get(), job));
    }
    if (!any) {
        return fail(Code::invalid, "{}: not a Debian package: it has no data.tar",
                    package.string());
    }
    return job.written;
}

}  // namespace mano::kernels
