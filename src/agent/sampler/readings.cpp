// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/sampler/readings.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/agent.h"
#include "agent/machine.h"
#include "agent/sys.h"

namespace mano::agent {
namespace {

using wire::Source;

enum class Where : std::uint8_t { system, v2, memory };

struct Entry {
    Source source;
    Where where;
    const char* group;  // empty: the path is whole
    const char* path;
    bool psi;
};

// Every file that is read whole around each iteration. A file that a kernel lacks is left out; the
// host says what is absent. Adding a line here needs a parser in src/procfs and a Source.
constexpr Entry kEntries[] = {
    {Source::vmstat, Where::system, "", "/proc/vmstat", false},
    {Source::meminfo, Where::system, "", "/proc/meminfo", false},
    {Source::buddyinfo, Where::system, "", "/proc/buddyinfo", false},
    {Source::pagetypeinfo, Where::system, "", "/proc/pagetypeinfo", false},
    {Source::zoneinfo, Where::system, "", "/proc/zoneinfo", false},
    {Source::proc_stat, Where::system, "", "/proc/stat", false},
    {Source::load_memory_stat, Where::memory, "load", "memory.stat", false},
    {Source::probe_memory_stat, Where::memory, "probe", "memory.stat", false},
    {Source::probe_cpu_stat, Where::v2, "probe", "cpu.stat", false},
    {Source::system_cpu_pressure, Where::system, "", "/proc/pressure/cpu", true},
    {Source::system_io_pressure, Where::system, "", "/proc/pressure/io", true},
    {Source::system_memory_pressure, Where::system, "", "/proc/pressure/memory", true},
    {Source::probe_cpu_pressure, Where::v2, "probe", "cpu.pressure", true},
    {Source::probe_io_pressure, Where::v2, "probe", "io.pressure", true},
    {Source::probe_memory_pressure, Where::v2, "probe", "memory.pressure", true},
};

constexpr const char* kMthp = "/sys/kernel/mm/transparent_hugepage";

}  // namespace

namespace {

// Empty: there is no such group here.
Path path_of(const Entry& entry, const Place& place) {
    if (entry.where == Where::system) return Path(std::string_view(entry.path));
    return group_file(entry.where == Where::v2 ? place.v2 : place.memory, entry.group, entry.path);
}

}  // namespace

void Readings::open(const Place& place, wire::Writer& log) {
    for (const Entry& entry : kEntries) {
        const Path path = path_of(entry, place);
        const int fd = path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && !path.empty()) {
            log.loss(path, 1, "this user may not read it: run as root");
        }
        // A pressure file can exist and answer EOPNOTSUPP (PSI compiled in and switched off), so it
        // is opened, never read, here: a read of the probe's PSI is a measurement.
        if (fd < 0) continue;
        files_[file_count_++] = {entry.source, fd, entry.psi};
    }
    refresh_fd_ = ::open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);
    if (refresh_fd_ < 0 && errno == EACCES) {
        log.loss("vmstat", 1,
                 "not refreshed before a reading, which takes root: counts of reclaim may lag by "
                 "some hundred pages a CPU");
    }
    open_mthp();
}

