// SPDX-License-Identifier: GPL-2.0-or-later
// ELF64 bytes → the few facts wanted: whether there is a PVH entry note, and a module's .modinfo.
// Knows nothing of files or compression. Called by bzimage.cpp and modules.cpp. The bytes are
// hostile: each offset is checked before it is followed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::kernels {

// True for a little-endian ELF64 file for x86-64.
bool is_elf_x86_64(std::string_view bytes);

// The ELF carries the note that QEMU boots by (owner "Xen", type XEN_ELFNOTE_PHYS32_ENTRY = 18) in
// a PT_NOTE segment. False for anything malformed.
bool has_pvh_note(std::string_view elf);

// What a module says of itself in its .modinfo section.
struct ModuleInfo {
    std::string name;                  // empty when it says none (before Linux 4.20)
    std::vector<std::string> depends;  // names, '-' folded to '_'
};

// A module's name as the kernel uses it: '-' is '_'.
std::string folded_name(std::string_view name);

// Code::invalid when the bytes are no relocatable x86-64 ELF with a .modinfo section.
Result<ModuleInfo> read_modinfo(std::string_view elf);

}  // namespace mano::kernels
