// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of each page frame, in arrays of their own, and doubly linked lists through them
// (struct page's lru). Memory of the host is taken only for frames that were touched: a free block
// of order 10 costs one entry. Knows no zone and no policy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernel_words.h"

namespace mano::model {

enum class Kind : std::uint8_t {
    none,      // inside a larger block, or a frame that doesn't exist
    buddy,     // head of a free block in the zone's lists
    pcp,       // head of a block on a per-CPU list: neither free nor used for any scanner
    used,      // head of an allocated block that can't be moved
    lru,       // head of a folio that reclaim and compaction can take
    isolated,  // a folio that somebody has taken off its list
};

// First and last of a list, and how many. A frame is in one list at most.
struct PageList {
    Pfn first = kNoPage;
    Pfn last = kNoPage;
    std::uint32_t size = 0;
    bool empty() const { return first == kNoPage; }
};

// Zeroed memory that the host backs only where it was written. Throws std::bad_alloc.
void* take_lazily(std::size_t bytes);
void give_back(void* memory, std::size_t bytes);

template <typename T>
class LazyArray {
  public:
    explicit LazyArray(std::size_t size)
        : data_(static_cast<T*>(take_lazily(size * sizeof(T)))), bytes_(size * sizeof(T)) {}
    ~LazyArray() { give_back(data_, bytes_); }
    LazyArray(const LazyArray&) = delete;
    LazyArray& operator=(const LazyArray&) = delete;
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

  private:
    T* data_;
    std::size_t bytes_;
};

class PageMap {
  public:
    // Frames 0 … frames-1, rounded up to whole blocks of order 10. Throws std::bad_alloc.
    explicit PageMap(Pfn frames);

    Pfn frames() const { return frames_; }
    Kind kind(Pfn pfn) const { return static_cast<Kind>(status_[pfn] >> 4); }
    unsigned order(Pfn pfn) const { return status_[pfn] & 15U; }
    void set(Pfn pfn, Kind kind, unsigned order) {
        status_[pfn] = static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 4 | order);
    }
    void clear(Pfn pfn) { status_[pfn] = 0; }
    bool is(Pfn pfn, Kind kind, unsigned order) const {
        return status_[pfn] == (static_cast<unsigned>(kind) << 4 | order);
    }

    Migratetype block_type(Pfn pfn) const {
        return static_cast<Migratetype>(blocks_[pfn >> kPageblockOrder] & 7);
    }
    void set_block_type(Pfn pfn, Migratetype type) {
        std::uint8_t& block = blocks_[pfn >> kPageblockOrder];
        block = static_cast<std::uint8_t>((block & ~7U) | type);
    }
    // Compaction's hint: nothing was to be had here lately.
    bool skip(Pfn pfn) const { return (blocks_[pfn >> kPageblockOrder] & 8) != 0; }
    void set_skip(Pfn pfn, bool on) {
        std::uint8_t& block = blocks_[pfn >> kPageblockOrder];
        block = static_cast<std::uint8_t>(on ? block | 8U : block & ~8U);
    }

    void push_front(PageList& list, Pfn pfn);
    void push_back(PageList& list, Pfn pfn);
    void remove(PageList& list, Pfn pfn);
    Pfn next(Pfn pfn) const { return links_[pfn].next; }
    void prefetch(Pfn pfn) const { __builtin_prefetch(&links_[pfn]); }

    // Of folios: who has it mapped and where (the reverse map), and bits of its life.
    struct Folio {
        std::uint32_t slot = 0;           // place in the owner's table
        std::uint16_t owner = 0;          // number of the address space
        std::uint8_t young : 1 = 0;       // touched since the last look
        std::uint8_t referenced : 1 = 0;  // was young at the last look
        std::uint8_t active : 1 = 0;
        std::uint8_t partial : 1 = 0;  // some of its pages are unmapped
    };
    Folio& folio(Pfn pfn) { return folios_[pfn]; }
    const Folio& folio(Pfn pfn) const { return folios_[pfn]; }

  private:
    struct Links {
        Pfn next, prev;
    };
    Pfn frames_;
    LazyArray<std::uint8_t> status_;
    LazyArray<std::uint8_t> blocks_;
    LazyArray<Links> links_;
    LazyArray<Folio> folios_;
};

inline void PageMap::push_front(PageList& list, Pfn pfn) {
    links_[pfn] = {list.first, kNoPage};
    if (list.empty()) {
        list.last = pfn;
    } else {
        links_[list.first].prev = pfn;
    }
    list.first = pfn;
    ++list.size;
}

inline void PageMap::push_back(PageList& list, Pfn pfn) {
    links_[pfn] = {kNoPage, list.last};
    if (list.empty()) {
        list.first = pfn;
    } else {
        links_[list.last].next = pfn;
    }
    list.last = pfn;
    ++list.size;
}

inline void PageMap::remove(PageList& list, Pfn pfn) {
    const Links links = links_[pfn];
    if (links.prev == kNoPage) {
        list.first = links.next;
    } else {
        links_[links.prev].next = links.next;
    }
    if (links.next == kNoPage) {
        list.last = links.prev;
    } else {
        links_[links.next].prev = links.prev;
    }
    --list.size;
}

}  // namespace mano::model
