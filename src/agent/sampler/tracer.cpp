// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/sampler/tracer.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/agent.h"

namespace mano::agent {
namespace {

// A ring holds some 4,000 stacks; it is drained every few milliseconds.
constexpr std::uint64_t kRingBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kClockPeriodNs = 250'000;
constexpr std::size_t kMaxFormat = 16384;

int open_perf(perf_event_attr& attr, int cpu) {
    return static_cast<int>(
        ::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr common() {
    perf_event_attr attr = {};
    attr.size = sizeof attr;
    attr.disabled = 1;
    attr.sample_id_all = 1;
    attr.use_clockid = 1;  // the log's clock
    attr.clockid = CLOCK_MONOTONIC;
    attr.sample_type = trace::kSampleBase;
    return attr;
}

// Anonymous memory of the agent's own; nullptr when there is none.
void* own_memory(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

std::span<std::byte> begin_part(wire::Writer& log, const trace::PartHead& head) {
    std::span<std::byte> room = log.begin(wire::FrameType::trace);
    if (room.size() <= sizeof head) return {};
    std::memcpy(room.data(), &head, sizeof head);
    return room.subspan(sizeof head);
}

void put_part(wire::Writer& log, const trace::PartHead& head, const void* bytes, std::size_t size) {
    const std::span<std::byte> room = begin_part(log, head);
    if (room.size() < size) return log.lose();
    std::memcpy(room.data(), bytes, size);
    log.commit(sizeof head + size);
}

}  // namespace

// The dummy that owns a CPU's ring also tells of new tasks and their names.
bool Tracer::make_rings(wire::Writer& log) {
    rings_ = static_cast<Ring*>(own_memory(cpus_.size * sizeof(Ring)));
    fds_ = static_cast<int*>(own_memory(kMaxFds * sizeof(int)));
    if (rings_ == nullptr || fds_ == nullptr) return false;
    page_bytes_ = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    data_bytes_ = kRingBytes;
    for (std::size_t i = 0; i < cpus_.size; ++i) {
        perf_event_attr attr = common();
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_DUMMY;
        attr.task = 1;
        attr.comm = 1;
        const int fd = open_perf(attr, cpus_.ids[i]);
        void* memory = fd < 0 ? MAP_FAILED
                              : ::mmap(nullptr, page_bytes_ + data_bytes_, PROT_READ | PROT_WRITE,
                                       MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) {
            log.loss("trace", 1,
                     Text<128>("no ring for CPU ", unsigned{cpus_.ids[i]}, ": ",
                               errno_name(errno).view(), ": stalls can't be attributed"));
            return false;
        }
        rings_[i] = {static_cast<std::byte*>(memory), fd, fd};
        fds_[fd_count_++] = fd;
    }
    return true;
}

void Tracer::open(wire::Writer& log) {
    online_cpus(cpus_);
    if (!make_rings(log)) {
        cpus_.size = 0;
        return;
    }
    const int error = write_small(MANO_TRACEFS "/kprobe_events", trace::kStallProbes);
    if (error != 0) {
        log.loss("trace.stall", 1,
                 Text<256>("this kernel takes no kprobe on psi_memstall_enter (",
                           errno_name(error).view(),
                           "): stalls are told from the reclaim and compaction events instead"));
    }
    for (const trace::EventDef& def : trace::kEvents)
        open_event(def, log);
}

void Tracer::open_event(const trace::EventDef& def, wire::Writer& log) {
    perf_event_attr attr = common();
    if (def.stack) {
        attr.sample_type |= trace::kSampleCallchain;
        attr.exclude_callchain_user = 1;
    }
    if (def.fields) attr.sample_type |= trace::kSampleRaw;
    attr.sample_period = 1;
    if (def.event.empty()) {
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_CPU_CLOCK;
        attr.sample_period = kClockPeriodNs;
        attr.exclude_idle = 1;
    } else {
        attr.type = PERF_TYPE_TRACEPOINT;
        char buffer[32];
        const Path path(MANO_TRACEFS "/events/", def.event, "/id");
        const SmallFile file = read_small(path.c_str(), buffer);
        bool found = false;
        attr.config = number_after(Text<40>("id ", file.text).view(), "id", found);
        if (!file.ok || !found) {
            log.loss("trace", 1, Text<128>("this kernel has no event ", def.event));
            return;
        }
    }
    const std::size_t first = fd_count_;
    for (std::size_t i = 0; i < cpus_.size; ++i) {
        const int fd = fd_count_ < kMaxFds ? open_perf(attr, cpus_.ids[i]) : -1;
        bool good = fd >= 0 && ::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings_[i].fd) == 0;
        if (good && !def.filter.empty())
            good = ::ioctl(fd, PERF_EVENT_IOC_SET_FILTER, Text<64>(def.filter).c_str()) == 0;
        if (!good) {
            log.loss("trace", 1,
                     Text<160>("event ", def.event.empty() ? "cpu-clock" : def.event,
                               " can't be recorded: ", errno_name(errno).view()));
            if (fd >= 0) ::close(fd);
            while (fd_count_ > first)
                ::close(fds_[--fd_count_]);
            return;
        }
        fds_[fd_count_++] = fd;
    }
    send_event(def, attr.sample_type, {fds_ + first, cpus_.size}, log);
}

void Tracer::send_event(const trace::EventDef& def, std::uint64_t sample_type,
                        std::span<const int> fds, wire::Writer& log) const {
    const trace::PartHead head = {.kind = trace::PartKind::event,
                                  .cpu = 0,
                                  .number = static_cast<std::uint32_t>(def.kind),
                                  .size = 0};
    const std::span<std::byte> room = begin_part(log, head);
    const std::size_t fixed = 16 + 8 * fds.size();
    if (room.size() < fixed + kMaxFormat) return log.lose();
    const std::uint32_t cpus[2] = {static_cast<std::uint32_t>(fds.size()), 0};
    std::memcpy(room.data(), &sample_type, sizeof sample_type);
    std::memcpy(room.data() + 8, cpus, sizeof cpus);
    for (std::size_t i = 0; i < fds.size(); ++i) {
        std::uint64_t id = 0;
        ::ioctl(fds[i], PERF_EVENT_IOC_ID, &id);
        std::memcpy(room.data() + 16 + 8 * i, &id, sizeof id);
    }
    std::size_t size = fixed;
    if (!def.event.empty()) {
        const Path path(MANO_TRACEFS "/events/", def.event, "/format");
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && size < fixed + kMaxFormat) {
            const ssize_t got = ::read(fd, room.data() + size, fixed + kMaxFormat - size);
            if (got <= 0) break;
            size += static_cast<std::size_t>(got);
        }
        if (fd >= 0) ::close(fd);
    }
    log.commit(sizeof head + size);
}

void Tracer::switch_all(unsigned long request) const {
    for (std::size_t i = 0; i < fd_count_; ++i)
        ::ioctl(fds_[i], request, 0);
}

void Tracer::start(wire::Writer& log, const Crew& pressure, const Crew& probe,
                   std::uint32_t iteration) {
    if (!is_open()) return;
    iteration_ = iteration;
    const std::pair<trace::Role, const Crew*> crews[] = {{trace::Role::pressure, &pressure},
                                                         {trace::Role::probe, &probe}};
    for (const auto& [role, crew] : crews) {
        const trace::PartHead head = {.kind = trace::PartKind::crew,
                                      .cpu = 0,
                                      .number = static_cast<std::uint32_t>(role),
                                      .size = 0};
        put_part(log, head, crew->pids, crew->size * sizeof crew->pids[0]);
    }
    since_ns_ = now_ns();
    on_ = true;
    switch_all(PERF_EVENT_IOC_ENABLE);
}

void Tracer::stop(wire::Writer& log) {
    if (!on_) return;
    switch_all(PERF_EVENT_IOC_DISABLE);
    on_ = false;
    drain(log);
    const std::uint64_t window[2] = {since_ns_, now_ns()};
    put_part(log, {.kind = trace::PartKind::window, .cpu = 0, .number = iteration_, .size = 0},
             window, sizeof window);
}

void Tracer::drain(wire::Writer& log) {
    if (!is_open()) return;
    for (std::size_t i = 0; i < cpus_.size; ++i) {
        auto* control = reinterpret_cast<perf_event_mmap_page*>(rings_[i].memory);
        const std::byte* data = rings_[i].memory + page_bytes_;
        const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
        const std::uint64_t tail = control->data_tail;
        if (head == tail) continue;
        const std::uint64_t size = head - tail;
        const trace::PartHead part = {
            .kind = trace::PartKind::ring, .cpu = cpus_.ids[i], .number = iteration_, .size = 0};
        const std::span<std::byte> room = begin_part(log, part);
        if (room.size() < size) {
            // The records' place in the ring is needed all the same.
            log.lose();
        } else {
            const std::uint64_t from = tail % data_bytes_;
            const std::uint64_t whole = data_bytes_ - from;
            const std::uint64_t first = size < whole ? size : whole;
            std::memcpy(room.data(), data + from, first);
            std::memcpy(room.data() + first, data, size - first);
            log.commit(sizeof part + size);
        }
        __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
    }
}

void Tracer::send_symbols(wire::Writer& log) const {
    if (!is_open()) return;
    constexpr std::size_t kPiece = std::size_t{256} << 10;
    const int fd = ::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        log.loss("trace.symbols", 1,
                 Text<96>("/proc/kallsyms: ", errno_name(errno).view(), ": stacks have no names"));
        return;
    }
    const trace::PartHead head = {
        .kind = trace::PartKind::symbols, .cpu = 0, .number = 0, .size = 0};
    bool more = true;
    while (more) {
        const std::span<std::byte> room = begin_part(log, head);
        if (room.size() < kPiece) {
            log.lose();
            break;
        }
        std::size_t size = 0;
        while (size < kPiece) {
            const ssize_t got = ::read(fd, room.data() + size, kPiece - size);
            more = got > 0;
            if (!more) break;
            size += static_cast<std::size_t>(got);
        }
        if (size > 0) log.commit(sizeof head + size);
        log.beat();
    }
    ::close(fd);
}

}  // namespace mano::agent
