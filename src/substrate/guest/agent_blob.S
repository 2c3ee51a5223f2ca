/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's file inside this program, so that one file is all that a user needs. */
    .section .rodata
    .balign 16
    .globl mano_agent_start
mano_agent_start:
    .incbin MANO_AGENT_FILE
    .globl mano_agent_end
mano_agent_end:
    .byte 0
    .section .note.GNU-stack,"",@progbits
