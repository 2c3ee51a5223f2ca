/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- the experiment ---- */

static const struct {
    const char *name, *event, *filter;
} counters[] = {COUNTERS {NULL, NULL, NULL}};
#define COUNTER_COUNT (sizeof counters / sizeof *counters - 1)
static int counter_fds[COUNTER_COUNT + 1][1024];

/* One counter a CPU for each tracepoint and filter. */
static void open_counters(void) {
    for (size_t i = 0; i < COUNTER_COUNT; ++i) {
        char path[256];
        char id[32];
        struct perf_event_attr attr = {0};
        for (int cpu = 0; cpu < 1024; ++cpu)
            counter_fds[i][cpu] = -1;
        mkdir("/sys/kernel/tracing", 0755);
        mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
        snprintf(path, sizeof path, "/sys/kernel/tracing/events/%s/id", counters[i].event);
        if (slurp(path, id, sizeof id) == 0) {
            printf("%s: no tracepoint %s here\n", counters[i].name, counters[i].event);
            continue;
        }
        attr.type = PERF_TYPE_TRACEPOINT;
        attr.size = sizeof attr;
        attr.config = strtoull(id, NULL, 10);
        for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && cpu < 1024; ++cpu) {
            const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
            if (fd >= 0 && counters[i].filter[0] != 0)
                ioctl(fd, PERF_EVENT_IOC_SET_FILTER, counters[i].filter);
            counter_fds[i][cpu] = fd;
        }
    }
}

static u64 read_counter(size_t i) {
    u64 sum = 0;
    for (int cpu = 0; cpu < 1024; ++cpu) {
        u64 value = 0;
        if (counter_fds[i][cpu] < 0) continue;
        if (read(counter_fds[i][cpu], &value, sizeof value) == sizeof value) sum += value;
    }
    return sum;
}

/* One iteration: the probe in a cgroup of its own, with a reading on either side. */
static void iterate(int number, struct reading* totals, u64* counted) {
    struct reading before, after;
    u64 counts[COUNTER_COUNT + 1];
    int go[2];
    if (pipe(go) != 0) die("pipe");
    memset(shared, 0, sizeof *shared);
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        char byte;
        close(go[1]);
        join("probe");
        random_state += (u64)number * 104729;
        if (read(go[0], &byte, 1) != 1) _exit(1);
        for (int i = 1; i < PROBE_WORKERS; ++i) {
            random_state += (u64)i * 15485863;
            if (fork() == 0) break;
        }
        probe();
        int failed = 0;
        int status = 0;
        while (wait(&status) > 0)
            failed |= status;
        _exit(failed != 0);
    }
    close(go[0]);
    sleep_ns(GAP);
    for (size_t i = 0; i < COUNTER_COUNT; ++i)
        counts[i] = read_counter(i);
    read_vmstat(&before);
    read_psi(&before);
    if (write(go[1], "g", 1) != 1) die("write");
    close(go[1]);
    int status = 0;
    waitpid(child, &status, 0);
    read_psi(&after);
    read_vmstat(&after);
    if (status != 0) printf("the probe ended with status 0x%x\n", status);
    printf("%3d  ", number + 1);
    if (before.has_psi && after.has_psi)
        printf("%12llu", after.some_us - before.some_us);
    else
        printf("%12s", "unknown");
    printf("%12llu%14llu%14llu%8llu", after.allocstall - before.allocstall,
           after.compact_stall - before.compact_stall, after.pgscan_direct - before.pgscan_direct,
           shared->ops);
    printf("%12.1f%12.1f\n", (double)shared->sum_ns / 1e3, (double)shared->max_ns / 1e3);
    totals->some_us += after.some_us - before.some_us;
    totals->allocstall += after.allocstall - before.allocstall;
    totals->compact_stall += after.compact_stall - before.compact_stall;
    totals->pgscan_direct += after.pgscan_direct - before.pgscan_direct;
    for (size_t i = 0; i < COUNTER_COUNT; ++i)
        counted[i] += read_counter(i) - counts[i];
}

int main(int count, char** words) {
    struct reading totals = {0};
    u64 counted[COUNTER_COUNT + 1] = {0};
    if (count != 2 || strcmp(words[1], "--yes-this-machine") != 0) {
        printf("%s\n\nIt takes memory away from this whole machine and changes the settings below "
               "while it runs.\nIn a virtual machine, or on one that nobody needs, as root:  %s "
               "--yes-this-machine\n\n",
               TITLE, words[0]);
        for (size_t i = 0; settings[i].path != NULL; ++i)
            printf("  %s = %s\n", settings[i].path, settings[i].value);
        return 1;
    }
    if (geteuid() != 0) {
        fprintf(stderr, "this needs root\n");
        return 2;
    }
    page_size = (u64)sysconf(_SC_PAGESIZE);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) die("mmap");
    printf("%s\n", TITLE);
    make_cgroups();
    apply_settings();
    open_counters();
    pressure_start();
    printf(" nr  psi some, us  allocstall compact_stall pgscan_direct     ops   total, us     max, us\n");
    for (int i = 0; i < ITERATIONS; ++i)
        iterate(i, &totals, counted);
    printf("sum  %12llu%12llu%14llu%14llu\n", totals.some_us, totals.allocstall,
           totals.compact_stall, totals.pgscan_direct);
    for (size_t i = 0; i < COUNTER_COUNT; ++i)
        printf("%s: %llu\n", counters[i].name, counted[i]);
    pressure_check();
    pressure_stop();
    restore_settings();
    remove_cgroups();
    return 0;
}
