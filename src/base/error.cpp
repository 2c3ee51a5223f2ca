// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"

#include <cstring>

namespace mano {

std::string Error::text() const {
    std::string all = message;
    for (const Error* below = cause.get(); below != nullptr; below = below->cause.get()) {
        all += ": ";
        all += below->message;
    }
    return all;
}

tl::unexpected<Error> fail_errno(int number, std::string_view what) {
    char buffer[128] = {};
    const char* reason = strerror_r(number, buffer, sizeof buffer);
    return fail(Code::environment, "{}: {}", what, reason);
}

}  // namespace mano
