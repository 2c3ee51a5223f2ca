// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a patch (diff, mail, mbox), applied to a small tree. No path that comes out of it
// leads out of the tree, and what it applies to is never made longer than what it read.
#include <cstdlib>

#include "kernels/patch.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace mano;
    using namespace mano::kernels;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto patches = parse_patches(text, "fuzz");
    if (!patches) return 0;
    std::size_t added = 0;
    for (const Patch& patch : *patches) {
        if (patch.files.empty()) std::abort();
        for (const FilePatch& file : patch.files) {
            for (const std::string& path : {file.from, file.to}) {
                if (!path.empty() && !safe_path(path)) std::abort();
            }
            for (const Hunk& hunk : file.hunks) {
                for (const HunkLine& line : hunk.lines)
                    added += line.text.size() + 1;
            }
        }
    }
    constexpr std::string_view kFile = "one\ntwo\nthree\nfour\n";
    std::size_t reads = 0;
    const ReadFile read = [&](const std::string& path) -> Result<std::optional<std::string>> {
        ++reads;
        if (!safe_path(path)) std::abort();
        if (path.size() % 2 == 0) return std::optional<std::string>(kFile);
        return std::optional<std::string>();
    };
    const auto changes = apply_patches(*patches, read);
    if (!changes) return 0;
    for (const auto& [path, file] : *changes) {
        if (!safe_path(path)) std::abort();
        if (file.bytes && file.bytes->size() > added + kFile.size() + 1) std::abort();
    }
    return 0;
}
