// SPDX-License-Identifier: GPL-2.0-or-later
// The least that a user space can be: one byte to the console, then nothing. What bench/boot races
// the agent against. No C library, so that nothing but the kernel's own boot is measured.
static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

void _start(void) {
    enum { kWrite = 1, kOpen = 2, kPause = 34, kMknod = 133, kReadWrite = 2 };
    // A byte that no kernel message has.
    static const char mark = (char)0xfe;
    if (call(kWrite, 1, (long)&mark, 1) != 1) {
        // Without a console in the initramfs: ttyS0 is character device 4:64.
        call(kMknod, (long)"/tty", 0020600, 4 << 8 | 64);
        call(kWrite, call(kOpen, (long)"/tty", kReadWrite, 0), (long)&mark, 1);
    }
    for (;;)
        call(kPause, 0, 0, 0);
}
