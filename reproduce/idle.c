/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- probe: waits ---- */

static void probe(void) {
    sleep_ns(PROBE_DURATION);
}
