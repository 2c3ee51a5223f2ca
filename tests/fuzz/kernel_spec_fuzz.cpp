// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a SPEC, a configuration fragment, and a Kconfig expression. A SPEC that is
// understood is understood the same when it is written again.
#include <cstdlib>

#include "kernels/kconfig.h"
#include "kernels/lab_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace mano::kernels;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Exists nothing{[](const std::string&) { return false; },
                         [](const std::string&) { return false; }};
    for (const char* head : {"source:", "tree:"}) {
        const auto spec = parse_lab_spec(head + std::string(text), nothing);
        if (!spec) continue;
        const auto again = parse_lab_spec(spec->text(), nothing);
        if (!again || again->text() != spec->text()) std::abort();
    }
    (void)parse_fragment(text, "fuzz", {7, 3});
    (void)evaluate_kconfig(text, {{"A", "y"}, {"B", "m"}});
    (void)parse_config(text);
    return 0;
}
