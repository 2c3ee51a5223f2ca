// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/sampler/counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/machine.h"
#include "agent/sys.h"

namespace mano::agent {
namespace {

int open_one(std::uint64_t id, int cpu) {
    perf_event_attr attr = {};
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.size = sizeof attr;
    attr.config = id;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return static_cast<int>(
        ::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

void Counters::open(const plan::PlanView& plan, wire::Writer& log) {
    if (plan.counters.size == 0) return;
    fds_ = static_cast<int*>(::mmap(nullptr, kMaxFds * sizeof(int), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (fds_ == MAP_FAILED) {
        fds_ = nullptr;
        return;
    }
    CpuSet cpus;
    online_cpus(cpus);
    for (std::size_t i = 0; i < plan.counters.size; ++i) {
        const plan::CounterView& wanted = plan.counters[i];
        Counter& counter = counters_[count_++];
        counter.index = static_cast<std::uint16_t>(i);
        counter.first = static_cast<std::uint32_t>(fd_count_);
        char buffer[32];
        const Path id_path(MANO_TRACEFS "/events/", wanted.event, "/id");
        const SmallFile id_file = read_small(id_path.c_str(), buffer);
        bool found = false;
        const std::uint64_t id = number_after(Text<40>("id ", id_file.text).view(), "id", found);
        Text<192> reason;
        if (id_file.error == EACCES || ::access(MANO_TRACEFS "/events", X_OK) != 0) {
            reason.add("tracefs can't be read: it takes root, and tracefs mounted at ");
            reason.add(MANO_TRACEFS);
        } else if (!id_file.ok || !found) {
            reason.add("this kernel has no event ").add(wanted.event);
        }
        char filter[512] = {};
        const bool has_filter = !wanted.filter.empty() && wanted.filter.size() < sizeof filter;
        std::memcpy(filter, wanted.filter.data(), has_filter ? wanted.filter.size() : 0);
        for (std::size_t c = 0; c < cpus.size && reason.empty(); ++c) {
            const int fd = fd_count_ < kMaxFds ? open_one(id, static_cast<int>(cpus.ids[c])) : -1;
            if (fd < 0) {
                reason.add("perf_event_open of ").add(wanted.event).add(": ");
                reason.add(errno_name(fd_count_ < kMaxFds ? errno : ENOSPC).view());
                break;
            }
            fds_[fd_count_++] = fd;
            ++counter.cpus;
            if (has_filter && ::ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) != 0) {
                reason.add("filter '").add(wanted.filter).add("' on ").add(wanted.event);
                reason.add(" was refused: ").add(errno_name(errno).view());
            }
        }
        if (reason.empty()) continue;
        while (fd_count_ > counter.first)
            ::close(fds_[--fd_count_]);
        counter.cpus = 0;
        log.loss(wanted.metric, 1, reason);
    }
}

void Counters::take(wire::Writer& log, std::uint32_t iteration, std::uint8_t moment) const {
    for (std::size_t i = 0; i < count_; ++i) {
        const Counter& counter = counters_[i];
        if (counter.cpus == 0) continue;
        wire::CounterHead head = {};
        head.iteration = iteration;
        head.index = counter.index;
        head.moment = moment;
        bool ok = true;
        for (std::uint32_t c = 0; c < counter.cpus; ++c) {
            std::uint64_t got[3] = {};
            ok = ok && ::read(fds_[counter.first + c], got, sizeof got) ==
                           static_cast<ssize_t>(sizeof got);
            head.value += got[0];
            head.enabled += got[1];
            head.running += got[2];
        }
        if (ok)
            log.counter(head);
        else
            log.loss(Text<24>("counter ", unsigned{counter.index}), 1, "a counter wasn't readable");
    }
}

}  // namespace mano::agent
