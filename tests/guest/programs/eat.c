// SPDX-License-Identifier: GPL-2.0-or-later
// eat MIB [OOM_SCORE_ADJ]: takes and touches so much memory, page by page, and ends well. More than
// there is ends by the OOM killer, or, when nothing may be killed, in a panic.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char** words) {
    if (count < 2) return 2;
    if (count > 2) {
        const int fd = open("/proc/self/oom_score_adj", O_WRONLY);
        if (fd < 0 || write(fd, words[2], strlen(words[2])) < 0) {
            perror("oom_score_adj");
            return 3;
        }
        close(fd);
    }
    const size_t bytes = strtoull(words[1], NULL, 10) << 20;
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 4;
    }
    // Every page its own content: neither zeroes nor a repeated byte, which swap would take for
    // free.
    unsigned long state = 88172645463325252UL;
    for (size_t at = 0; at < bytes; at += 4096) {
        for (size_t i = 0; i < 4096; i += sizeof state) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            memcpy(memory + at + i, &state, sizeof state);
        }
    }
    return 0;
}
