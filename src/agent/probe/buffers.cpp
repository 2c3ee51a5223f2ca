// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/probe/buffers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/probe/probe.h"

namespace mano::agent {
namespace {

constexpr std::string_view kRefusalNames[kRefusals] = {"ENOMEM", "EPERM", "EACCES", "EINVAL",
                                                       "other"};
constexpr std::string_view kPointNames[kPoints] = {"before", "held", "after", "later"};
constexpr unsigned kReportedOrders = 11;  // 0 to 10: the largest block of any kernel on x86

// The next word of a text, which is shortened; blanks separate words, line ends don't.
std::string_view take_word(std::string_view& text) {
    while (!text.empty() && text[0] == ' ')
        text.remove_prefix(1);
    std::size_t end = 0;
    while (end < text.size() && text[end] != ' ' && text[end] != '\n')
        ++end;
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

std::string_view take_line(std::string_view& text) {
    std::size_t end = text.find('\n');
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end < text.size() ? end + 1 : end);
    return line;
}

bool to_number(std::string_view word, std::uint64_t& number) {
    number = 0;
    for (const char c : word) {
        if (c < '0' || c > '9') return false;
        number = number * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return !word.empty();
}

// "Node 0, zone   Normal …": node, zone, and what follows.
bool take_zone(std::string_view& line, std::uint64_t& node, std::string_view& zone) {
    if (take_word(line) != "Node") return false;
    std::string_view number = take_word(line);
    if (!number.ends_with(',')) return false;
    number.remove_suffix(1);
    if (!to_number(number, node) || take_word(line) != "zone") return false;
    zone = take_word(line);
    return !zone.empty();
}

unsigned order_of(std::uint64_t frame, std::uint64_t pages) {
    unsigned order = 0;
    while (order + 1 < kOrders && (std::uint64_t{2} << order) <= pages &&
           (frame & ((std::uint64_t{2} << order) - 1)) == 0) {
        ++order;
    }
    return order;
}

void add_run(BufferFigures& figures, std::uint64_t frame, std::uint64_t pages) {
    while (pages > 0) {
        const unsigned order = order_of(frame, pages);
        ++figures.chunks[order];
        frame += std::uint64_t{1} << order;
        pages -= std::uint64_t{1} << order;
    }
}

}  // namespace

void FreeMemory::open(std::uint64_t page_bytes) {
    page_bytes_ = page_bytes;
    learn_watermarks();
    fd_ = ::open("/proc/buddyinfo", O_RDONLY | O_CLOEXEC);
}

void FreeMemory::learn_watermarks() {
    // Grows with CPUs times zones; what doesn't fit leaves later zones without a watermark.
    static char buffer[256 * 1024];
    std::string_view text = read_small("/proc/zoneinfo", buffer).text;
    Zone* zone = nullptr;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        std::uint64_t node = 0;
        std::string_view name;
        if (line.starts_with("Node ")) {
            zone = nullptr;
            if (take_zone(line, node, name) && zone_count_ < kMaxZones) {
                zone = &zones_[zone_count_++];
                const Text<sizeof zone->name> key(node, " ", name);
                std::memcpy(zone->name, key.c_str(), key.view().size());
            }
            continue;
        }
        std::uint64_t pages = 0;
        if (zone != nullptr && take_word(line) == "min" && to_number(take_word(line), pages)) {
            zone->min_pages = pages;
        }
    }
}

const FreeMemory::Zone* FreeMemory::find(std::uint64_t node, std::string_view name) const {
    const Text<sizeof Zone::name> key(node, " ", name);
    for (std::size_t i = 0; i < zone_count_; ++i) {
        if (key.view() == zones_[i].name) return &zones_[i];
    }
    return nullptr;
}

bool FreeMemory::read_blocks(std::uint64_t (&blocks)[kOrders], std::uint64_t& free_pages,
                             double& of_min_pct) {
    static char buffer[16 * 1024];
    const ssize_t got = fd_ < 0 ? -1 : ::pread(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    std::string_view text(buffer, static_cast<std::size_t>(got));
    bool any = false;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        std::uint64_t node = 0;
        std::string_view name;
        if (!take_zone(line, node, name)) continue;
        std::uint64_t pages = 0;
        std::uint64_t count = 0;
        for (std::size_t order = 0; order < kOrders && to_number(take_word(line), count); ++order) {
            blocks[order] += count;
            pages += count << order;
        }
        free_pages += pages;
        const Zone* zone = find(node, name);
        if (zone == nullptr || zone->min_pages == 0) continue;
        const double share =
            100.0 * static_cast<double>(pages) / static_cast<double>(zone->min_pages);
        if (!any || share < of_min_pct) of_min_pct = share;
        any = true;
    }
    return any;
}

void FreeMemory::look(BufferFigures& figures) {
    std::uint64_t blocks[kOrders] = {};
    std::uint64_t pages = 0;
    double of_min = 0;
    if (!read_blocks(blocks, pages, of_min)) return;
    const std::uint64_t bytes = pages * page_bytes_;
    if (!figures.free_known || bytes < figures.free_low_bytes) figures.free_low_bytes = bytes;
    if (!figures.free_known || of_min < figures.free_low_of_min_pct) {
        figures.free_low_of_min_pct = of_min;
    }
    figures.free_known = true;
}

void FreeMemory::look(BufferFigures& figures, Point point) {
    const auto index = static_cast<std::size_t>(point);
    std::uint64_t blocks[kOrders] = {};
    std::uint64_t pages = 0;
    double of_min = 0;
    if (!read_blocks(blocks, pages, of_min)) return;
    for (std::size_t order = 0; order < kOrders; ++order)
        figures.blocks[index][order] = blocks[order];
    figures.blocks_known[index] = true;
}

void PageMap::open() {
    fd_ = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

void PageMap::add_chunks(BufferFigures& figures, const void* memory, std::uint64_t bytes,
                         std::uint64_t block, std::uint64_t page_bytes) {
    constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
    constexpr std::uint64_t kFrame = (std::uint64_t{1} << 55) - 1;
    constexpr std::size_t kBatch = 512;
    static std::uint64_t entries[kBatch];
    const std::uint64_t first = reinterpret_cast<std::uintptr_t>(memory) / page_bytes;
    const std::uint64_t pages = bytes / page_bytes;
    const std::uint64_t per_block = block / page_bytes;
    const BufferFigures kept = figures;
    std::uint64_t run_frame = 0;
    std::uint64_t run_pages = 0;
    for (std::uint64_t done = 0; done < pages;) {
        const std::uint64_t batch = pages - done < kBatch ? pages - done : kBatch;
        const ssize_t got = ::pread(fd_, entries, batch * sizeof entries[0],
                                    static_cast<off_t>((first + done) * sizeof entries[0]));
        bool good = got == static_cast<ssize_t>(batch * sizeof entries[0]);
        for (std::uint64_t i = 0; good && i < batch; ++i) {
            const std::uint64_t frame = entries[i] & kFrame;
            // Frame 0 is what those without the right to know are told.
            good = (entries[i] & kPresent) != 0 && frame != 0;
            if (run_pages > 0 && frame == run_frame + run_pages && (done + i) % per_block != 0) {
                ++run_pages;
                continue;
            }
            add_run(figures, run_frame, run_pages);
            run_frame = frame;
            run_pages = 1;
        }
        if (!good) {
            figures = kept;
            ++figures.chunks_unknown;
            return;
        }
        done += batch;
    }
    add_run(figures, run_frame, run_pages);
}

void hold_own_memory() {
    ::mlockall(MCL_CURRENT);
}

void refuse(BufferFigures& figures, int error) {
    const Refusal refusal = error == ENOMEM   ? Refusal::no_memory
                            : error == EPERM  ? Refusal::not_permitted
                            : error == EACCES ? Refusal::no_access
                            : error == EINVAL ? Refusal::invalid
                                              : Refusal::other;
    ++figures.refused[static_cast<std::size_t>(refusal)];
}

int finish_buffers(Agent& agent, WorkerCell& cell, std::uint64_t start_ns) {
    const BufferFigures& figures = agent.probe.block->figures;
    cell.time_ns = now_ns() - start_ns;
    cell.cpu_ns = cpu_ns();
    cell.ops = figures.obtained;
    cell.bytes = figures.bytes;
    const bool for_memory = figures.refused[static_cast<std::size_t>(Refusal::no_memory)] > 0;
    if (figures.obtained > 0 || for_memory) {
        cell.error = 0;
        return 0;
    }
    return 3;  // the cell has the last errno
}

void draw_order(Rng& rng, std::uint16_t* places, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        places[i] = static_cast<std::uint16_t>(i);
    for (std::size_t i = count; i > 1; --i) {
        const std::size_t pick = rng.below(i);
        const std::uint16_t keep = places[i - 1];
        places[i - 1] = places[pick];
        places[pick] = keep;
    }
}

Rng probe_rng(const Agent& agent, std::uint64_t stream) {
    return Rng(agent.plan.seed).split(stream + agent.iteration);
}

void buffers_report(Agent& agent, std::uint32_t iteration) {
    const BufferFigures& figures = agent.probe.block->figures;
    const Totals sum = totals(agent.probe);
    const auto put = [&agent, iteration](std::string_view metric, std::uint64_t value) {
        agent.log.value(metric, static_cast<double>(value), iteration);
    };
    put("probe.asked", figures.asked);
    put("probe.ops", figures.obtained);
    put("probe.mapped_bytes", figures.bytes);
    put("probe.time_ns", sum.time_ns);
    put("probe.cpu_ns", sum.cpu_ns);
    put("probe.map_ns_max", figures.map.max_ns);
    put("probe.map_ns_total", figures.map.sum_ns);
    put("probe.unmap_ns_max", figures.unmap.max_ns);
    put("probe.unmap_ns_total", figures.unmap.sum_ns);
    std::uint64_t errors = 0;
    for (std::size_t i = 0; i < kRefusals; ++i) {
        errors += figures.refused[i];
        put(Text<48>("probe.errno.", kRefusalNames[i]), figures.refused[i]);
    }
    put("probe.errors", errors);
    if (figures.chunks_unknown > 0) {
        agent.log.loss("probe.chunks", figures.chunks_unknown,
                       "buffers whose pieces of physical memory couldn't be told");
    }
    for (unsigned order = 0; order < kReportedOrders && figures.chunks_unknown == 0; ++order)
        put(Text<48>("probe.chunks.order", order), figures.chunks[order]);
    for (std::size_t point = 0; point < kPoints; ++point) {
        for (unsigned order = 0; order < kReportedOrders && figures.blocks_known[point]; ++order) {
            put(Text<48>("probe.blocks.", kPointNames[point], ".order", order),
                figures.blocks[point][order]);
        }
    }
    if (!figures.free_known) return;
    put("probe.free_low_bytes", figures.free_low_bytes);
    agent.log.value("probe.free_low_of_min_pct", figures.free_low_of_min_pct, iteration);
}

}  // namespace mano::agent
