// SPDX-License-Identifier: GPL-2.0-or-later
// A peer of the agent's readings: C's standard library, as monitors in C are written. `fgets_reader
// ROUNDS OUTPUT` opens every file, reads it line by line, keeps the lines in memory. Prints to
// OUTPUT
// (- for the standard output) what one round cost. Part of bench/agent.
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char* const kFiles[] = {
    "/proc/sys/vm/stat_refresh",
    "/proc/vmstat",
    "/proc/meminfo",
    "/proc/buddyinfo",
    "/proc/pagetypeinfo",
    "/proc/zoneinfo",
    "/proc/stat",
    "/sys/fs/cgroup/load/memory.stat",
    "/sys/fs/cgroup/probe/memory.stat",
    "/sys/fs/cgroup/probe/cpu.stat",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/sys/fs/cgroup/probe/cpu.pressure",
    "/sys/fs/cgroup/probe/io.pressure",
    "/sys/fs/cgroup/probe/memory.pressure",
};
enum { kRefresh = 1, kKept = 1 << 20, kMostRounds = 20000 };
static char kept[kKept];
static size_t used;

static void read_lines(const char* path) {
    FILE* file = fopen(path, "r");
    if (file == NULL) return;
    char line[4096];
    while (fgets(line, sizeof line, file) != NULL) {
        const size_t size = strlen(line);
        if (used + size > sizeof kept) break;
        memcpy(kept + used, line, size);
        used += size;
    }
    fclose(file);
}

static void read_mthp(void) {
    static const char kFolder[] = "/sys/kernel/mm/transparent_hugepage";
    DIR* sizes = opendir(kFolder);
    if (sizes == NULL) return;
    for (const struct dirent* size; (size = readdir(sizes)) != NULL;) {
        if (strncmp(size->d_name, "hugepages-", 10) != 0) continue;
        char folder[512];
        snprintf(folder, sizeof folder, "%s/%s/stats", kFolder, size->d_name);
        DIR* stats = opendir(folder);
        if (stats == NULL) continue;
        for (const struct dirent* stat; (stat = readdir(stats)) != NULL;) {
            if (stat->d_name[0] == '.') continue;
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", folder, stat->d_name);
            read_lines(path);
        }
        closedir(stats);
    }
    closedir(sizes);
}

static void read_all(void) {
    used = 0;
    FILE* refresh = fopen(kFiles[0], "w");
    if (refresh != NULL) {
        fputs("1", refresh);
        fclose(refresh);
    }
    for (size_t i = kRefresh; i < sizeof kFiles / sizeof *kFiles; ++i)
        read_lines(kFiles[i]);
    read_mthp();
}

static unsigned long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static int by_size(const void* a, const void* b) {
    const unsigned long long x = *(const unsigned long long*)a;
    const unsigned long long y = *(const unsigned long long*)b;
    return (x > y) - (x < y);
}

int main(int count, char** arguments) {
    static unsigned long long taken[kMostRounds];
    unsigned long rounds = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000;
    if (rounds == 0 || rounds > kMostRounds) return 1;
    FILE* out = count > 2 && strcmp(arguments[2], "-") != 0 ? fopen(arguments[2], "w") : stdout;
    if (out == NULL) return 1;
    enum { kNobody = 65534 };
    if (count > 3 && geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) return 1;
    memset(taken, 1, sizeof taken);
    read_all();
    const long before = faults();
    for (unsigned long i = 0; i < rounds; ++i) {
        const unsigned long long start = now_ns();
        read_all();
        taken[i] = now_ns() - start;
    }
    const long faulted = faults() - before;
    qsort(taken, rounds, sizeof *taken, by_size);
    fprintf(out, "BENCH ns=%llu least_ns=%llu bytes=%zu faults=%ld\n", taken[rounds / 2], taken[0],
            used, faulted);
    return fclose(out) != 0;
}
