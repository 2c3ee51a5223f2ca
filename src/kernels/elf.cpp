// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace mano::kernels {

namespace {

// The part [offset, offset + size) of `bytes`; nullopt when it isn't all there.
std::optional<std::string_view> part(std::string_view bytes, std::uint64_t offset,
                                     std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template <typename T>
std::optional<T> load(std::string_view bytes, std::uint64_t offset) {
    const auto found = part(bytes, offset, sizeof(T));
    if (!found) return std::nullopt;
    T value;
    std::memcpy(&value, found->data(), sizeof value);
    return value;
}

std::optional<Elf64_Ehdr> header(std::string_view bytes) {
    const auto found = load<Elf64_Ehdr>(bytes, 0);
    if (!found || std::memcmp(found->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    if (found->e_ident[EI_CLASS] != ELFCLASS64 || found->e_ident[EI_DATA] != ELFDATA2LSB ||
        found->e_machine != EM_X86_64) {
        return std::nullopt;
    }
    return found;
}

std::uint64_t padded(std::uint64_t size) {
    return (size + 3) & ~std::uint64_t{3};
}

constexpr std::uint32_t kPhys32Entry = 18;  // include/xen/interface/elfnote.h in Linux

bool pvh_among(std::string_view notes) {
    std::uint64_t at = 0;
    while (true) {
        const auto note = load<Elf64_Nhdr>(notes, at);
        if (!note) return false;
        at += sizeof *note;
        const auto owner = part(notes, at, note->n_namesz);
        if (!owner) return false;
        at += padded(note->n_namesz);
        if (*owner == std::string_view("Xen\0", 4) && note->n_type == kPhys32Entry) {
            return part(notes, at, note->n_descsz).has_value() && note->n_descsz >= 4;
        }
        at += padded(note->n_descsz);
    }
}

}  // namespace

bool is_elf_x86_64(std::string_view bytes) {
    return header(bytes).has_value();
}

bool has_pvh_note(std::string_view elf) {
    const auto file = header(elf);
    if (!file || file->e_phentsize != sizeof(Elf64_Phdr)) return false;
    for (std::uint64_t i = 0; i < file->e_phnum; ++i) {
        // e_phoff is 64 bits wide: the sum could wrap, so the table is cut out first.
        const auto table = part(elf, file->e_phoff, file->e_phnum * sizeof(Elf64_Phdr));
        if (!table) return false;
        const auto segment = load<Elf64_Phdr>(*table, i * sizeof(Elf64_Phdr));
        if (!segment || segment->p_type != PT_NOTE) continue;
        const auto notes = part(elf, segment->p_offset, segment->p_filesz);
        if (notes && pvh_among(*notes)) return true;
    }
    return false;
}

namespace {

// The contents of the section called `name`.
std::optional<std::string_view> section(std::string_view elf, std::string_view name) {
    const auto file = header(elf);
    if (!file || file->e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
    const std::uint64_t count = file->e_shnum;
    const auto table = part(elf, file->e_shoff, count * sizeof(Elf64_Shdr));
    if (!table || file->e_shstrndx >= count) return std::nullopt;
    const auto names_at = load<Elf64_Shdr>(*table, file->e_shstrndx * sizeof(Elf64_Shdr));
    if (!names_at) return std::nullopt;
    const auto names = part(elf, names_at->sh_offset, names_at->sh_size);
    if (!names) return std::nullopt;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto one = load<Elf64_Shdr>(*table, i * sizeof(Elf64_Shdr));
        if (!one || one->sh_name >= names->size() || one->sh_type == SHT_NOBITS) continue;
        const std::string_view from = names->substr(one->sh_name);
        if (from.substr(0, from.find('\0')) != name) continue;
        return part(elf, one->sh_offset, one->sh_size);
    }
    return std::nullopt;
}

}  // namespace

std::string folded_name(std::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), '-', '_');
    return out;
}

Result<ModuleInfo> read_modinfo(std::string_view elf) {
    if (!is_elf_x86_64(elf)) return fail(Code::invalid, "not an ELF file for x86-64");
    const auto info = section(elf, ".modinfo");
    if (!info) return fail(Code::invalid, "no readable .modinfo section, so not a kernel module");
    ModuleInfo out;
    std::string_view rest = *info;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\0'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.starts_with("name=")) out.name = folded_name(line.substr(5));
        if (!line.starts_with("depends=")) continue;
        std::string_view names = line.substr(8);
        while (!names.empty()) {
            const std::size_t comma = std::min(names.find(','), names.size());
            if (comma > 0) out.depends.push_back(folded_name(names.substr(0, comma)));
            names.remove_prefix(std::min(comma + 1, names.size()));
        }
    }
    return out;
}

}  // namespace mano::kernels
