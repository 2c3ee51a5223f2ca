// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as the text of a latency tracer: an error that names its place, or traces within
// bounds, with a culprit that is in the stack and isn't machinery.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "trace/latency_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mano::trace;
    const auto traces = read_latency_text({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!traces) {
        if (traces.error().code != mano::Code::hostile) std::abort();
        if (traces.error().message.find("fuzz:") == std::string::npos) std::abort();
        return 0;
    }
    if (traces->empty() || traces->size() > kMaxLatencyTraces) std::abort();
    for (const LatencyTrace& trace : *traces) {
        if (!std::isfinite(trace.latency_us) || trace.stack.size() > kMaxStackDepth) std::abort();
        if (!trace.culprit) continue;
        if (is_machinery(*trace.culprit)) std::abort();
        if (std::find(trace.stack.begin(), trace.stack.end(), *trace.culprit) ==
            trace.stack.end()) {
            std::abort();
        }
    }
    return 0;
}