void Readings::open_mthp() {
    // Touched only as far as there are statistics: no cost on kernels without mTHP.
    stats_ = static_cast<Stat*>(::mmap(nullptr, kMaxStats * sizeof(Stat), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (stats_ == MAP_FAILED) stats_ = nullptr;
    DIR* sizes = ::opendir(kMthp);
    if (sizes == nullptr || stats_ == nullptr) return;
    while (const dirent* size = ::readdir(sizes)) {
        if (std::strncmp(size->d_name, "hugepages-", 10) != 0) continue;
        const Path folder(kMthp, "/", std::string_view(size->d_name), "/stats");
        DIR* stats = ::opendir(folder.c_str());
        if (stats == nullptr) continue;
        while (const dirent* stat = ::readdir(stats)) {
            if (stat->d_name[0] == '.' || stat_count_ == kMaxStats) continue;
            const Path path(folder.view(), "/", std::string_view(stat->d_name));
            const Text<56> label(std::string_view(size->d_name), " ",
                                 std::string_view(stat->d_name), " ");
            const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
            if (fd < 0 || label.full()) continue;
            Stat& entry = stats_[stat_count_++];
            std::memcpy(entry.label, label.c_str(), label.view().size());
            entry.label_size = static_cast<std::uint8_t>(label.view().size());
            entry.fd = fd;
        }
        ::closedir(stats);
    }
    ::closedir(sizes);
}

bool Readings::has(Source source) const {
    for (std::size_t i = 0; i < file_count_; ++i) {
        if (files_[i].source == source) return true;
    }
    return false;
}

void Readings::refresh() const {
    // In 7.x pgscan, pgsteal and pgrefill are node counters that lag by up to 125 pages a CPU.
    if (refresh_fd_ >= 0) [[maybe_unused]]
        const ssize_t done = ::pwrite(refresh_fd_, "1", 1, 0);
}

void Readings::take(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment) {
    const bool before = moment == 0;
    if (!before) take_psi(log, iteration, moment);
    refresh();
    take_rest(log, iteration, moment);
    if (before) take_psi(log, iteration, moment);
}

void Readings::take_psi(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment) {
    // Before: the probe's memory PSI is the last read; after: the first.
    for (std::size_t i = 0; i < file_count_; ++i) {
        const File& file = files_[moment == 0 ? i : file_count_ - 1 - i];
        if (file.psi) take_file(log, file.fd, file.source, iteration, moment);
    }
}

void Readings::take_rest(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment) {
    for (std::size_t i = 0; i < file_count_; ++i) {
        if (!files_[i].psi) take_file(log, files_[i].fd, files_[i].source, iteration, moment);
    }
    if (stat_count_ > 0) take_mthp(log, iteration, moment);
}

void Readings::take_file(wire::Writer& log, int fd, Source source, std::uint32_t iteration,
                         std::uint8_t moment) {
    const std::span<std::byte> room = log.begin(wire::FrameType::reading);
    const wire::ReadingHead head = {
        .source = source, .moment = moment, .reserved = 0, .iteration = iteration};
    std::size_t size = sizeof head;
    if (room.size() < size) return log.lose();
    std::memcpy(room.data(), &head, sizeof head);
    while (true) {
        if (size == room.size()) return log.lose();
        const ssize_t got = ::pread(fd, room.data() + size, room.size() - size,
                                    static_cast<off_t>(size - sizeof head));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            // PSI that is compiled in and off answers EOPNOTSUPP: unreadable, not zero.
            const Text<64> meaning("a file could not be read: ", errno_name(errno).view());
            return log.loss(Text<24>("reading source ", static_cast<unsigned>(source)), 1, meaning);
        }
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    log.commit(size);
}

void Readings::take_mthp(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment) {
    const std::span<std::byte> room = log.begin(wire::FrameType::reading);
    const wire::ReadingHead head = {
        .source = Source::mthp_stats, .moment = moment, .reserved = 0, .iteration = iteration};
    std::size_t size = sizeof head;
    if (room.size() < size) return log.lose();
    std::memcpy(room.data(), &head, sizeof head);
    constexpr std::size_t kNumber = 24;
    for (std::size_t i = 0; i < stat_count_; ++i) {
        const Stat& stat = stats_[i];
        if (room.size() - size < stat.label_size + kNumber) return log.lose();
        const ssize_t got = ::pread(stat.fd, room.data() + size + stat.label_size, kNumber, 0);
        if (got <= 0) continue;
        std::memcpy(room.data() + size, stat.label, stat.label_size);
        size += stat.label_size + static_cast<std::size_t>(got);
    }
    log.commit(size);
}

}  // namespace mano::agent
