// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/test_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <stdlib.h>

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace mano::kernels::test {

namespace fs = std::filesystem;

namespace {

// A broken helper must not look like a failed expectation.
void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
}

template <typename T>
void put(std::string& into, std::size_t at, T value) {
    if (into.size() < at + sizeof value) into.resize(at + sizeof value, '\0');
    std::memcpy(into.data() + at, &value, sizeof value);
}

Elf64_Ehdr elf_header(std::uint16_t type) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = type;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    return header;
}

struct Sink {
    std::string bytes;
    static la_ssize_t write(archive*, void* self, const void* data, size_t size) {
        static_cast<Sink*>(self)->bytes.append(static_cast<const char*>(data), size);
        return static_cast<la_ssize_t>(size);
    }
};

// A frame of the format that kernel builds use (lz4 -l): a magic, then blocks of a size and data.
// All of it literals, which is valid and needs no compressor.
std::string lz4_legacy(std::string_view bytes) {
    std::string out("\x02\x21\x4c\x18", 4);
    std::string block;
    std::size_t length = bytes.size();
    block.push_back(static_cast<char>(length < 15 ? length << 4 : 0xf0));
    if (length >= 15) {
        length -= 15;
        for (; length >= 255; length -= 255)
            block.push_back('\xff');
        block.push_back(static_cast<char>(length));
    }
    block += bytes;
    put(out, 4, static_cast<std::uint32_t>(block.size()));
    return out + block;
}

}  // namespace

std::string banner_text(std::string_view release) {
    return "Linux version " + std::string(release) +
           " (me@here) (gcc-12 (Test 12.2) 12.2, GNU ld 2.40) #1 SMP Thu\n";
}

std::string make_vmlinux(std::string_view text, bool pvh) {
    Elf64_Ehdr header = elf_header(ET_EXEC);
    header.e_phoff = sizeof header;
    header.e_phnum = 1;
    header.e_phentsize = sizeof(Elf64_Phdr);
    Elf64_Phdr segment = {};
    segment.p_type = PT_NOTE;
    segment.p_offset = sizeof header + sizeof segment;
    std::string notes;
    const Elf64_Nhdr other = {4, 4, 6};  // the guest OS's name, as real kernels have it too
    put(notes, 0, other);
    notes += std::string_view("Xen\0linux", 8).substr(0, 8);
    if (pvh) {
        const Elf64_Nhdr entry = {4, 8, 18};
        put(notes, notes.size(), entry);
        notes += std::string("Xen\0", 4);
        put(notes, notes.size(), std::uint64_t{0x1000000});
    }
    segment.p_filesz = notes.size();
    std::string out;
    put(out, 0, header);
    put(out, sizeof header, segment);
    out += notes;
    out += std::string("%s version %s (me@here)\n\0", 25);  // the format string of /proc/version
    out += "Linux version %s";
    out.push_back('\0');
    out += text;
    out.push_back('\0');
    return out;
}

std::string compress(std::string_view bytes, std::string_view method) {
    if (method == "lz4-legacy") return lz4_legacy(bytes);
    archive* writer = archive_write_new();
    Sink sink;
    require(archive_write_add_filter_by_name(writer, std::string(method).c_str()) == ARCHIVE_OK,
            "no such compression");
    archive_write_set_format_raw(writer);
    archive_write_set_bytes_in_last_block(writer, 1);
    archive_write_open(writer, &sink, nullptr, Sink::write, nullptr);
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, "data");
    archive_entry_set_filetype(entry, AE_IFREG);
    require(archive_write_header(writer, entry) == ARCHIVE_OK, "raw header");
    require(archive_write_data(writer, bytes.data(), bytes.size()) ==
                static_cast<la_ssize_t>(bytes.size()),
            "raw data");
    archive_entry_free(entry);
    require(archive_write_close(writer) == ARCHIVE_OK, "raw close");
    archive_write_free(writer);
    return sink.bytes;
}

