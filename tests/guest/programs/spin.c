// SPDX-License-Identifier: GPL-2.0-or-later
// spin: takes every CPU for ever, at the highest real-time priority, so that nothing else runs.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put(const char* path, const char* text) {
    const int fd = open(path, O_WRONLY);
    if (fd < 0) return;
    if (write(fd, text, strlen(text)) < 0) perror(path);
    close(fd);
}

int main(void) {
    put("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (long cpu = 0; cpu < cpus; ++cpu) {
        // From 6.12 on a share of each CPU is kept for ordinary tasks.
        char path[96];
        snprintf(path, sizeof path, "/sys/kernel/debug/sched/fair_server/cpu%ld/runtime", cpu);
        put(path, "0");
    }
    for (long cpu = cpus - 1; cpu >= 0; --cpu) {
        if (cpu > 0 && fork() != 0) continue;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        const struct sched_param priority = {.sched_priority = 99};
        if (sched_setaffinity(0, sizeof set, &set) != 0 ||
            sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
            perror("spin");
            return 2;
        }
        for (;;)
            __asm__ volatile("" ::: "memory");
    }
    return 3;
}
