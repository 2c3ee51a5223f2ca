// SPDX-License-Identifier: GPL-2.0-or-later
// Bounds the space that the cache takes: what was used longest ago goes first. Called by the
// command line, and after a build.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"

namespace mano::kernels {

struct Pruned {
    std::string what;  // "source tree linux-source-7.2 7.2.13-1", "kernel source:7.3.4-1+x.patch"
    std::uint64_t bytes = 0;
};
struct PruneResult {
    std::vector<Pruned> removed;
    std::uint64_t before = 0;  // bytes on disk, files with several names counted once
    std::uint64_t after = 0;
    std::vector<std::string> kept;  // why it is still more than wanted, a sentence each
};

// What a build leaves behind at most, unless the user prunes to less.
constexpr std::uint64_t kCacheBytes = std::uint64_t{20} << 30;
// Kernels that were used since may belong to a run that goes on.
constexpr unsigned kKeptHours = 24;

// Removes until at most `bytes` are left: source trees with their objects and the compiler's cache
// (both only save time), and kernels, by their last use. Kept are kernels with a name, kernels used
// within the last kKeptHours, and trees in which a build goes on. `only_show` removes nothing.
Result<PruneResult> prune(std::uint64_t bytes, bool only_show, const Options& options);

}  // namespace mano::kernels
