/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- pressure: processes that write memory and have it paged out, over and over ---- */

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static void page_out_for_ever(int ready) {
    const u64 bytes = PRESSURE_SIZE / page_size * page_size;
    spit("/proc/self/oom_score_adj", "1000"); /* the first to go */
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(1);
    for (int first = 1;; first = 0) {
        /* Half of each page is noise: swap may be compressed memory. */
        for (u64 at = 0; at < bytes; at += page_size) {
            for (u64 i = 0; i < page_size / 2; i += 8) {
                const u64 word = random_below(~0ULL);
                memcpy(memory + at + i, &word, 8);
            }
        }
        if (madvise(memory, bytes, MADV_PAGEOUT) != 0) _exit(1);
        if (first && write(ready, "x", 1) != 1) _exit(1);
        if (first) close(ready);
        if (PRESSURE_PAUSE > 0) sleep_ns(PRESSURE_PAUSE / 2 + random_below(PRESSURE_PAUSE));
    }
}

static void pressure_check(void) {
    int alive = 0;
    for (int i = 0; i < PRESSURE_WORKERS; ++i)
        alive += workers[i] > 0 && waitpid(workers[i], NULL, WNOHANG) == 0;
    printf("%d of %d processes page out %llu MiB each\n", alive, PRESSURE_WORKERS,
           (u64)PRESSURE_SIZE >> 20);
}

static void pressure_start(void) {
    if (start_workers(page_out_for_ever) < PRESSURE_WORKERS) {
        errno = EINVAL;
        die("a process couldn't page its memory out (MADV_PAGEOUT needs Linux 5.4 and swap)");
    }
    pressure_check();
}