std::string make_bzimage(std::string_view elf, std::string_view method, std::string_view release) {
    std::string payload = method.empty() ? std::string(elf) : compress(elf, method);
    // scripts/Makefile.lib appends the size to all but gzip, whose own trailer is just that.
    if (method != "gzip") put(payload, payload.size(), static_cast<std::uint32_t>(elf.size()));
    constexpr std::size_t kSetup = 5 * 512;
    constexpr std::size_t kBefore = 0x40;  // of the decompressor's code before the payload
    std::string out(kSetup + kBefore, '\0');
    std::memcpy(out.data(), "MZ", 2);
    put(out, 0x1f1, std::uint8_t{4});
    put(out, 0x1fe, std::uint16_t{0xaa55});
    std::memcpy(out.data() + 0x202, "HdrS", 4);
    put(out, 0x206, std::uint16_t{0x20f});
    put(out, 0x20e, std::uint16_t{0x300 - 0x200});
    put(out, 0x236, std::uint16_t{0x7f});
    put(out, 0x248, static_cast<std::uint32_t>(kBefore));
    put(out, 0x24c, static_cast<std::uint32_t>(payload.size()));
    const std::string version = std::string(release) + " (me@here) #1 SMP Thu";
    std::memcpy(out.data() + 0x300, version.c_str(), version.size() + 1);
    out += payload;
    out.resize((out.size() + 15) / 16 * 16, '\0');
    put(out, 0x1f4, static_cast<std::uint32_t>((out.size() - kSetup) / 16));
    return out;
}

std::string make_kernel(std::string_view release) {
    return make_bzimage(make_vmlinux(banner_text(release)), "gzip", release);
}

std::string make_module(std::string_view name, std::string_view depends) {
    std::string info = "license=GPL";
    info.push_back('\0');
    info += "depends=" + std::string(depends);
    info.push_back('\0');
    info += "name=" + std::string(name);
    info.push_back('\0');
    const std::string names("\0.modinfo\0.shstrtab\0", 20);
    Elf64_Ehdr header = elf_header(ET_REL);
    header.e_shnum = 3;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shstrndx = 2;
    header.e_shoff = sizeof header + info.size() + names.size();
    std::string out;
    put(out, 0, header);
    out += info + names;
    Elf64_Shdr sections[3] = {};
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_PROGBITS;
    sections[1].sh_offset = sizeof header;
    sections[1].sh_size = info.size();
    sections[2].sh_name = 10;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = sizeof header + info.size();
    sections[2].sh_size = names.size();
    for (const Elf64_Shdr& section : sections)
        put(out, out.size(), section);
    return out;
}

namespace {

void add_member(archive* writer, const TarMember& member) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.path.c_str());
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.bytes.size()));
    archive_entry_set_filetype(entry, member.link.empty() ? AE_IFREG : AE_IFLNK);
    if (!member.link.empty()) archive_entry_set_symlink(entry, member.link.c_str());
    require(archive_write_header(writer, entry) == ARCHIVE_OK, "member header");
    if (!member.bytes.empty()) archive_write_data(writer, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
}

std::string make_archive(const std::vector<TarMember>& members, bool tar) {
    archive* writer = archive_write_new();
    Sink sink;
    if (tar) {
        archive_write_set_format_gnutar(writer);
        archive_write_add_filter_xz(writer);
    } else {
        archive_write_set_format_ar_svr4(writer);
    }
    archive_write_set_bytes_in_last_block(writer, 1);
    archive_write_open(writer, &sink, nullptr, Sink::write, nullptr);
    for (const TarMember& member : members)
        add_member(writer, member);
    require(archive_write_close(writer) == ARCHIVE_OK, "archive close");
    archive_write_free(writer);
    return sink.bytes;
}

}  // namespace

std::string make_deb(const std::vector<TarMember>& members) {
    return make_archive(
        {{"debian-binary", "2.0\n", ""},
         {"control.tar.xz", make_archive({{"./control", "Package: x\n", ""}}, true), ""},
         {"data.tar.xz", make_archive(members, true), ""}},
        false);
}

Folder::Folder() {
    std::string pattern = (fs::temp_directory_path() / "manometer-kernels-XXXXXX").string();
    require(::mkdtemp(pattern.data()) != nullptr, "mkdtemp");
    path_ = pattern;
}

Folder::~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

fs::path Folder::file(std::string_view name, std::string_view bytes) const {
    const fs::path path = path_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream stream(path, std::ios::binary);
    stream << bytes;
    stream.close();
    require(stream.good(), "file of a test");
    return path;
}

}  // namespace mano::kernels::test
