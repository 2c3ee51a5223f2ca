// SPDX-License-Identifier: GPL-2.0-or-later
// eat MIB [OOM_SCORE_ADJ]: takes and touches so much memory, page by page, and ends well. More than
// there is ends by the OOM killer, or in a panic when nothing may be killed (the score is set for
// the parent too: -1000 leaves nobody).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void set(const char* path, const char* text) {
    const int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        perror(path);
        exit(3);
    }
    close(fd);
}

int main(int count, char** words) {
    if (count < 2) return 2;
    if (count > 2) {
        char parent[64];
        snprintf(parent, sizeof parent, "/proc/%d/oom_score_adj", (int)getppid());
        set("/proc/self/oom_score_adj", words[2]);
        set(parent, words[2]);
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
