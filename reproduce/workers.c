/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- the processes of a pressure ---- */

static pid_t workers[PRESSURE_WORKERS];

/* Each runs `work` for ever, in the load's cgroup and a process group of its own, and writes a byte
   to `ready` when it is up. Returns how many came up. */
static int start_workers(void (*work)(int ready)) {
    int ready[2];
    int up = 0;
    char byte;
    if (pipe(ready) != 0) die("pipe");
    for (int i = 0; i < PRESSURE_WORKERS; ++i) {
        workers[i] = fork();
        if (workers[i] < 0) die("fork");
        if (workers[i] != 0) continue;
        close(ready[0]);
        setpgid(0, 0);
        random_state += (u64)i * 7919;
        join("load");
        work(ready[1]);
        _exit(1);
    }
    close(ready[1]);
    while (up < PRESSURE_WORKERS && read(ready[0], &byte, 1) == 1)
        ++up;
    close(ready[0]);
    return up;
}

/* The groups: a worker's own children end with it. */
static void pressure_stop(void) {
    for (int i = 0; i < PRESSURE_WORKERS; ++i) {
        if (workers[i] <= 0) continue;
        kill(-workers[i], SIGKILL);
        kill(workers[i], SIGKILL);
        waitpid(workers[i], NULL, 0);
        workers[i] = 0;
    }
}
