// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a kernel module, plain or compressed.
#include "kernels/elf.h"
#include "kernels/unpack.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace mano::kernels;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    (void)read_modinfo(bytes);
    if (const auto plain = decompress(bytes, std::uint64_t{1} << 20, "fuzz")) {
        (void)read_modinfo(*plain);
    }
    return 0;
}
