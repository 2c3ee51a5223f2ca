// SPDX-License-Identifier: GPL-2.0-or-later
// "debian:6.1..7.3[-FLAVOUR]" → the SPECs of the kernels in between that are to be had. Called by
// `run`, `plan` and `aa` before a plan is made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/debian.h"
#include "kernels/kernel.h"

namespace mano::kernels {

// Does a SPEC name a range ("debian:A..B")?
bool is_range(std::string_view spec);

// The newest kernel of each series from A to B ("debian:6.1", "debian:6.12" …), both included;
// where an end has three numbers ("7.1.3..7.1.13"), each version. Of a series without a release its
// release candidate. In Debian's order of versions. Code::invalid: not a range, or its ends the
// wrong way round; Code::not_found: nothing in it.
Result<std::vector<std::string>> range_of(std::string_view spec,
                                          const std::vector<DebianKernel>& kernels);

// The same from Debian's archive (asked when its list is older than a day) and what is cached;
// options.offline: from what is here. Code::environment when there is no list.
Result<std::vector<std::string>> expand_range(std::string_view spec, const Options& options);

}  // namespace mano::kernels
