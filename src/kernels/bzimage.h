// SPDX-License-Identifier: GPL-2.0-or-later
// Bytes of a bzImage → what is in it: release, banner, the ELF kernel, an embedded configuration.
// Knows nothing of files, caches or packages. Called by cache.cpp. The bytes are hostile.
//
// Source of the layout: Documentation/arch/x86/boot.rst and arch/x86/boot/header.S in Linux.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::kernels {

struct BzImage {
    std::string version_text;  // "7.3.4 (user@host) #1 SMP …", from the header; may be empty
    std::string release;       // its first word
    bool has_payload = false;  // protocol 2.08 and later say where the compressed kernel is
    std::uint64_t payload_offset = 0;
    std::uint64_t payload_size = 0;
};

// Checks that `bytes` are a whole x86-64 bzImage. Else Code::invalid with what they are instead,
// as the rest of a sentence that begins with the path ("is a Debian package, not a kernel: …").
Result<BzImage> parse_bzimage(std::string_view bytes);

constexpr std::uint64_t kUnpackedLimit = std::uint64_t{1} << 30;

// The uncompressed kernel (an ELF with, perhaps, relocations appended). Code::invalid with a
// sentence on what is in the way; also when it would be larger than `limit` bytes. Code::corrupt
// when the compressed kernel is damaged: a guest couldn't unpack it either.
Result<std::string> extract_elf(std::string_view bytes, const BzImage& image,
                                std::uint64_t limit = kUnpackedLimit);

// "Linux version 7.3.4 (user@host) (compiler) #1 …", one line, out of the uncompressed kernel.
std::optional<std::string> find_banner(std::string_view elf);
// The compiler's own words out of a banner: its second group in parentheses. Empty when not there.
std::string compiler_of(std::string_view banner);
// The release (uname -r) out of a banner. Empty when not there.
std::string release_of(std::string_view banner);
// The configuration that CONFIG_IKCONFIG puts into a kernel.
std::optional<std::string> find_config(std::string_view elf);

}  // namespace mano::kernels
