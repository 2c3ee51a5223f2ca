/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ---- pressure: none ---- */

static void pressure_start(void) {
    printf("no pressure\n");
}
static void pressure_check(void) {}
static void pressure_stop(void) {}
