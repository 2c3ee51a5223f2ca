/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- pressure: processes that make short-lived processes all the time ---- */

static pid_t churners[PRESSURE_WORKERS];

static void pressure_start(void) {
    for (int i = 0; i < PRESSURE_WORKERS; ++i) {
        churners[i] = fork();
        if (churners[i] < 0) die("fork");
        if (churners[i] != 0) continue;
        setpgid(0, 0);
        join("load");
        while (1) {
            churn_once(PRESSURE_THREADS);
            sleep_ns(PRESSURE_BURST);
        }
    }
    printf("%d processes make short-lived processes of %d threads\n", PRESSURE_WORKERS,
           PRESSURE_THREADS);
}
static void pressure_check(void) {}
static void pressure_stop(void) {
    for (int i = 0; i < PRESSURE_WORKERS; ++i) {
        if (churners[i] <= 0) continue;
        kill(-churners[i], SIGKILL);
        kill(churners[i], SIGKILL);
        waitpid(churners[i], NULL, 0);
        churners[i] = 0;
    }
}
