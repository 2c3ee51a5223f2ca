// SPDX-License-Identifier: GPL-2.0-or-later
// slay NAME: sends SIGTERM to every process of the cgroup NAME.
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

int main(int count, char** words) {
    if (count != 2) return 2;
    char path[128];
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/cgroup.procs", words[1]);
    FILE* file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return 3;
    }
    int pid = 0;
    int slain = 0;
    while (fscanf(file, "%d", &pid) == 1)
        slain += kill((pid_t)pid, SIGTERM) == 0;
    fclose(file);
    return slain > 0 ? 0 : 4;
}
