/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

typedef unsigned long long u64;

static u64 page_size;
static u64 random_state = SEED * 0x9e3779b97f4a7c15ULL + 1;

__attribute__((unused)) static u64 random_below(u64 bound) { /* xorshift64* */
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return bound ? random_state * 0x2545f4914f6cdd1dULL % bound : 0;
}

__attribute__((unused)) static u64 now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

static void sleep_ns(u64 ns) {
    struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static void restore_settings(void);
static void pressure_stop(void);

static void die(const char* what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    pressure_stop();
    restore_settings();
    exit(2);
}

/* The bytes of a small file; 0: it can't be read. */
static size_t slurp(const char* path, char* into, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t got = 0;
    if (fd < 0) return 0;
    while (got + 1 < size) {
        const ssize_t more = read(fd, into + got, size - 1 - got);
        if (more <= 0) break;
        got += (size_t)more;
    }
    into[got] = 0;
    close(fd);
    return got;
}

static int spit(const char* path, const char* text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    const ssize_t done = write(fd, text, strlen(text));
    close(fd);
    return done == (ssize_t)strlen(text) ? 0 : -1;
}

/* The sum of all lines "KEY… NUMBER" whose key is `key`, or begins with it when it ends in '_'. */
static u64 sum_of(const char* text, const char* key) {
    const size_t length = strlen(key);
    u64 sum = 0;
    for (const char* line = text; line != NULL && *line != 0;) {
        if (strncmp(line, key, length) == 0) {
            const char* rest = line + length;
            if (key[length - 1] == '_') rest += strcspn(rest, " \t");
            if (*rest == ' ' || *rest == '\t' || *rest == ':')
                sum += strtoull(rest + strspn(rest, " \t:"), NULL, 10);
        }
        line = strchr(line, '\n');
        if (line != NULL) ++line;
    }
    return sum;
}

/* ---- the cgroups of the pressure and the probe, where there is a cgroup v2 ---- */

static char cgroup_root[64];

static void make_cgroups(void) {
    struct stat found;
    snprintf(cgroup_root, sizeof cgroup_root, "/sys/fs/cgroup");
    if (stat("/sys/fs/cgroup/cgroup.controllers", &found) != 0) {
        snprintf(cgroup_root, sizeof cgroup_root, "/sys/fs/cgroup/unified");
        if (stat("/sys/fs/cgroup/unified/cgroup.controllers", &found) != 0) {
            cgroup_root[0] = 0;
            printf("no cgroup v2 here: the pressure stall figures are the whole machine's\n");
            return;
        }
    }
    char path[128];
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", cgroup_root);
    spit(path, "+memory"); /* best effort: PSI needs no controller */
    for (int i = 0; i < 2; ++i) {
        snprintf(path, sizeof path, "%s/reproduce-%s", cgroup_root, i == 0 ? "load" : "probe");
        if (mkdir(path, 0755) != 0 && errno != EEXIST) die(path);
    }
}

static void join(const char* group) {
    char path[128];
    if (cgroup_root[0] == 0) return;
    snprintf(path, sizeof path, "%s/reproduce-%s/cgroup.procs", cgroup_root, group);
    if (spit(path, "0") != 0) die(path);
}

static void remove_cgroups(void) {
    char path[128];
    if (cgroup_root[0] == 0) return;
    snprintf(path, sizeof path, "%s/reproduce-load", cgroup_root);
    rmdir(path);
    snprintf(path, sizeof path, "%s/reproduce-probe", cgroup_root);
    rmdir(path);
}

/* ---- readings ---- */

struct reading {
    u64 some_us, allocstall, compact_stall, pgscan_direct;
    int has_psi;
};

/* A pressure file is read twice an iteration and never in between: each read drops what a CPU has
   done for less than a jiffy. */
static void read_psi(struct reading* reading) {
    char path[128] = "/proc/pressure/memory";
    char text[512];
    if (cgroup_root[0] != 0)
        snprintf(path, sizeof path, "%s/reproduce-probe/memory.pressure", cgroup_root);
    const char* total = slurp(path, text, sizeof text) > 0 ? strstr(text, "total=") : NULL;
    reading->has_psi = total != NULL;
    reading->some_us = total != NULL ? strtoull(total + 6, NULL, 10) : 0;
}

static void read_vmstat(struct reading* reading) {
    static char text[65536];
    spit("/proc/sys/vm/stat_refresh", "1");
    slurp("/proc/vmstat", text, sizeof text);
    reading->allocstall = sum_of(text, "allocstall_");
    reading->compact_stall = sum_of(text, "compact_stall");
    reading->pgscan_direct = sum_of(text, "pgscan_direct");
}

/* ---- settings, put back at the end ---- */

struct setting {
    const char *path, *value;
};
static const struct setting settings[] = {SETTINGS {NULL, NULL}};
static char settings_before[sizeof settings / sizeof *settings][256];

static void apply_settings(void) {
    for (size_t i = 0; settings[i].path != NULL; ++i) {
        char* before = settings_before[i];
        slurp(settings[i].path, before, sizeof settings_before[i]);
        /* A choice is shown as "always [madvise] never". */
        char* open_mark = strchr(before, '[');
        char* close_mark = open_mark != NULL ? strchr(open_mark, ']') : NULL;
        if (close_mark != NULL) {
            *close_mark = 0;
            memmove(before, open_mark + 1, strlen(open_mark + 1) + 1);
        }
        before[strcspn(before, "\n")] = 0;
        if (spit(settings[i].path, settings[i].value) == 0) continue;
        printf("%s doesn't take '%s' here: %s\n", settings[i].path, settings[i].value,
               strerror(errno));
        before[0] = 0;
    }
}

static void restore_settings(void) {
    for (size_t i = 0; settings[i].path != NULL; ++i) {
        if (settings_before[i][0] != 0) spit(settings[i].path, settings_before[i]);
    }
}
