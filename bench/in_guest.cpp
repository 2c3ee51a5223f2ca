// SPDX-License-Identifier: GPL-2.0-or-later
// What bench/pressure runs inside its guests; static, prints its figures on the console.
//   in_guest watch SECONDS              watches the level that the agent's pressure holds
//   in_guest watch SECONDS PCT WORD…    starts a program that shall hold PCT % of MemAvailable
//   ("{}"
//                                       in its words is that many KiB with a k), then watches it
//   in_guest fill WAY WORKERS PCT       fills PCT % of MemAvailable: "batch" as hold does, "whole"
//   by
//                                       one MADV_POPULATE_WRITE and then the filling, "touch" by a
//                                       fault a page. With a fourth word: to the standard output
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "agent/machine.h"
#include "agent/pressure/fill.h"
#include "agent/sys.h"

namespace {

using mano::agent::now_ns;
using mano::agent::number_after;
using mano::agent::read_small;

constexpr const char* kConsole = "/dev/console";
constexpr const char* kLoad = MANO_CGROUP "/load/";

std::uint64_t number_in(const char* path, std::string_view key) {
    static char buffer[16384];
    bool found = false;
    return number_after(read_small(path, buffer).text, key, found);
}

// Resident and swapped private memory of all processes of the load, as `hold` defines its level.
std::uint64_t level_bytes() {
    static char pids[16384];
    const mano::agent::Path path{std::string_view(kLoad), "cgroup.procs"};
    std::string_view rest = read_small(path.c_str(), pids).text;
    std::uint64_t kib = 0;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const mano::agent::Path status("/proc/", rest.substr(0, end), "/status");
        kib += number_in(status.c_str(), "RssAnon") + number_in(status.c_str(), "VmSwap");
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return kib << 10;
}

std::uint64_t load_cpu_us() {
    const mano::agent::Path path{std::string_view(kLoad), "cpu.stat"};
    return number_in(path.c_str(), "usage_usec");
}

void write_load(const char* file, std::string_view text) {
    const mano::agent::Path path{std::string_view(kLoad), std::string_view(file)};
    mano::agent::write_small(path.c_str(), text);
}

int refuse(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    return 2;
}

// Joins the load's cgroup and becomes the program; `demand` replaces "{}".
[[noreturn]] void become(char** words, std::uint64_t demand) {
    static char size[32];
    std::snprintf(size, sizeof size, "%lluk", static_cast<unsigned long long>(demand >> 10));
    for (char** word = words; *word != nullptr; ++word) {
        if (std::strcmp(*word, "{}") == 0) *word = size;
    }
    write_load("cgroup.procs", "0");
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, 1);
    ::execv(words[0], words);
    ::_exit(127);
}

struct Watched {
    std::uint64_t demand = 0;
    std::uint64_t fill_ns = 0;  // until the level was first there; 0: it never was
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    std::uint64_t sum = 0;
    std::uint64_t samples = 0;
    std::uint64_t inside = 0;  // samples within 1 % of the demand
    double cpu_pct = 0;
};

void watch(Watched& watched, std::uint64_t hold_ns) {
    constexpr std::uint64_t kStepNs = 50'000'000;
    const std::uint64_t start = now_ns();
    constexpr std::uint64_t kFillLimitNs = 60'000'000'000;
    while (watched.demand > 0 && now_ns() - start < kFillLimitNs) {
        if (level_bytes() >= watched.demand / 100 * 99) {
            watched.fill_ns = now_ns() - start;
            break;
        }
        mano::agent::sleep_ns(kStepNs / 5);
    }
    const std::uint64_t since = now_ns();
    const std::uint64_t cpu = load_cpu_us();
    while (now_ns() - since < hold_ns) {
        mano::agent::sleep_ns(kStepNs);
        const std::uint64_t level = level_bytes();
        watched.least = std::min(watched.least, level);
        watched.most = std::max(watched.most, level);
        watched.sum += level;
        ++watched.samples;
        const std::uint64_t hundredth = watched.demand / 100;
        if (level >= watched.demand - hundredth && level <= watched.demand + hundredth) {
            ++watched.inside;
        }
    }
    watched.cpu_pct =
        static_cast<double>(load_cpu_us() - cpu) * 1e5 / static_cast<double>(now_ns() - since);
}

