// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest printed: hostile, and shown to people.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "substrate/guest/console.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mano::substrate::guest;  // NOLINT(google-build-using-namespace)
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string text = clean(bytes);
    for (const char c : text) {
        if (c != '\n' && c != '\t' && (c < ' ' || c > '~')) std::abort();
    }
    if (const auto trace = panic_trace(text)) {
        if (trace->size() > kMaxEvidence || trace->find("Kernel panic") == std::string::npos) {
            std::abort();
        }
    }
    if (tail(text, 64).size() > 64) std::abort();
    return 0;
}
