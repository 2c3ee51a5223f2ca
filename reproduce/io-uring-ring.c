/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- probe: io_uring's queues; nothing is ever submitted ---- */

#include <linux/io_uring.h>

#ifndef IORING_SETUP_SQE128
#define IORING_SETUP_SQE128 (1U << 10)
#endif

static void probe(void) {
    static int rings[PROBE_RINGS];
    for (int round = 0; round < PROBE_ROUNDS; ++round) {
        for (int i = 0; i < PROBE_RINGS; ++i) {
            struct io_uring_params wanted = {0};
            if (PROBE_SQE128) wanted.flags = IORING_SETUP_SQE128;
            tell(&shared->asked, 1);
            const u64 start = now_ns();
            rings[i] = (int)syscall(SYS_io_uring_setup, PROBE_ENTRIES, &wanted);
            timed(now_ns() - start);
            if (rings[i] < 0 && errno != ENOMEM) die("io_uring_setup");
            tell(&shared->ops, rings[i] >= 0);
        }
        for (int i = 0; i < PROBE_RINGS; ++i)
            if (rings[i] >= 0) close(rings[i]);
    }
}
