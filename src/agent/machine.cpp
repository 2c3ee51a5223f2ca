// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "agent/agent.h"

namespace mano::agent {
namespace {

using measure::Ending;

bool precondition(Agent& agent, std::string_view text) {
    end_trial(agent, Ending::precondition_missing, text);
    return false;
}

}  // namespace

void online_cpus(CpuSet& cpus) {
    cpus.size = 0;
    char buffer[1024];
    const SmallFile file = read_small("/sys/devices/system/cpu/online", buffer);
    std::uint32_t first = 0;
    std::uint32_t number = 0;
    bool range = false;
    auto close_range = [&] {
        for (std::uint32_t id = range ? first : number; id <= number; ++id) {
            if (cpus.size < kMaxCpus) cpus.ids[cpus.size++] = static_cast<std::uint16_t>(id);
        }
        range = false;
        number = 0;
    };
    for (const char c : file.text) {
        if (c >= '0' && c <= '9') number = number * 10 + static_cast<std::uint32_t>(c - '0');
        if (c == '-') {
            first = number;
            number = 0;
            range = true;
        }
        if (c == ',') close_range();
    }
    if (!file.text.empty()) close_range();
    if (cpus.size == 0) cpus.ids[cpus.size++] = 0;
}

void mount_filesystems() {
    struct Mount {
        const char* type;
        const char* path;
    };
    // debugfs is there for the PREEMPT model only; a kernel without it is fine.
    static constexpr Mount kMounts[] = {
        {"proc", "/proc"},        {"sysfs", "/sys"},         {"devtmpfs", "/dev"},
        {"cgroup2", MANO_CGROUP}, {"tracefs", MANO_TRACEFS}, {"debugfs", "/sys/kernel/debug"},
        {"tmpfs", "/tmp"},
    };
    for (const Mount& mount : kMounts) {
        ::mkdir(mount.path, 0755);
        ::mount(mount.type, mount.path, mount.type, 0, nullptr);
    }
}

void listen_to_console() {
    [[maybe_unused]] const int fd = ::open("/dev/console", O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

std::span<std::byte> map_log() {
    constexpr const char* kDevices = "/sys/bus/pci/devices";
    DIR* devices = ::opendir(kDevices);
    if (devices == nullptr) return {};
    std::span<std::byte> memory;
    while (const dirent* device = ::readdir(devices)) {
        const Path folder(kDevices, "/", std::string_view(device->d_name));
        char vendor[16];
        char kind[16];
        if (read_small(Path(folder.view(), "/vendor").c_str(), vendor).text != "0x1af4" ||
            read_small(Path(folder.view(), "/device").c_str(), kind).text != "0x1110") {
            continue;
        }
        write_small(Path(folder.view(), "/enable").c_str(), "1");
        // Write-combined where the BAR is prefetchable: a record then costs stores, not exits.
        int fd = ::open(Path(folder.view(), "/resource2_wc").c_str(), O_RDWR | O_CLOEXEC);
        if (fd < 0) fd = ::open(Path(folder.view(), "/resource2").c_str(), O_RDWR | O_CLOEXEC);
        struct stat status = {};
        if (fd < 0 || ::fstat(fd, &status) != 0) continue;
        const auto size = static_cast<std::size_t>(status.st_size);
        void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (mapped != MAP_FAILED) memory = {static_cast<std::byte*>(mapped), size};
    }
    ::closedir(devices);
    return memory;
}

bool start_cpus(Agent& agent) {
    for (std::uint32_t i = 1; i <= agent.plan.spare_cpus; ++i) {
        const Path path("/sys/devices/system/cpu/cpu", 2 * std::uint64_t{i}, "/online");
        const int error = write_small(path.c_str(), "1");
        if (error != 0) {
            return precondition(
                agent, Text<128>("CPU ", 2 * std::uint64_t{i},
                                 " couldn't be brought online: ", errno_name(error).view()));
        }
    }
    return true;
}

bool load_modules(Agent& agent) {
    for (const std::string_view name : agent.plan.modules) {
        const Path path("/modules/", name);
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        const long done = fd < 0 ? -1 : ::syscall(SYS_finit_module, fd, "", 0);
        const int error = errno;
        if (fd >= 0) ::close(fd);
        ::unlink(path.c_str());  // initramfs files are guest memory
        if (done != 0 && error != EEXIST) {
            return precondition(
                agent,
                Text<256>("module ", name, " could not be loaded: ", errno_name(error).view()));
        }
    }
    return true;
}

bool apply_settings(Agent& agent) {
    for (const plan::SettingView& setting : agent.plan.settings) {
        const Path path(setting.path);
        const int error = write_small(path.c_str(), setting.value);
        if (error == 0) continue;
        if (setting.required) {
            Text<512> text("this kernel has no ", setting.path, " that takes '", setting.value,
                           "' (", errno_name(error).view(), ")");
            if (setting.path.find("hugepages-") != std::string_view::npos) {
                text.add(": it has no mTHP of that size (6.8 or newer, not PREEMPT_RT, has). ");
                text.add("Use a newer kernel, or --set with a folio of 0 for base pages");
            } else if (setting.path.find("transparent_hugepage") != std::string_view::npos) {
                text.add(": it is built without THP (PREEMPT_RT kernels are)");
            }
            return precondition(agent, text);
        }
        agent.log.loss(setting.path, 1,
                       Text<128>("a setting could not be made: ", errno_name(error).view()));
    }
    return true;
}

namespace {

// The header of a swap area, version 1 (include/linux/swap.h, union swap_header): version, last
// page, number of bad pages at byte 1024, and the signature at the end of the first page.
bool write_swap_header(const char* path, std::uint64_t bytes, std::uint64_t page) {
    static char first[65536] = {};
    if (page > sizeof first) return false;
    const std::uint32_t info[3] = {1, static_cast<std::uint32_t>(bytes / page - 1), 0};
    std::memcpy(first + 1024, info, sizeof info);
    std::memcpy(first + page - 10, "SWAPSPACE2", 10);
    const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool done = ::write(fd, first, page) == static_cast<ssize_t>(page);
    ::fsync(fd);
    ::close(fd);
    return done;
}

// devtmpfs makes /dev/zram0; a kernel without it gets the node from sysfs' numbers.
void make_node(const char* path, const char* dev_file) {
    if (::access(path, F_OK) == 0) return;
    char buffer[32];
    const SmallFile dev = read_small(dev_file, buffer);
    bool found = false;
    const std::uint64_t major = number_after(Text<40>("n ", dev.text).view(), "n", found);
    const std::size_t colon = dev.text.find(':');
    if (!found || colon == std::string_view::npos) return;
    const std::uint64_t minor =
        number_after(Text<40>("n ", dev.text.substr(colon + 1)).view(), "n", found);
    ::mknod(path, S_IFBLK | 0600,
            makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor)));
}

}  // namespace

bool start_swap(Agent& agent) {
    const std::uint64_t bytes = agent.plan.zram_bytes;
    if (bytes == 0) return true;
    constexpr const char* kZram = "/dev/zram0";
    const std::string_view compressor = agent.plan.zram_compressor;
    if (::access("/sys/block/zram0", F_OK) != 0) {
        return precondition(agent,
                            "no zram in this kernel: the module isn't there or made no device");
    }
    if (!compressor.empty()) {
        const int error = write_small("/sys/block/zram0/comp_algorithm", compressor);
        if (error != 0) {
            char buffer[256];
            const SmallFile known = read_small("/sys/block/zram0/comp_algorithm", buffer);
            return precondition(agent,
                                Text<512>("zram refuses the compressor '", compressor, "' (",
                                          errno_name(error).view(), "); it has: ", known.text));
        }
    }
    const Text<24> size(bytes);
    const int error = write_small("/sys/block/zram0/disksize", size);
    if (error != 0) {
        return precondition(agent,
                            Text<128>("zram of ", bytes, " bytes: ", errno_name(error).view()));
    }
    make_node(kZram, "/sys/block/zram0/dev");
    if (!write_swap_header(kZram, bytes, agent.page_bytes) || ::swapon(kZram, 0) != 0) {
        return precondition(agent, Text<128>("swapon /dev/zram0: ", errno_name(errno).view()));
    }
    return true;
}

bool make_cgroups(Agent& agent) {
    // Controllers that are missing are absent from the readings; only the folders are needed.
    for (const char* controller : {"+memory", "+cpu", "+io"}) {
        write_small(MANO_CGROUP "/cgroup.subtree_control", controller);
    }
    for (const char* name : {"control", "load", "probe"}) {
        const Path path(MANO_CGROUP "/", std::string_view(name));
        if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
            return precondition(
                agent,
                Text<128>("cgroup v2 isn't usable here (mkdir: ", errno_name(errno).view(), ")"));
        }
    }
    write_small(MANO_CGROUP "/control/cgroup.procs", "0");
    open_cgroups(agent);
    return true;
}

Path group_file(const Path& folder, std::string_view group, std::string_view file) {
    return folder.empty() ? Path() : Path(folder.view(), "/", group, "/", file);
}

void open_cgroups(Agent& agent) {
    const auto open_for = [&](Crew& crew, std::string_view group) {
        const Path* folders[] = {&agent.place.v2, &agent.place.memory};
        for (std::size_t i = 0; i < std::size(folders); ++i) {
            // One hierarchy for everything is joined once.
            if (i > 0 && folders[i]->view() == folders[0]->view()) continue;
            const Path path = group_file(*folders[i], group, "cgroup.procs");
            if (!path.empty()) crew.cgroup_fds[i] = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        }
    };
    open_for(agent.pressure, "load");
    open_for(agent.probe, "probe");
}

void power_off() {
    ::reboot(RB_POWER_OFF);
    while (true)
        ::pause();
}

}  // namespace mano::agent
