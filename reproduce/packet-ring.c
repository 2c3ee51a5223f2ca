/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- probe: receive rings of packet sockets; no packet is ever received ---- */

#include <linux/if_packet.h>

struct ring {
    int fd;
    void* memory;
};

static void make_ring(struct ring* ring) {
    const int version = TPACKET_V2;
    const struct tpacket_req wanted = {.tp_block_size = PROBE_BLOCK,
                                       .tp_block_nr = PROBE_SIZE / PROBE_BLOCK,
                                       .tp_frame_size = 2048,
                                       .tp_frame_nr = PROBE_SIZE / 2048};
    ring->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (ring->fd < 0) die("a packet socket");
    if (setsockopt(ring->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0)
        die("TPACKET_V2");
    ring->memory = MAP_FAILED;
    tell(&shared->asked, 1);
    const u64 start = now_ns();
    if (setsockopt(ring->fd, SOL_PACKET, PACKET_RX_RING, &wanted, sizeof wanted) == 0)
        ring->memory = mmap(NULL, PROBE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    timed(now_ns() - start);
    tell(&shared->ops, ring->memory != MAP_FAILED);
}

static void probe(void) {
    static struct ring rings[PROBE_RINGS];
    for (int round = 0; round < PROBE_ROUNDS; ++round) {
        for (int i = 0; i < PROBE_RINGS; ++i)
            make_ring(&rings[i]);
        for (int i = 0; i < PROBE_RINGS; ++i) {
            if (rings[i].memory != MAP_FAILED) munmap(rings[i].memory, PROBE_SIZE);
            close(rings[i].fd);
        }
    }
}
