/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- probe: perf AUX areas, one for each online CPU; tracing stays off ---- */

struct area {
    int fd;
    char *data, *aux;
};

static unsigned pmu_type(void) {
    char text[32];
    if (slurp("/sys/bus/event_source/devices/" PROBE_PMU "/type", text, sizeof text) == 0) {
        fprintf(stderr,
                "no PMU " PROBE_PMU " here: load its module, or #define PROBE_PMU to another one "
                "with an AUX area\n");
        die("/sys/bus/event_source/devices/" PROBE_PMU "/type");
    }
    return (unsigned)strtoul(text, NULL, 10);
}

static void map_area(struct area* area, unsigned type, int cpu) {
    const u64 data_bytes = (PROBE_DATA_PAGES + 1) * page_size;
    struct perf_event_attr attr = {0};
    attr.type = type;
    attr.size = sizeof attr;
    attr.disabled = 1;
    attr.aux_watermark = PROBE_WATERMARK;
    area->aux = MAP_FAILED;
    area->data = MAP_FAILED;
    area->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (area->fd < 0) return; /* a CPU that is offline */
    area->data = mmap(NULL, data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, area->fd, 0);
    if (area->data == MAP_FAILED) die("mmap of an event's ring buffer");
    struct perf_event_mmap_page* head = (void*)area->data;
    head->aux_offset = data_bytes;
    head->aux_size = PROBE_SIZE;
    tell(&shared->asked, 1);
    const u64 start = now_ns();
    area->aux = mmap(NULL, PROBE_SIZE, PROT_READ | (PROBE_OVERWRITE ? 0 : PROT_WRITE), MAP_SHARED,
                     area->fd, (off_t)data_bytes);
    timed(now_ns() - start);
    tell(&shared->ops, area->aux != MAP_FAILED);
}

static void probe(void) {
    static struct area areas[1024];
    const unsigned type = pmu_type();
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int round = 0; round < PROBE_ROUNDS; ++round) {
        for (int cpu = 0; cpu < cpus && cpu < 1024; ++cpu)
            map_area(&areas[cpu], type, cpu);
        for (int cpu = 0; cpu < cpus && cpu < 1024; ++cpu) {
            if (areas[cpu].aux != MAP_FAILED) munmap(areas[cpu].aux, PROBE_SIZE);
            if (areas[cpu].data != MAP_FAILED)
                munmap(areas[cpu].data, (PROBE_DATA_PAGES + 1) * page_size);
            if (areas[cpu].fd >= 0) close(areas[cpu].fd);
        }
    }
}
