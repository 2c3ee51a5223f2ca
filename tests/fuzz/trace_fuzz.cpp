// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as an attribution trial's trace: an error, or an analysis that is whole in itself.
#include <cstdint>
#include <cstdlib>

#include "trace/analysis.h"
#include "trace/parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mano::trace;
    const std::string trace(reinterpret_cast<const char*>(data), size);
    const auto got = analyse(trace);
    if (!got) {
        if (got.error().code != mano::Code::hostile) std::abort();
        return 0;
    }
    for (const Stall& stall : got->stalls) {
        if (stall.end_ns < stall.begin_ns || stall.stack >= got->stacks.size()) std::abort();
        for (const Slice& slice : stall.slices) {
            if (slice.stack >= got->stacks.size()) std::abort();
            static_cast<void>(fold_stack(got->stacks[stall.stack], got->stacks[slice.stack]));
        }
    }
    for (const Span& span : got->spans) {
        if (span.end_ns < span.begin_ns) std::abort();
    }
    static_cast<void>(without_needless_symbols(trace));
    return 0;
}
