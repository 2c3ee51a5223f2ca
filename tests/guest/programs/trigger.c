// SPDX-License-Identifier: GPL-2.0-or-later
// trigger LETTER: asks the kernel for a SysRq action ("c": an oops, and so a panic).
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char** words) {
    const int fd = open("/proc/sysrq-trigger", O_WRONLY);
    if (count != 2 || fd < 0 || write(fd, words[1], 1) != 1) {
        perror("/proc/sysrq-trigger");
        return 2;
    }
    return 0;
}
