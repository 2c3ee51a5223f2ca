/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- pressure: processes that make short-lived processes all the time ---- */

static void churn_for_ever(int ready) {
    if (write(ready, "x", 1) != 1) _exit(1);
    close(ready);
    while (1) {
        churn_once(PRESSURE_THREADS);
        sleep_ns(PRESSURE_BURST);
    }
}

static void pressure_start(void) {
    if (start_workers(churn_for_ever) < PRESSURE_WORKERS) die("a process that churns");
    printf("%d processes make short-lived processes of %d threads\n", PRESSURE_WORKERS,
           PRESSURE_THREADS);
}
static void pressure_check(void) {}
