// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/host.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <system_error>

#include "base/digest.h"
#include "base/file.h"
#include "base/meminfo.h"
#include "base/units.h"
#include "kernels/bzimage.h"

namespace mano::substrate::live {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = std::size_t{4} << 20;

std::string text_of(const fs::path& path) {
    auto text = read_file(path, kMaxText);
    if (!text) return {};
    while (text->ends_with('\n'))
        text->pop_back();
    return std::move(*text);
}

// The value behind "KEY :" in /proc/cpuinfo; empty: not there.
std::string_view value_of(std::string_view text, std::string_view key) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        if (!line.starts_with(key)) continue;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        const std::size_t start = line.find_first_not_of(" \t", colon + 1);
        return start == std::string_view::npos ? std::string_view() : line.substr(start);
    }
    return {};
}

std::uint64_t number(std::string_view text, int base = 10) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, base);
    return value;
}

// RAM by its hot-plug blocks: the same under every kernel, where MemTotal depends on what a kernel
// keeps for itself. 0: not told here.
std::uint64_t block_memory() {
    const fs::path folder = "/sys/devices/system/memory";
    const std::uint64_t each = number(text_of(folder / "block_size_bytes"), 16);
    std::uint64_t blocks = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        const bool block = name.starts_with("memory") && name.size() > 6 &&
                           name.find_first_not_of("0123456789", 6) == std::string::npos;
        if (block && text_of(entry.path() / "online") != "0") ++blocks;
    }
    return each * blocks;
}

unsigned nodes() {
    unsigned count = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
        const std::string name = entry.path().filename().string();
        count += name.starts_with("node") && name.size() > 4 &&
                         name.find_first_not_of("0123456789", 4) == std::string::npos
                     ? 1U
                     : 0U;
    }
    return std::max(1U, count);
}

// 0, or the errno of reading a pressure file: a kernel can have it and refuse to read it.
int read_errno(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    char byte = 0;
    const int error = ::read(fd, &byte, 1) < 0 ? errno : 0;
    ::close(fd);
    return error;
}

std::string reason_of(int error) {
    if (error == EOPNOTSUPP) {
        return "PSI is compiled into this kernel and switched off: boot with psi=1";
    }
    if (error == ENOENT) {
        return "this kernel has no PSI here (CONFIG_PSI, or psi=0): boot one that has, with psi=1";
    }
    return "can't be read: " + std::generic_category().message(error);
}

}  // namespace

kernels::Kernel host_kernel() {
    utsname name = {};
    ::uname(&name);
    kernels::Kernel kernel;
    kernels::Provenance& from = kernel.provenance;
    from.release = name.release;
    from.banner = text_of("/proc/version");
    if (from.banner.empty()) from.banner = fmt::format("{} {}", name.release, name.version);
    from.compiler = kernels::compiler_of(from.banner);
    from.spec = std::string(kSpecPrefix) + from.release;
    from.exact_spec = from.spec;
    const std::string config = text_of("/boot/config-" + from.release);
    if (!config.empty()) from.config_sha256 = sha256(config);
    from.notes.emplace_back("the kernel that this host runs");
    kernel.id = sha256("live " + from.banner);
    return kernel;
}

Result<kernels::Kernel> kernel_of(std::string_view spec) {
    kernels::Kernel kernel = host_kernel();
    if (spec == kernel.provenance.spec) return kernel;
    return fail(Code::invalid,
                "'{}' is not the kernel that this host runs, which is {}. A live trial runs on the "
                "kernel that was booted: leave out -k, and to compare kernels run the same "
                "experiment once on each, with --arm NAME",
                spec.substr(0, 100), kernel.provenance.spec);
}

unsigned online_cpus() {
    const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    return cpus > 0 ? static_cast<unsigned>(cpus) : 1U;
}

std::uint64_t total_memory() {
    const std::uint64_t blocks = block_memory();
    return blocks > 0 ? blocks : meminfo_bytes("MemTotal").value_or(0);
}

std::uint64_t available_memory() {
    return meminfo_bytes("MemAvailable").value_or(0);
}

Identity host_identity() {
    const std::string cpuinfo = text_of("/proc/cpuinfo");
    std::string_view model = value_of(cpuinfo, "model name");
    if (model.empty()) model = value_of(cpuinfo, "CPU part");
    utsname name = {};
    ::uname(&name);
    return {{"substrate", "live"},
            {"machine", name.machine},
            {"cpu", model.empty() ? std::string("unknown") : std::string(model)},
            {"cpus", fmt::format("{}", online_cpus())},
            {"memory_bytes", fmt::format("{}", total_memory())},
            {"nodes", fmt::format("{}", nodes())},
            {"page_bytes", fmt::format("{}", ::sysconf(_SC_PAGESIZE))}};
}

std::vector<measure::Loss> lost_pressure(const Site& site,
                                         const std::optional<fs::path>& probe_group) {
    std::vector<measure::Loss> lost;
    const int system = read_errno("/proc/pressure/memory");
    if (system != 0) lost.push_back({"psi.system", 1, reason_of(system)});
    if (!site.v2) {
        for (const std::string& text : site.lost) {
            if (text.starts_with("psi.probe")) lost.push_back({"psi.probe", 1, text});
        }
        return lost;
    }
    // Of our own group, since the root of v2 has these files only on newer kernels. Not read: each
    // reading of a group's pressure is a measurement.
    if (probe_group && ::access((*probe_group / "memory.pressure").c_str(), R_OK) != 0) {
        lost.push_back({"psi.probe", 1, reason_of(system != 0 ? system : errno)});
    } else if (system != 0) {
        lost.push_back({"psi.probe", 1, reason_of(system)});
    }
    return lost;
}

void add_unknown_pressure(measure::TrialRecord& record) {
    std::set<std::string_view> known;
    for (const measure::Sample& sample : record.samples)
        known.insert(sample.metric);
    std::vector<std::string> missing;
    for (const std::string_view who : {"probe", "system"}) {
        for (const std::string_view what : {"memory", "io", "cpu"}) {
            std::string metric = fmt::format("psi.{}.{}.some.total_us", who, what);
            if (!known.contains(metric)) missing.push_back(std::move(metric));
        }
    }
    for (std::string& metric : missing) {
        record.samples.push_back({std::move(metric), 0, measure::Moment::after, std::nullopt});
    }
}

}  // namespace mano::substrate::live
