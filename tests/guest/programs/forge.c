// SPDX-License-Identifier: GPL-2.0-or-later
// forge WHAT: writes into the record log from inside the guest, as a broken or hostile guest could.
//   end      a length beyond the log's end
//   garbage  bytes that are no record, counted in
//   back     a length smaller than what the host has read
//   version  another version of the log
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Offsets of the log's header (src/wire/format.h), and where its frames begin.
enum { kVersionAt = 8, kCommittedAt = 64, kFramesAt = 4096 };

static int is(const char* folder, const char* file, const char* wanted) {
    char path[320];
    char text[16] = "";
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", folder, file);
    FILE* opened = fopen(path, "r");
    if (opened == NULL) return 0;
    const int got = fscanf(opened, "%15s", text);
    fclose(opened);
    return got == 1 && strcmp(text, wanted) == 0;
}

static char* map_log(size_t* size) {
    DIR* devices = opendir("/sys/bus/pci/devices");
    if (devices == NULL) return NULL;
    const struct dirent* device = NULL;
    while ((device = readdir(devices)) != NULL) {
        if (!is(device->d_name, "vendor", "0x1af4") || !is(device->d_name, "device", "0x1110"))
            continue;
        char path[320];
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/resource2_wc", device->d_name);
        const int fd = open(path, O_RDWR);
        struct stat status;
        if (fd < 0 || fstat(fd, &status) != 0) return NULL;
        *size = (size_t)status.st_size;
        char* memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return memory == MAP_FAILED ? NULL : memory;
    }
    return NULL;
}

int main(int count, char** words) {
    size_t size = 0;
    char* log = map_log(&size);
    if (count != 2 || log == NULL) {
        perror("the record log");
        return 2;
    }
    uint64_t committed = 0;
    memcpy(&committed, log + kCommittedAt, sizeof committed);
    if (strcmp(words[1], "end") == 0) committed = size;
    if (strcmp(words[1], "back") == 0) committed = 8;
    if (strcmp(words[1], "version") == 0) log[kVersionAt] = 99;
    if (strcmp(words[1], "garbage") == 0) {
        memset(log + kFramesAt + committed, 0x5a, 4096);
        committed += 4096;
    }
    memcpy(log + kCommittedAt, &committed, sizeof committed);
    // The host looks every few milliseconds; the agent writes its next record when this has ended.
    sleep(2);
    return 0;
}
