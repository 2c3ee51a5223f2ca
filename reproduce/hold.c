/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- pressure: processes that fill memory, give pieces of it back, and hold the rest ---- */

static u64 demand_bytes;

static u64 meminfo(const char* key) {
    static char text[8192];
    slurp("/proc/meminfo", text, sizeof text);
    return sum_of(text, key) * 1024;
}

/* Part of each page random, the rest one repeated byte: swap may be compressed memory. */
static void fill_page(char* at) {
    const u64 random_bytes = page_size * (1000000 - PRESSURE_COMPRESSIBLE) / 1000000 / 8 * 8;
    for (u64 i = 0; i < random_bytes; i += 8) {
        const u64 word = random_below(~0ULL);
        memcpy(at + i, &word, 8);
    }
    memset(at + random_bytes, (int)(1 + random_below(255)), page_size - random_bytes);
}

static void hold_memory(int ready) {
    const u64 huge = 2 << 20;
    const u64 owned = demand_bytes / PRESSURE_WORKERS / page_size * page_size;
    const u64 mapped =
        (u64)((double)owned / (1.0 - PRESSURE_PUNCH / 1e6)) / page_size * page_size;
    spit("/proc/self/oom_score_adj", "1000"); /* the first to go */
    char* base = mmap(NULL, mapped + huge, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) _exit(1);
    char* memory = base + (huge - (uintptr_t)base % huge) % huge;
    madvise(memory, mapped, PRESSURE_FOLIO > page_size ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (u64 at = 0; at < mapped; at += huge) {
        const u64 size = mapped - at < huge ? mapped - at : huge;
        madvise(memory + at, size, MADV_POPULATE_WRITE); /* else the writes fault */
        for (u64 page = 0; page < size; page += page_size)
            fill_page(memory + at + page);
    }
    /* Exactly the wanted number of chunks, drawn (Knuth, algorithm S). */
    u64 chunks = mapped / PRESSURE_PUNCH_CHUNK;
    u64 release = (mapped - owned + PRESSURE_PUNCH_CHUNK / 2) / PRESSURE_PUNCH_CHUNK;
    for (u64 i = 0; release > 0 && i < chunks; ++i) {
        if (random_below(chunks - i) >= release) continue;
        madvise(memory + i * PRESSURE_PUNCH_CHUNK, PRESSURE_PUNCH_CHUNK, MADV_DONTNEED);
        --release;
    }
    if (write(ready, "x", 1) != 1) _exit(1);
    close(ready);
    while (1)
        pause();
}

/* Resident and swapped, of all holders. */
static void pressure_check(void) {
    u64 resident = 0;
    u64 swapped = 0;
    for (int i = 0; i < PRESSURE_WORKERS; ++i) {
        char path[64];
        static char text[8192];
        snprintf(path, sizeof path, "/proc/%d/status", (int)workers[i]);
        if (slurp(path, text, sizeof text) == 0) continue;
        resident += sum_of(text, "RssAnon") * 1024;
        swapped += sum_of(text, "VmSwap") * 1024;
    }
    printf("held: %llu MiB resident + %llu MiB swapped = %.1f %% of the demand\n", resident >> 20,
           swapped >> 20, 100.0 * (double)(resident + swapped) / (double)demand_bytes);
}

static void pressure_start(void) {
    const u64 available = meminfo("MemAvailable");
    demand_bytes = (u64)((double)available * PRESSURE_DEMAND / 1e6);
    printf("demand: %llu of %llu MiB available, by %d processes\n", demand_bytes >> 20,
           available >> 20, PRESSURE_WORKERS);
    if (PRESSURE_DEMAND >= 950000 && meminfo("SwapFree") == 0) {
        errno = ENOSPC;
        die("from 95 % on this needs swap (zram will do)");
    }
    if (start_workers(hold_memory) < PRESSURE_WORKERS) {
        errno = ENOMEM;
        die("a process that holds memory was killed");
    }
    sleep_ns(PRESSURE_SETTLE);
    pressure_check();
}
