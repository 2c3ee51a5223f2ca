// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel's provenance ⇄ the JSON that a run set keeps for each arm (and that `kernel --json`
// prints). Reading believes nothing: a store may come from anybody.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kernels/kernel.h"

namespace mano::cli {

nlohmann::json kernel_to_json(const kernels::Kernel& kernel);
std::string kernel_json_text(const kernels::Kernel& kernel);

// What going on with a run set needs to know of an arm's kernel.
struct StoredKernel {
    std::string id;          // sha256 of the image
    std::string spec;        // as the user wrote it
    std::string exact_spec;  // gives this very kernel again
    std::string release;
};
// nullopt: not written by this program (an imported run set has no kernels).
std::optional<StoredKernel> stored_kernel(std::string_view json_text);

}  // namespace mano::cli
