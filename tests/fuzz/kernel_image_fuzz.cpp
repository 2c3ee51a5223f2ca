// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a bzImage, and as the uncompressed kernel in it.
#include "kernels/bzimage.h"
#include "kernels/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace mano::kernels;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto image = parse_bzimage(bytes)) {
        // A small limit, so that the fuzzer spends its time on parsing and not on zeros.
        if (const auto elf = extract_elf(bytes, *image, std::uint64_t{1} << 20)) {
            (void)has_pvh_note(*elf);
        }
    }
    (void)has_pvh_note(bytes);
    (void)find_config(bytes);
    if (const auto banner = find_banner(bytes)) {
        (void)compiler_of(*banner);
        (void)release_of(*banner);
    }
    return 0;
}