int run_watch(int count, char** words) {
    const std::uint64_t seconds = std::strtoull(words[0], nullptr, 10);
    Watched watched;
    if (count > 2) {
        const std::uint64_t available = number_in("/proc/meminfo", "MemAvailable") << 10;
        watched.demand = available / 100 * std::strtoull(words[1], nullptr, 10);
        const pid_t pid = ::fork();
        if (pid == 0) become(words + 2, watched.demand);
        if (pid < 0) return refuse("fork");
    }
    watch(watched, seconds * 1'000'000'000);
    if (count > 2) {
        int status = 0;
        const bool gone = ::waitpid(-1, &status, WNOHANG) > 0;
        write_load("cgroup.kill", "1");
        if (gone && WIFEXITED(status) && WEXITSTATUS(status) == 127) return refuse("no program");
        if (watched.most == 0) return refuse("the program held nothing");
    }
    std::FILE* out = std::fopen(kConsole, "w");
    if (out == nullptr || watched.samples == 0) return refuse("nothing was seen");
    std::fprintf(out,
                 "\nBENCH demand=%llu fill_ns=%llu least=%llu most=%llu mean=%llu inside=%.4f "
                 "cpu_pct=%.4f samples=%llu\n",
                 static_cast<unsigned long long>(watched.demand),
                 static_cast<unsigned long long>(watched.fill_ns),
                 static_cast<unsigned long long>(watched.least),
                 static_cast<unsigned long long>(watched.most),
                 static_cast<unsigned long long>(watched.sum / watched.samples),
                 static_cast<double>(watched.inside) / static_cast<double>(watched.samples),
                 watched.cpu_pct, static_cast<unsigned long long>(watched.samples));
    return std::fclose(out);
}

struct Cell {
    std::uint64_t ns;
    std::uint64_t cpu_ns;
    int error;
};

// One worker's share of the filling, as in hold: the filler is made before the clock starts.
void fill_share(std::string_view way, std::uint64_t bytes, unsigned index, Cell& cell) {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kHalf = 500'000;  // ppm that is compressible
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        cell.error = errno;
        return;
    }
    auto* memory = static_cast<char*>(mapped);
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    static mano::agent::Filler filler(mano::Rng(1).split(1000 + index), kHalf, kPage);
    const std::uint64_t start = now_ns();
    const std::uint64_t cpu = mano::agent::cpu_ns();
    if (way == "batch") {
        cell.error = mano::agent::populate_and_fill(memory, bytes, filler);
    } else {
        if (way == "whole" && ::madvise(memory, bytes, MADV_POPULATE_WRITE) != 0)
            cell.error = errno;
        filler.fill(memory, bytes);
    }
    cell.ns = now_ns() - start;
    cell.cpu_ns = mano::agent::cpu_ns() - cpu;
}

int run_fill(int count, char** words) {
    constexpr unsigned kMost = 64;
    const std::string_view way(words[0]);
    const auto workers = static_cast<unsigned>(std::strtoul(words[1], nullptr, 10));
    const std::uint64_t available = number_in("/proc/meminfo", "MemAvailable") << 10;
    const std::uint64_t demand = available / 100 * std::strtoull(words[2], nullptr, 10);
    if (workers == 0 || workers > kMost) return refuse("workers");
    const std::uint64_t share = demand / workers / 4096 * 4096;
    auto* cells = static_cast<Cell*>(mano::agent::shared_memory(kMost * sizeof(Cell)));
    if (cells == nullptr) return refuse("shared memory");
    ::setsid();
    for (unsigned i = 0; i < workers; ++i) {
        if (::fork() != 0) continue;
        fill_share(way, share, i, cells[i]);
        // Kept until all are done, as hold keeps it: freeing isn't part of filling.
        ::pause();
        ::_exit(0);
    }
    ::signal(SIGTERM, SIG_IGN);  // for the group's end, below
    unsigned ready = 0;
    while (ready < workers) {
        mano::agent::sleep_ns(20'000'000);
        ready = 0;
        for (unsigned i = 0; i < workers; ++i) {
            const auto& cell = static_cast<const volatile Cell&>(cells[i]);
            if (cell.error != 0) return refuse(std::strerror(cell.error));
            ready += cell.cpu_ns != 0 ? 1U : 0U;
        }
    }
    std::uint64_t longest = 0;
    std::uint64_t cpu = 0;
    for (unsigned i = 0; i < workers; ++i) {
        longest = std::max(longest, cells[i].ns);
        cpu += cells[i].cpu_ns;
    }
    ::kill(0, SIGTERM);
    while (::wait(nullptr) > 0) {
    }
    std::FILE* out = count > 3 ? stdout : std::fopen(kConsole, "w");
    if (out == nullptr) return refuse("no console");
    std::fprintf(out, "\nBENCH bytes=%llu ns=%llu cpu_ns=%llu\n",
                 static_cast<unsigned long long>(share * workers),
                 static_cast<unsigned long long>(longest), static_cast<unsigned long long>(cpu));
    return std::fclose(out);
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view what = count > 1 ? arguments[1] : "";
    if (what == "watch" && count > 2) return run_watch(count - 2, arguments + 2);
    if (what == "fill" && count > 4) return run_fill(count - 2, arguments + 2);
    return refuse("in_guest watch|fill …");
}
