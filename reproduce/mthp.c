/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- probe: first touches of memory, folio by folio, each timed ---- */

static void touch_once(void) {
    const u64 align = 2 << 20;
    const u64 folios = PROBE_SIZE / PROBE_FOLIO;
    char* base = mmap(NULL, PROBE_SIZE + align, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    u64* order = calloc(folios, sizeof *order);
    if (base == MAP_FAILED || order == NULL) die("mmap");
    char* memory = base + (align - (uintptr_t)base % align) % align;
    if (madvise(memory, PROBE_SIZE, MADV_HUGEPAGE) != 0) die("MADV_HUGEPAGE");
    for (u64 i = 0; i < folios; ++i)
        order[i] = i;
    for (u64 i = folios; i > 1; --i) {
        const u64 pick = random_below(i);
        const u64 keep = order[i - 1];
        order[i - 1] = order[pick];
        order[pick] = keep;
    }
    for (u64 i = 0; i < folios; ++i) {
        volatile char* at = memory + order[i] * PROBE_FOLIO;
        const u64 start = now_ns();
        for (u64 offset = 0; offset < PROBE_FOLIO; offset += page_size)
            at[offset] = 1;
        tell(&shared->ops, 1);
        timed(now_ns() - start);
    }
    free(order);
    munmap(base, PROBE_SIZE + align);
}

static void probe(void) {
    const u64 start = now_ns();
    do
        touch_once();
    while (now_ns() - start < PROBE_DURATION);
}
