// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest finds in its initramfs: the agent as /init, the trial's plan, modules, files of the
// user's. Bytes in, bytes out: the same content gives the same image to the last byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::substrate::guest {

struct ImageFile {
    std::string path;  // in the image, without a leading slash: "init", "modules/zram.ko"
    std::string bytes;
    unsigned mode = 0644;
    std::string link;  // not empty: a symbolic link to this, bytes unused
};

// A newc cpio archive, uncompressed (the guest would spend its time on it): fixed times, owners and
// inode numbers; parents are made; files in the order of their paths. Duplicate paths and paths
// that leave the root are Code::invalid.
Result<std::string> make_image(std::vector<ImageFile> files);

// An ELF file that names no loader (PT_INTERP): the guest has neither a loader nor libraries. False
// for anything malformed.
bool is_static_elf(std::string_view bytes);

// The agent, as it is embedded in this program.
std::string_view agent_binary();

}  // namespace mano::substrate::guest
