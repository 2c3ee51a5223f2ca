// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/page_map.h"

#include <sys/mman.h>

#include <new>

namespace mano::model {
namespace {

constexpr Pfn round_up_frames(Pfn frames) {
    constexpr Pfn kWhole = 1U << kMaxOrder;
    return (frames + kWhole - 1) / kWhole * kWhole;
}

}  // namespace

void* take_lazily(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return memory;
}

void give_back(void* memory, std::size_t bytes) {
    ::munmap(memory, bytes);
}

PageMap::PageMap(Pfn frames)
    : frames_(round_up_frames(frames)),
      status_(frames_),
      blocks_(frames_ >> kPageblockOrder),
      links_(frames_),
      folios_(frames_) {}

}  // namespace mano::model
