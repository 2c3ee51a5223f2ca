// SPDX-License-Identifier: GPL-2.0-or-later
// `aux`: what `perf record` does before it traces: one event for each online CPU, its ring buffer,
// its AUX area. The events stay disabled and nothing is read or written there; what is measured is
// how the kernel gets the memory (kernel/events/ring_buffer.c, rb_alloc_aux) and gives it back.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/machine.h"
#include "agent/probe/buffers.h"
#include "agent/probe/probe.h"

namespace mano::agent {
namespace {

enum Param : std::size_t {
    kPmu,
    kCapability,
    kSize,
    kDataPages,
    kOverwrite,
    kWatermark,
    kRounds,
    kPrivileged,
    kLinger,
};
enum Step : std::uint32_t { kDrop, kOpen, kMapData, kMapAux };
constexpr const char* kSteps[] = {"giving up its privileges", "perf_event_open of a CPU's event",
                                  "mmap of an event's ring buffer", "mmap of an AUX area"};

constexpr const char* kDevices = "/sys/bus/event_source/devices";
// The module's own device tells which chunks each live area was made of: a line an area, its first
// word the PMU, its last ones the number of chunks of order 0, 1, 2 … (kernel/modules/aux_pmu).
constexpr const char* kChunks = "/dev/aux_pmu";
// By the order of the schema's choices.
constexpr std::string_view kOwn[] = {"aux_pages", "aux_prefer_large", "aux_no_sg", "aux_default"};
constexpr unsigned kNobody = 65534;

struct Area {
    int fd = -1;
    void* data = MAP_FAILED;
    void* aux = MAP_FAILED;
};
Area areas[kMaxCpus];
CpuSet cpus;
std::uint16_t places[kMaxCpus];

struct Task {
    std::string_view pmu;
    std::uint64_t size, data_bytes, watermark;
    bool overwrite = false;
    std::uint32_t type = 0;
    int chunks_fd = -1;
};

std::string_view pmu_name(const plan::LoadView& load) {
    if (!load.text.empty()) return load.text;
    const auto choice = static_cast<std::size_t>(load.value(kCapability));
    return choice < std::size(kOwn) ? kOwn[choice] : kOwn[0];
}

bool read_type(std::string_view pmu, std::uint32_t& type) {
    char buffer[32];
    const SmallFile file = read_small(Path(kDevices, "/", pmu, "/type").c_str(), buffer);
    bool found = false;
    type = static_cast<std::uint32_t>(
        number_after(Text<40>("type ", file.text).view(), "type", found));
    return file.ok && found;
}

// 0, or errno with the step in `step`. Only the AUX area's mmap is timed.
int map_area(const Task& task, unsigned cpu, Area& area, Timed& time, Step& step) {
    perf_event_attr attr = {};
    attr.type = task.type;
    attr.size = sizeof attr;
    attr.disabled = 1;
    attr.aux_watermark = static_cast<std::uint32_t>(task.watermark);
    step = kOpen;
    area.fd =
        static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
    if (area.fd < 0) return errno;
    step = kMapData;
    area.data = ::mmap(nullptr, task.data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, area.fd, 0);
    if (area.data == MAP_FAILED) return errno;
    auto* head = static_cast<perf_event_mmap_page*>(area.data);
    head->aux_offset = task.data_bytes;
    head->aux_size = task.size;
    step = kMapAux;
    // A read-only area is one that the kernel writes over and over (snapshot mode).
    const int protection = task.overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
    const std::uint64_t start = now_ns();
    area.aux = ::mmap(nullptr, task.size, protection, MAP_SHARED, area.fd,
                      static_cast<off_t>(task.data_bytes));
    const int error = area.aux == MAP_FAILED ? errno : 0;
    time.add(now_ns() - start);
    return error;
}

void unmap_area(const Task& task, Area& area, Timed& time) {
    if (area.aux != MAP_FAILED) {
        const std::uint64_t start = now_ns();
        ::munmap(area.aux, task.size);
        time.add(now_ns() - start);
    }
    if (area.data != MAP_FAILED) ::munmap(area.data, task.data_bytes);
    if (area.fd >= 0) ::close(area.fd);
    area = {};
}

// One line of /dev/aux_pmu into the figures, where it is of this PMU; true when it is.
bool add_line(std::string_view line, std::string_view pmu, BufferFigures& figures) {
    constexpr std::string_view kMark = " chunks";
    if (!line.starts_with(pmu) || line.size() <= pmu.size() || line[pmu.size()] != ' ')
        return false;
    const std::size_t at = line.find(kMark);
    if (at == std::string_view::npos) return false;
    std::string_view rest = line.substr(at + kMark.size());
    for (std::size_t order = 0; order < kOrders && !rest.empty(); ++order) {
        std::uint64_t count = 0;
        rest.remove_prefix(1);
        while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
            count = count * 10 + static_cast<std::uint64_t>(rest[0] - '0');
            rest.remove_prefix(1);
        }
        figures.chunks[order] += count;
    }
    return true;
}

// What the areas that are mapped now are made of. A read gives whole lines.
void read_chunks(const Task& task, std::uint64_t mapped, BufferFigures& figures) {
    static char buffer[8192];
    std::uint64_t seen = 0;
    // Its position counts areas, not bytes.
    if (task.chunks_fd >= 0) ::lseek(task.chunks_fd, 0, SEEK_SET);
    while (task.chunks_fd >= 0) {
        const ssize_t got = ::read(task.chunks_fd, buffer, sizeof buffer);
        if (got <= 0) break;
        std::string_view text(buffer, static_cast<std::size_t>(got));
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            if (end == std::string_view::npos) break;
            if (add_line(text.substr(0, end), task.pmu, figures)) ++seen;
            text.remove_prefix(end + 1);
        }
    }
    // Another PMU's areas are in no list.
    if (seen < mapped) figures.chunks_unknown += mapped - seen;
}

