// SPDX-License-Identifier: GPL-2.0-or-later
// drain NAME KIB: unmaps so much of the largest mapping of each process of the cgroup NAME, as the
// process itself would, so that it owns less than it believes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

static unsigned long largest_mapping(int pid) {
    char path[64];
    char line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE* file = fopen(path, "r");
    if (file == NULL) return 0;
    unsigned long best = 0;
    unsigned long best_size = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long from = 0;
        unsigned long to = 0;
        if (sscanf(line, "%lx-%lx rw-p", &from, &to) != 2 || to - from <= best_size) continue;
        best = from;
        best_size = to - from;
    }
    fclose(file);
    return best;
}

// The process waits in a system call: its next instruction is the one behind a `syscall`. From 4 MiB
// on everything is filled, however the memory was aligned.
static int drain(int pid, unsigned long kib) {
    const unsigned long from = largest_mapping(pid) + (4UL << 20);
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0 ||
        waitpid(pid, NULL, __WALL) != pid) {
        perror("ptrace");
        return 1;
    }
    struct user_regs_struct saved;
    if (ptrace(PTRACE_GETREGS, pid, 0, &saved) != 0) return 1;
    struct user_regs_struct call = saved;
    call.rip -= 2;
    call.rax = SYS_munmap;
    call.orig_rax = (unsigned long)-1;
    call.rdi = from;
    call.rsi = kib << 10;
    if (ptrace(PTRACE_SETREGS, pid, 0, &call) != 0 || ptrace(PTRACE_SINGLESTEP, pid, 0, 0) != 0 ||
        waitpid(pid, NULL, __WALL) != pid || ptrace(PTRACE_GETREGS, pid, 0, &call) != 0) {
        perror("ptrace");
        return 1;
    }
    const int failed = call.rax != 0;
    if (failed) fprintf(stderr, "munmap in process %d: %ld\n", pid, (long)call.rax);
    ptrace(PTRACE_SETREGS, pid, 0, &saved);
    ptrace(PTRACE_DETACH, pid, 0, 0);
    return failed;
}

int main(int count, char** words) {
    if (count != 3) return 2;
    char path[128];
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/cgroup.procs", words[1]);
    FILE* file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return 3;
    }
    int pid = 0;
    int drained = 0;
    while (fscanf(file, "%d", &pid) == 1) {
        if (drain(pid, strtoul(words[2], NULL, 10)) != 0) return 4;
        ++drained;
    }
    fclose(file);
    return drained > 0 ? 0 : 5;
}
