// SPDX-License-Identifier: GPL-2.0-or-later
// Facts about the machine and its health, for the log. (Interface: machine.h.)
#include <dirent.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/agent.h"
#include "agent/machine.h"

namespace mano::agent {
namespace {

constexpr const char* kThp = "/sys/kernel/mm/transparent_hugepage";

void fact_from(Agent& agent, std::string_view key, const char* path, bool only_chosen = false) {
    char buffer[512];
    const SmallFile file = read_small(path, buffer);
    if (file.ok) agent.log.fact(key, only_chosen ? chosen(file.text) : file.text);
}

void state_thp(Agent& agent) {
    fact_from(agent, "state.thp", "/sys/kernel/mm/transparent_hugepage/enabled", true);
    fact_from(agent, "kernel.thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag", true);
    DIR* sizes = ::opendir(kThp);
    if (sizes == nullptr) return;
    while (const dirent* size = ::readdir(sizes)) {
        const std::string_view name(size->d_name);
        if (!name.starts_with("hugepages-")) continue;
        fact_from(agent, Text<64>("state.mthp.", name.substr(10)),
                  Path(kThp, "/", name, "/enabled").c_str(), true);
    }
    ::closedir(sizes);
}

void state_swap(Agent& agent) {
    char buffer[1024];
    const SmallFile swaps = read_small("/proc/swaps", buffer);
    if (!swaps.ok) return;
    // A header line, then one line an area: judge swap by what is in use, not by a module.
    const std::size_t line = swaps.text.find('\n');
    if (line == std::string_view::npos) {
        agent.log.fact("state.swap", "none");
        return;
    }
    if (agent.plan.zram_bytes == 0) {
        // A live host's own, whatever it is: "/dev/zram0 partition 524284 0 100", used and priority
        // left out.
        Text<128> areas;
        std::string_view rest = swaps.text.substr(line + 1);
        for (unsigned word = 0; word < 3 && !rest.empty(); ++word) {
            const std::size_t end = rest.find_first_of(" \t\n");
            areas.add(word == 0 ? "" : " ").add(rest.substr(0, end));
            const std::size_t next =
                end == std::string_view::npos ? end : rest.find_first_not_of(" \t", end);
            rest = next == std::string_view::npos ? std::string_view() : rest.substr(next);
        }
        areas.add(" KiB");
        if (rest.find('\n') != std::string_view::npos) areas.add(" and more");
        agent.log.fact("state.swap", areas);
        fact_from(agent, "state.zram.compressor", "/sys/block/zram0/comp_algorithm", true);
        return;
    }
    // An area's size is a page less than the device's.
    agent.log.fact("state.swap", Text<64>("zram ", agent.plan.zram_bytes, " bytes"));
    fact_from(agent, "state.zram.compressor", "/sys/block/zram0/comp_algorithm", true);
}

}  // namespace

void state_machine(Agent& agent) {
    wire::Writer& log = agent.log;
    utsname name = {};
    ::uname(&name);
    log.fact("kernel.release", name.release);
    log.fact("kernel.version", name.version);
    fact_from(agent, "kernel.cmdline", "/proc/cmdline");
    fact_from(agent, "kernel.banner", "/proc/version");
    fact_from(agent, "kernel.preempt", "/sys/kernel/debug/sched/preempt", true);
    fact_from(agent, "kernel.clocksource",
              "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    timespec tick = {};
    ::clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    agent.jiffy_ns = static_cast<std::uint64_t>(tick.tv_nsec);
    if (agent.jiffy_ns > 0) log.fact("kernel.hz", Text<24>(1'000'000'000 / agent.jiffy_ns));
    CpuSet cpus;
    online_cpus(cpus);
    log.fact("state.cpus", Text<24>(std::uint64_t{cpus.size}));
    log.fact("state.page_bytes", Text<24>(agent.page_bytes));
    char buffer[4096];
    bool found = false;
    const std::uint64_t total =
        number_after(read_small("/proc/meminfo", buffer).text, "MemTotal", found);
    if (found) log.fact("kernel.mem_total_kb", Text<24>(total));
    state_thp(agent);
    state_swap(agent);
    fact_from(agent, "state.lru_gen", "/sys/kernel/mm/lru_gen/enabled");
    log.fact("state.psi",
             agent.readings.has(wire::Source::system_memory_pressure) ? "on" : "absent");
    static constexpr const char* kSysctls[] = {
        "vm/swappiness",
        "vm/min_free_kbytes",
        "vm/watermark_scale_factor",
        "vm/watermark_boost_factor",
        "vm/overcommit_memory",
        "vm/page-cluster",
        "vm/compaction_proactiveness",
        "vm/defrag_mode",
        "vm/vfs_cache_pressure",
        "vm/percpu_pagelist_high_fraction",
        "kernel/randomize_va_space",
    };
    for (const char* sysctl : kSysctls) {
        fact_from(agent, Text<64>("sysctl.", std::string_view(sysctl)),
                  Path("/proc/sys/", std::string_view(sysctl)).c_str());
    }
}

void watch_health(Agent& agent) {
    agent.kmsg_fd = ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    // Behind what is there already.
    if (agent.kmsg_fd >= 0) ::lseek(agent.kmsg_fd, 0, SEEK_END);
}

void state_health(Agent& agent) {
    const int fd =
        agent.place.live ? agent.kmsg_fd : ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (agent.place.live) agent.log.loss("kmsg", 1, "/dev/kmsg can't be read: it takes root");
        return;
    }
    struct Sign {
        std::string_view metric;
        std::string_view text;
        std::uint64_t count;
    };
    Sign signs[] = {
        {"kmsg.warnings", "WARNING: ", 0},
        {"kmsg.bugs", "BUG: ", 0},
        {"kmsg.oom_kills", "Out of memory: Killed process", 0},
        {"kmsg.hung_tasks", " blocked for more than ", 0},
    };
    static char record[8192];
    std::uint64_t overrun = 0;
    while (true) {
        const ssize_t got = ::read(fd, record, sizeof record);
        if (got < 0 && (errno == EPIPE || errno == EINTR)) {
            if (errno == EPIPE) ++overrun;  // the ring went over records that weren't read
            continue;
        }
        if (got <= 0) break;
        const std::string_view text(record, static_cast<std::size_t>(got));
        for (Sign& sign : signs)
            sign.count += text.find(sign.text) != std::string_view::npos;
    }
    ::close(fd);
    for (const Sign& sign : signs)
        agent.log.value(sign.metric, static_cast<double>(sign.count));
    if (overrun > 0) {
        agent.log.loss("kmsg", overrun,
                       "the kernel's log went over: counts of warnings are lower bounds");
    }
}

}  // namespace mano::agent