void one_round(const Task& task, bool first, WorkerCell& cell, BufferFigures& figures,
               FreeMemory& memory, Rng& rng) {
    draw_order(rng, places, cpus.size);
    std::uint64_t mapped = 0;
    for (std::size_t i = 0; i < cpus.size; ++i) {
        Step step = kOpen;
        ++figures.asked;
        const int error = map_area(task, cpus.ids[places[i]], areas[places[i]], figures.map, step);
        memory.look(figures);
        if (error == 0) {
            ++figures.obtained;
            ++mapped;
            figures.bytes += task.size;
            continue;
        }
        refuse(figures, error);
        cell.error = static_cast<std::uint32_t>(error);
        cell.error_at = step;
    }
    if (first) memory.look(figures, Point::held);
    read_chunks(task, mapped, figures);
    draw_order(rng, places, cpus.size);
    for (std::size_t i = 0; i < cpus.size; ++i)
        unmap_area(task, areas[places[i]], figures.unmap);
}

// As a user without any right. 0 or errno.
int become_nobody() {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
        ::setresuid(kNobody, kNobody, kNobody) != 0) {
        return errno;
    }
    return 0;
}

void add_names(Text<1024>& text) {
    DIR* devices = ::opendir(kDevices);
    if (devices == nullptr) return;
    const char* between = "";
    while (const dirent* device = ::readdir(devices)) {
        if (device->d_name[0] == '.') continue;
        text.add(between).add(std::string_view(device->d_name));
        between = ", ";
    }
    ::closedir(devices);
}

}  // namespace

const char* aux_step(std::uint32_t error_at) {
    return kSteps[error_at];
}

bool aux_check(Agent& agent) {
    const plan::LoadView& load = agent.plan.probe;
    const std::string_view pmu = pmu_name(load);
    std::uint32_t type = 0;
    if (read_type(pmu, type)) return true;
    Text<1024> text("this kernel has no PMU '", pmu, "'");
    if (::access("/proc/sys/kernel/perf_event_paranoid", F_OK) != 0) {
        text.add(": it is built without perf events (CONFIG_PERF_EVENTS)");
    } else if (load.text.empty() && ::access(kChunks, F_OK) != 0) {
        text.add(
            ": Manometer's module aux_pmu isn't loaded. It can be built for kernels that were "
            "built here only: use source:7.3 (or another source: or tree: kernel), and "
            "[guest] modules = [\"aux_pmu\"] in the experiment; or name a PMU with an AUX "
            "area by probe.pmu");
    } else if (load.text.empty()) {
        text.add(
            ": it doesn't know that capability (prefer-large and pages are newer kernels' "
            "choices, older ones always go large). Try --set probe.capability=default");
    }
    text.add(". PMUs here: ");
    add_names(text);
    end_trial(agent, measure::Ending::precondition_missing, text);
    return false;
}

int aux_work(Agent& agent, unsigned index) {
    const plan::LoadView& load = agent.plan.probe;
    WorkerCell& cell = agent.probe.block->workers[index];
    BufferFigures& figures = agent.probe.block->figures;
    Task task;
    task.pmu = pmu_name(load);
    task.size = static_cast<std::uint64_t>(load.value(kSize));
    // A page more: the one that the kernel and the reader share.
    task.data_bytes = (static_cast<std::uint64_t>(load.value(kDataPages)) + 1) * agent.page_bytes;
    task.watermark = static_cast<std::uint64_t>(load.value(kWatermark));
    task.overwrite = load.value(kOverwrite) != 0;
    task.chunks_fd = ::open(kChunks, O_RDONLY | O_CLOEXEC);
    online_cpus(cpus);
    hold_own_memory();
    Rng rng = probe_rng(agent, 6200);
    FreeMemory memory;
    memory.open(agent.page_bytes);
    const int refused = load.value(kPrivileged) != 0 ? 0 : become_nobody();
    if (refused != 0 || !read_type(task.pmu, task.type)) {
        cell.error_at = refused != 0 ? kDrop : kOpen;
        cell.error = static_cast<std::uint32_t>(refused != 0 ? refused : ENOENT);
        return 3;
    }
    cell.ready = 1;
    wait_for_go(*agent.probe.block);
    sleep_ns(rng.below(1'000'000));
    memory.look(figures, Point::before);
    const std::uint64_t start = now_ns();
    const auto rounds = static_cast<std::uint64_t>(load.value(kRounds));
    for (std::uint64_t round = 0; round < rounds && agent.probe.block->stop == 0; ++round)
        one_round(task, round == 0, cell, figures, memory, rng);
    memory.look(figures, Point::after);
    const int done = finish_buffers(agent, cell, start);
    const auto linger = static_cast<std::uint64_t>(load.value(kLinger));
    if (linger > 0) {
        sleep_ns(linger);
        memory.look(figures, Point::later);
    }
    return done;
}

}  // namespace mano::agent
