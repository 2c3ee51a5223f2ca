/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- probe: on each CPU a real-time process that sleeps to absolute times: how late it runs ---- */

static void sleep_on(int cpu) {
    const struct sched_param priority = {.sched_priority = 99};
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) die("sched_setaffinity");
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) die("mlockall");
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) die("SCHED_FIFO");
    const u64 start = now_ns() + random_below(PROBE_INTERVAL);
    u64 due = start;
    for (u64 i = 0; due - start < PROBE_DURATION; ++i) {
        due = start + i * PROBE_INTERVAL;
        const struct timespec at = {(time_t)(due / 1000000000), (long)(due % 1000000000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        }
        const u64 now = now_ns();
        if (i < 8) continue; /* caches and code warm up */
        tell(&shared->ops, 1);
        timed(now > due ? now - due : 0);
        /* Times that went by while it was late are one wake-up, not many. */
        if (now > due + PROBE_INTERVAL) i += (now - due) / PROBE_INTERVAL;
    }
    _exit(0);
}

static void probe(void) {
    cpu_set_t mine;
    int failed = 0;
    int status = 0;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) die("sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET((size_t)cpu, &mine)) continue;
        const pid_t child = fork();
        if (child < 0) die("fork");
        random_state += 15485863;
        if (child == 0) sleep_on(cpu);
    }
    while (wait(&status) > 0)
        failed |= status;
    if (failed != 0) _exit(1);
}
