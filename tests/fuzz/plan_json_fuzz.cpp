// SPDX-License-Identifier: GPL-2.0-or-later
// A store may come from anybody: whatever from_json accepts has one canonical text.
#include <cstdlib>

#include "plan/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto plan = mano::plan::from_json(text);
    if (!plan) return 0;
    const std::string canonical = mano::plan::to_json(*plan);
    const auto back = mano::plan::from_json(canonical);
    if (!back || mano::plan::to_json(*back) != canonical) std::abort();
    return 0;
}
