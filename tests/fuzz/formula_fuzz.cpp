// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever parses can be evaluated, and gives a finite number or none.
#include <cmath>
#include <cstdlib>

#include "measure/formula.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto formula = mano::measure::Formula::parse(text);
    if (!formula) {
        if (!formula.error().message.starts_with("column ")) std::abort();
        return 0;
    }
    for (const double value : {0.0, 1.0, -1e300}) {
        const auto result = formula->evaluate([value](std::string_view) { return value; });
        if (result && !std::isfinite(*result)) std::abort();
    }
    if (formula->evaluate([](std::string_view) { return std::nullopt; }) &&
        !formula->names().empty()) {
        std::abort();
    }
    return 0;
}
