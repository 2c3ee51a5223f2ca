/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock's shared object inside this program, as the agent's file is. */
    .section .rodata
    .balign 16
    .globl mano_still_start
mano_still_start:
    .incbin MANO_STILL_FILE
    .globl mano_still_end
mano_still_end:
    .byte 0
    .section .note.GNU-stack,"",@progbits
