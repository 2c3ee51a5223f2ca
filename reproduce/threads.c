/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- a short-lived process whose threads are alive all at once, and end together ---- */

static char stacks[64][16384] __attribute__((aligned(64)));

static int thread_main(void* gate) {
    while (__atomic_load_n((int*)gate, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    return 0;
}

/* A thread here is a process that shares memory: it has a kernel stack like any other. */
__attribute__((unused)) static void churn_once(int threads) {
    const pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        static int gate;
        pid_t made[64];
        int count = 0;
        for (; count < threads && count < 64; ++count) {
            made[count] = clone(thread_main, stacks[count] + sizeof stacks[count],
                                CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, &gate);
            if (made[count] < 0) break;
        }
        __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
        for (int i = 0; i < count; ++i)
            waitpid(made[i], NULL, 0);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
