// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/image.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

extern "C" {
extern const char mano_agent_start[];
extern const char mano_agent_end[];
}

namespace mano::substrate::guest {
namespace {

struct Writer {
    std::unique_ptr<archive, decltype(&archive_write_free)> out{archive_write_new(),
                                                                &archive_write_free};
    std::int64_t inode = 1;

    Status add(const ImageFile& file, unsigned type) {
        const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry{
            archive_entry_new(), &archive_entry_free};
        archive_entry_set_pathname(entry.get(), file.path.c_str());
        archive_entry_set_filetype(entry.get(), type);
        archive_entry_set_perm(entry.get(), static_cast<mode_t>(file.mode));
        archive_entry_set_ino64(entry.get(), inode++);
        archive_entry_set_nlink(entry.get(), type == S_IFDIR ? 2 : 1);
        archive_entry_set_mtime(entry.get(), 0, 0);
        archive_entry_set_uid(entry.get(), 0);
        archive_entry_set_gid(entry.get(), 0);
        if (type == S_IFLNK) archive_entry_set_symlink(entry.get(), file.link.c_str());
        const std::size_t size = type == S_IFREG ? file.bytes.size() : 0;
        archive_entry_set_size(entry.get(), static_cast<std::int64_t>(size));
        if (archive_write_header(out.get(), entry.get()) != ARCHIVE_OK ||
            (size > 0 && archive_write_data(out.get(), file.bytes.data(), size) < 0)) {
            return fail(Code::internal, "initramfs: {}: {}", file.path,
                        archive_error_string(out.get()));
        }
        return {};
    }
};

la_ssize_t append(archive* /*unused*/, void* to, const void* bytes, std::size_t size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
}

Status check(const std::vector<ImageFile>& files) {
    std::set<std::string_view> seen;
    for (const ImageFile& file : files) {
        const std::filesystem::path path(file.path);
        bool bad = file.path.empty() || path.is_absolute();
        for (const auto& part : path)
            bad = bad || part == "..";
        if (bad) return fail(Code::invalid, "'{}' is no path inside the guest", file.path);
        if (!seen.insert(file.path).second) {
            return fail(Code::invalid, "two files for '{}' in the guest", file.path);
        }
    }
    return {};
}

std::set<std::string> folders_of(const std::vector<ImageFile>& files) {
    std::set<std::string> folders{"proc", "sys", "dev", "tmp"};
    for (const ImageFile& file : files) {
        for (auto up = std::filesystem::path(file.path).parent_path(); !up.empty();
             up = up.parent_path()) {
            folders.insert(up.string());
        }
    }
    return folders;
}

}  // namespace

Result<std::string> make_image(std::vector<ImageFile> files) {
    MANO_TRY(check(files));
    std::sort(files.begin(), files.end(),
              [](const ImageFile& a, const ImageFile& b) { return a.path < b.path; });
    std::string bytes;
    Writer writer;
    archive_write_set_format_cpio_newc(writer.out.get());
    archive_write_add_filter_none(writer.out.get());
    archive_write_set_bytes_per_block(writer.out.get(), 0);
    if (archive_write_open(writer.out.get(), &bytes, nullptr, append, nullptr) != ARCHIVE_OK) {
        return fail(Code::internal, "initramfs: {}", archive_error_string(writer.out.get()));
    }
    for (const std::string& folder : folders_of(files)) {
        MANO_TRY(writer.add({folder, {}, 0755, {}}, S_IFDIR));
    }
    for (const ImageFile& file : files) {
        MANO_TRY(writer.add(file, file.link.empty() ? S_IFREG : S_IFLNK));
    }
    if (archive_write_close(writer.out.get()) != ARCHIVE_OK) {
        return fail(Code::internal, "initramfs: {}", archive_error_string(writer.out.get()));
    }
    return bytes;
}

bool is_static_elf(std::string_view bytes) {
    Elf64_Ehdr head;
    if (bytes.size() < sizeof head || !bytes.starts_with(ELFMAG)) return false;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (std::size_t i = 0; i < head.e_phnum; ++i) {
        Elf64_Phdr segment;
        const std::size_t at = i * sizeof segment;
        if (head.e_phoff > bytes.size() || bytes.size() - head.e_phoff < at + sizeof segment) {
            return false;
        }
        std::memcpy(&segment, bytes.data() + head.e_phoff + at, sizeof segment);
        if (segment.p_type == PT_INTERP) return false;
    }
    return head.e_phnum > 0;
}

std::string_view agent_binary() {
    return {mano_agent_start, static_cast<std::size_t>(mano_agent_end - mano_agent_start)};
}

}  // namespace mano::substrate::guest
