/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- probe: shared-memory files made, touched and removed between short-lived threads ---- */

static void probe(void) {
    const u64 start = now_ns();
    const u64 pages = PROBE_SIZE / page_size;
    while (now_ns() - start < PROBE_DURATION) {
        const u64 begun = now_ns();
        const int fd = (int)syscall(SYS_memfd_create, "reproduce", 0);
        if (fd < 0 || ftruncate(fd, (off_t)(pages * page_size)) != 0) die("memfd_create");
        volatile char* memory =
            mmap(NULL, pages * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) die("mmap");
        const u64 first = random_below(pages);
        for (u64 i = 0; i < pages; ++i)
            memory[(first + i) % pages * page_size + random_below(page_size)] = 1;
        munmap((void*)memory, pages * page_size);
        close(fd);
        if (PROBE_THREADS > 0) churn_once(PROBE_THREADS);
        tell(&shared->ops, 1);
        timed(now_ns() - begun);
    }
}
