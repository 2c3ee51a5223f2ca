// SPDX-License-Identifier: GPL-2.0-or-later
// How `hold` brings memory in and what it writes there: a range of addresses → resident pages of a
// stated compressibility. Knows nothing of plans and levels. Called by hold's workers, and by
// bench/pressure, which races it against one large MADV_POPULATE_WRITE.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/rng.h"

namespace mano::agent {

// Fills pages so that zram finds them as compressible as the plan says: the first part of each page
// from an incompressible template at a drawn offset, the rest one repeated byte. Large: keep it out
// of stacks.
class Filler {
  public:
    Filler(Rng rng, std::uint64_t compressible_ppm, std::uint64_t page) : rng_(rng), page_(page) {
        constexpr std::uint64_t kPpm = 1'000'000;
        for (std::uint64_t& word : template_)
            word = rng_.next();
        random_bytes_ = (page * (kPpm - compressible_ppm) / kPpm) & ~std::uint64_t{7};
    }
    void fill(char* at, std::uint64_t bytes) {
        for (std::uint64_t done = 0; done < bytes; done += page_) {
            const std::uint64_t start = rng_.below(kWords - page_ / 8);
            std::memcpy(at + done, template_ + start, random_bytes_);
            std::memset(at + done + random_bytes_, static_cast<int>(1 + rng_.below(255)),
                        page_ - random_bytes_);
        }
    }

  private:
    static constexpr std::uint64_t kWords = 16384;
    Rng rng_;
    std::uint64_t page_;
    std::uint64_t random_bytes_ = 0;
    std::uint64_t template_[kWords] = {};
};

// Batch by batch, so that a batch is still in the CPU's caches when it is written. 0, or the errno
// of MADV_POPULATE_WRITE.
inline int populate_and_fill(char* memory, std::uint64_t bytes, Filler& filler) {
    constexpr std::uint64_t kBatch = std::uint64_t{2} << 20;
    bool can_populate = true;
    for (std::uint64_t at = 0; at < bytes; at += kBatch) {
        const std::uint64_t size = bytes - at < kBatch ? bytes - at : kBatch;
        // One call instead of a fault a page; kernels without it (before 5.14) fault.
        if (can_populate && ::madvise(memory + at, size, MADV_POPULATE_WRITE) != 0) {
            if (errno != EINVAL) return errno;
            can_populate = false;
        }
        filler.fill(memory + at, size);
    }
    return 0;
}

}  // namespace mano::agent
