// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/bzimage.h"

#include <algorithm>
#include <cstring>

#include "kernels/elf.h"
#include "kernels/unpack.h"

namespace mano::kernels {

namespace {

constexpr std::uint64_t kSector = 512;

// Little-endian number at `offset`; the caller has checked that it is there.
template <typename T>
T load(std::string_view bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

bool has_at(std::string_view bytes, std::size_t offset, std::string_view text) {
    return bytes.size() >= offset + text.size() && bytes.substr(offset, text.size()) == text;
}

bool looks_like_text(std::string_view bytes) {
    const std::string_view head = bytes.substr(0, 512);
    return std::all_of(head.begin(), head.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20 || byte == '\n' || byte == '\t' || byte == '\r';
    });
}

std::string elf_machine(std::string_view bytes) {
    if (bytes.size() < 20) return "unknown";
    switch (load<std::uint16_t>(bytes, 18)) {
        case 3:
            return "i386";
        case 20:
            return "PowerPC";
        case 22:
            return "s390";
        case 40:
            return "ARM";
        case 62:
            return "x86-64";
        case 183:
            return "arm64";
        case 243:
            return "RISC-V";
        case 258:
            return "LoongArch";
        default:
            return fmt::format("number {}", load<std::uint16_t>(bytes, 18));
    }
}

std::string pe_machine(std::string_view bytes) {
    if (bytes.size() < 0x40) return {};
    const auto at = load<std::uint32_t>(bytes, 0x3c);
    if (at > bytes.size() || bytes.size() - at < 6 ||
        !has_at(bytes, at, std::string_view("PE\0\0", 4))) {
        return {};
    }
    switch (load<std::uint16_t>(bytes, at + 4)) {
        case 0x14c:
            return "i386";
        case 0x1c0:
        case 0x1c2:
        case 0x1c4:
            return "ARM";
        case 0x8664:
            return "x86-64";
        case 0xaa64:
            return "arm64";
        case 0x5064:
            return "RISC-V (64 bits)";
        case 0x6264:
            return "LoongArch (64 bits)";
        default:
            return fmt::format("machine 0x{:x}", load<std::uint16_t>(bytes, at + 4));
    }
}

// What the bytes are when they aren't a bzImage.
std::string instead(std::string_view bytes) {
    if (bytes.empty()) return "is empty";
    if (has_at(bytes, 0, "!<arch>\n")) {
        return "is a Debian package (or another ar archive), not a kernel: unpack it with 'dpkg "
               "-x', "
               "or name the kernel as debian:VERSION";
    }
    if (has_at(bytes, 0,
               "\x7f"
               "ELF")) {
        if (elf_machine(bytes) == "x86-64") {
            return "is an uncompressed ELF file for x86-64 (vmlinux?); the bzImage of the same "
                   "build is wanted (arch/x86/boot/bzImage)";
        }
        return "is an ELF file for " + elf_machine(bytes) + ", not a bzImage for x86-64";
    }
    if (has_at(bytes, 0x38, "ARM\x64")) return "is a kernel for arm64, not a bzImage for x86-64";
    if (has_at(bytes, 0x38, std::string_view("RSC\x05", 4))) {
        return "is a kernel for RISC-V, not a bzImage for x86-64";
    }
    if (has_at(bytes, 0, "MZ") && !pe_machine(bytes).empty()) {
        return "is an EFI program for " + pe_machine(bytes) + " without a bzImage's boot header";
    }
    if (has_at(bytes, 0, "\x1f\x8b") ||
        has_at(bytes, 0,
               std::string_view("\xfd"
                                "7zXZ\0",
                                6)) ||
        has_at(bytes, 0, "\x28\xb5\x2f\xfd") || has_at(bytes, 0, "BZh")) {
        return "is a compressed file without a bzImage's boot header (an initramfs, or a kernel "
               "for "
               "another machine)";
    }
    if (looks_like_text(bytes)) return "is a text file, not a kernel";
    return "is no kernel that is known here: a bzImage for x86-64 has 'HdrS' at byte 0x202";
}

// The zero-ended text that the header's kernel_version field points to.
std::string version_text(std::string_view bytes, std::uint64_t setup_size) {
    const std::size_t at = std::size_t{load<std::uint16_t>(bytes, 0x20e)} + 0x200;
    if (at == 0x200 || at >= bytes.size() || at >= setup_size) return {};
    const std::string_view from = bytes.substr(at, 256);
    std::string text;
    for (const char c : from.substr(0, from.find('\0'))) {
        text.push_back(c >= 0x20 && c < 0x7f ? c : '?');
    }
    return text;
}

}  // namespace

Result<BzImage> parse_bzimage(std::string_view bytes) {
    // The header's fields up to pref_address end at 0x260; every real image is far larger.
    if (bytes.size() < 0x268 || !has_at(bytes, 0x202, "HdrS") ||
        !has_at(bytes, 0x1fe, "\x55\xaa")) {
        if (has_at(bytes, 0x202, "HdrS")) return fail(Code::invalid, "is a truncated bzImage");
        return fail(Code::invalid, "{}", instead(bytes));
    }
    const auto protocol = load<std::uint16_t>(bytes, 0x206);
    if (const std::string machine = pe_machine(bytes); machine == "i386") {
        return fail(Code::invalid, "is a bzImage for i386, not for x86-64");
    }
    // xloadflags since 2.12: bit 0 says that there is a 64-bit entry point.
    if (protocol >= 0x20c && (load<std::uint16_t>(bytes, 0x236) & 1) == 0) {
        return fail(Code::invalid, "is a bzImage for i386, not for x86-64");
    }
    std::uint64_t setup_sectors = static_cast<unsigned char>(bytes[0x1f1]);
    if (setup_sectors == 0) setup_sectors = 4;  // boot.rst: for backwards compatibility
    const std::uint64_t setup_size = (setup_sectors + 1) * kSector;
    const std::uint64_t wanted = setup_size + std::uint64_t{load<std::uint32_t>(bytes, 0x1f4)} * 16;
    BzImage image;
    image.version_text = version_text(bytes, setup_size);
    image.release = image.version_text.substr(0, image.version_text.find(' '));
    if (protocol >= 0x208) {
        image.payload_offset = setup_size + load<std::uint32_t>(bytes, 0x248);
        image.payload_size = load<std::uint32_t>(bytes, 0x24c);
        image.has_payload = image.payload_size > 0;
        if (image.payload_offset + image.payload_size > bytes.size()) {
            return fail(Code::invalid,
                        "is a truncated bzImage: its compressed kernel ends at byte {}, the file "
                        "has {}",
                        image.payload_offset + image.payload_size, bytes.size());
        }
    }
    if (wanted > bytes.size()) {
        return fail(Code::invalid,
                    "is a truncated bzImage: {} bytes were expected, the file has {}", wanted,
                    bytes.size());
    }
    return image;
}

Result<std::string> extract_elf(std::string_view bytes, const BzImage& image, std::uint64_t limit) {
    if (!image.has_payload) {
        return fail(Code::invalid,
                    "the image's boot protocol is older than 2.08 and doesn't say "
                    "where its compressed kernel is");
    }
    if (image.payload_size < 8 || image.payload_offset > bytes.size() ||
        image.payload_size > bytes.size() - image.payload_offset) {
        return fail(Code::corrupt, "the image's compressed kernel isn't all there");
    }
    std::string_view payload = bytes.substr(static_cast<std::size_t>(image.payload_offset),
                                            static_cast<std::size_t>(image.payload_size));
    // scripts/Makefile.lib: the uncompressed size is appended to all but gzip, whose own trailer
    // ends with it.
    const auto size = load<std::uint32_t>(payload, payload.size() - 4);
    if (size > limit) {
        return fail(Code::invalid, "the compressed kernel claims to be {} bytes when unpacked",
                    size);
    }
    if (has_at(payload, 0,
               "\x7f"
               "ELF"))
        return std::string(payload.substr(0, size));
    if (has_at(payload, 0, "\x89LZO")) {
        return fail(Code::invalid, "the kernel is compressed with LZO, which isn't read here");
    }
    if (!has_at(payload, 0, "\x1f\x8b")) payload.remove_suffix(4);
    MANO_ASSIGN(std::string elf, decompress(payload, size, "the compressed kernel"));
    if (elf.size() != size) {
        return fail(Code::corrupt, "the compressed kernel unpacks to {} bytes instead of {}",
                    elf.size(), size);
    }
    if (!is_elf_x86_64(elf)) {
        return fail(Code::invalid, "what the image holds isn't an ELF kernel for x86-64");
    }
    return elf;
}

std::optional<std::string> find_banner(std::string_view elf) {
    constexpr std::string_view kStart = "Linux version ";
    for (std::size_t at = elf.find(kStart); at != std::string_view::npos;
         at = elf.find(kStart, at + 1)) {
        const std::string_view from = elf.substr(at, 1024);
        if (from.size() <= kStart.size() || from[kStart.size()] < '0' ||
            from[kStart.size()] > '9') {
            continue;  // the format string of /proc/version
        }
        std::string banner;
        for (const char c : from) {
            if (c == '\n' || c == '\0') return banner;
            banner.push_back(c >= 0x20 && c < 0x7f ? c : '?');
        }
    }
    return std::nullopt;
}

std::string compiler_of(std::string_view banner) {
    int depth = 0;
    int group = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < banner.size(); ++i) {
        if (banner[i] == '(' && depth++ == 0) {
            ++group;
            start = i + 1;
        }
        if (banner[i] == ')' && depth > 0 && --depth == 0 && group == 2) {
            return std::string(banner.substr(start, i - start));
        }
    }
    return {};
}

std::string release_of(std::string_view banner) {
    constexpr std::string_view kStart = "Linux version ";
    if (!banner.starts_with(kStart)) return {};
    const std::string_view rest = banner.substr(kStart.size());
    return std::string(rest.substr(0, rest.find(' ')));
}

std::optional<std::string> find_config(std::string_view elf) {
    // kernel/configs.c: the gzipped file lies between these two marks.
    const std::size_t start = elf.find("IKCFG_ST\x1f\x8b");
    if (start == std::string_view::npos) return std::nullopt;
    const std::string_view from = elf.substr(start + 8);
    const std::size_t end = from.find("IKCFG_ED");
    if (end == std::string_view::npos) return std::nullopt;
    auto text = decompress(from.substr(0, end), std::uint64_t{16} << 20, "embedded configuration");
    if (!text || text->find("CONFIG_") == std::string::npos) return std::nullopt;
    return std::move(*text);
}

}  // namespace mano::kernels
