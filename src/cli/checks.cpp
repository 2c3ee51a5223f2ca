// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/checks.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include "base/meminfo.h"
#include "base/units.h"
#include "kernels/apt.h"
#include "kernels/kernel.h"
#include "kernels/make_run.h"
#include "store/store.h"
#include "substrate/guest/accel.h"
#include "substrate/guest/qemu.h"

namespace mano::cli {
namespace {

namespace fs = std::filesystem;

// The smallest shipped experiment takes a guest of 512 MiB, and QEMU needs room beside it.
constexpr std::uint64_t kLeastMemory = 1 * kGiB;
// A kernel from a package takes 100 to 180 MB in the cache, the package index 65 MB.
constexpr std::uint64_t kLeastDisk = 512 * kMiB;
// An initramfs and the record log of each guest that runs.
constexpr std::uint64_t kLeastRuntime = 128 * kMiB;

// The folder itself, or the nearest above it that is there.
fs::path existing(fs::path path) {
    std::error_code error;
    path = fs::absolute(path, error);
    while (!path.empty() && path != path.root_path() && !fs::exists(path, error))
        path = path.parent_path();
    return path;
}

// Tried, since /proc says that it can be written, and a full disk too. Nothing of it is left.
bool can_make_a_file_in(const fs::path& folder) {
    const auto probe = open_file(folder, O_TMPFILE | O_WRONLY, 0600);
    constexpr std::size_t kBytes = 65536;
    if (probe)
        return write_all(probe->get(), std::string(kBytes, 'x'), folder.string()).has_value();
    // File systems that know no nameless files.
    const auto made = TempFolder::make(folder, ".manometer-doctor-");
    return made && write_file_atomic(made->path() / "x", std::string(kBytes, 'x')).has_value();
}

bool is_writable(const fs::path& path) {
    return ::access(existing(path).c_str(), W_OK) == 0;
}

// As the guests choose it: memory where there is some.
fs::path guests_folder() {
    return ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : runtime_folder();
}

Check check_folder(std::string name, const fs::path& folder, std::uint64_t least) {
    std::error_code error;
    const fs::space_info space = fs::space(existing(folder), error);
    Check check{std::move(name), true, true, "", ""};
    if (!fs::is_directory(existing(folder), error)) {
        check.found = false;
        check.detail = fmt::format("{} can't be made: {} is no folder", folder.string(),
                                   existing(folder).string());
        check.mend = "choose another place with XDG_CACHE_HOME, XDG_RUNTIME_DIR";
    } else if (!is_writable(folder)) {
        check.found = false;
        check.detail = folder.string() + " can't be written";
        check.mend =
            "make it writable, or choose another place with XDG_CACHE_HOME, XDG_RUNTIME_DIR";
    } else if (!error && space.available < least) {
        check.found = false;
        check.detail = fmt::format("{}: {} free, wanted {}", folder.string(),
                                   show_bytes(space.available), show_bytes(least));
        check.mend =
            "free some space, or choose another place with XDG_CACHE_HOME, XDG_RUNTIME_DIR";
    } else {
        check.detail = fmt::format("{}, {} free", folder.string(),
                                   error ? "unknown" : show_bytes(space.available));
    }
    return check;
}

Check check_store(const fs::path& path) {
    Check check{"store", true, true, path.string(), ""};
    std::error_code error;
    if (!fs::exists(path, error)) {
        const fs::path parent = existing(path.parent_path());
        if (fs::is_directory(parent, error) && can_make_a_file_in(parent)) {
            check.detail += ", not made yet";
            return check;
        }
        check.found = false;
        check.detail += " can't be made here";
        check.mend = "--store FILE, or XDG_DATA_HOME, chooses another place";
        return check;
    }
    const auto store = store::Store::open(path, true);
    if (!store) {
        check.found = false;
        check.detail = store.error().text();
        check.mend = "--store FILE chooses another; or move the damaged file away";
    } else if (::access(path.c_str(), W_OK) != 0) {
        check.found = false;
        check.detail += " can only be read";
        check.mend = "make it writable, or choose another with --store FILE";
    } else if (!can_make_a_file_in(path.parent_path().empty() ? "." : path.parent_path())) {
        check.found = false;
        check.detail += ": its folder takes no more (full, or it can't be written)";
        check.mend = "free some space, or choose another with --store FILE";
    }
    return check;
}

void check_accelerators(std::vector<Check>& checks, const Result<substrate::guest::Qemu>& qemu) {
    Check kvm{"KVM", std::nullopt, false, "", ""};
    if (!qemu) {
        kvm.detail = "not looked at without QEMU";
    } else if (const auto known = substrate::guest::known_kvm(*qemu, cache_folder())) {
        kvm.found = known->usable;
        kvm.detail = known->reason;
        kvm.mend =
            "enable virtualisation in the firmware or the hypervisor, and let this user open "
            "/dev/kvm (group kvm); without it TCG is used, which is slower";
    } else {
        kvm.detail = "/dev/kvm opens; whether guests start under it, the first run finds out";
    }
    checks.push_back(kvm);
    checks.push_back(
        {"TCG and --exact", qemu.has_value(), false, qemu ? "part of QEMU" : "needs QEMU", ""});
}

Check check_memory() {
    Check check{"memory", std::nullopt, true, "unknown", ""};
    const auto available = meminfo_bytes("MemAvailable");
    if (!available) return check;
    check.found = *available >= kLeastMemory;
    check.detail = fmt::format("{} available", show_bytes(*available));
    check.mend = "stop something: the smallest guest takes 512 MiB and QEMU some beside it";
    return check;
}

bool any_kernel_is_cached() {
    kernels::Options options;
    options.cache = cache_folder();
    options.offline = true;
    const auto known = kernels::list(options);
    return known && !known->empty();
}

// Kernels by `debian:` SPECs need apt; who has a kernel needs none.
void check_kernels(std::vector<Check>& checks) {
    kernels::Options options;
    options.cache = cache_folder();
    options.offline = true;
    const auto known = kernels::list(options);
    const std::size_t count = known ? known->size() : 0;
    const bool apt = find_program("apt-get").has_value();
    checks.push_back(
        {"apt-get", apt, false, apt ? "fetches debian: kernels" : "not on PATH",
         "only on Debian and its relatives; elsewhere give paths of bzImages with -k"});
    std::error_code error;
    const char* keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    const bool keys = fs::exists(keyring, error);
    checks.push_back({"archive keyring", keys, false, keys ? keyring : "not there",
                      "apt-get install debian-archive-keyring"});
    const auto mirror = kernels::find_mirror(options.system_apt);
    checks.push_back({"Debian mirror", mirror.has_value(), false,
                      mirror ? mirror->uri : mirror.error().message,
                      "add a Debian source below /etc/apt, or give paths of bzImages with -k"});
    const auto age = kernels::Apt(cache_folder() / "kernels" / "apt", options.system_apt).age();
    Check index{"package index", age.has_value(), false, "not fetched yet", ""};
    if (age) index.detail = fmt::format("{} hours old", age->count() / 3600);
    index.mend = "the first run with a debian: kernel fetches it";
    checks.push_back(index);
    Check kernel{"kernels", count > 0, true, fmt::format("{} cached", count),
                 "manometer kernel add base debian:7.3, or give the path of a bzImage with -k"};
    // What can be fetched, or given by path, is not missing.
    kernel.required = !(apt && keys && mirror);
    if (!kernel.required && count == 0) kernel.detail = "none cached yet";
    checks.push_back(kernel);
}

// Kernels by source: and tree: SPECs are built here.
void check_build(std::vector<Check>& checks) {
    const std::vector<std::string> missing = kernels::missing_build_packages();
    checks.push_back({"build tools", missing.empty(), false,
                      missing.empty() ? "source: and tree: kernels can be built"
                                      : fmt::format("missing: {}", fmt::join(missing, ", ")),
                      fmt::format("apt-get install {}", fmt::join(missing, " "))});
    const bool ccache = find_program("ccache").has_value();
    checks.push_back({"ccache", ccache, false,
                      ccache ? "rebuilds what it has seen in seconds" : "not on PATH",
                      "apt-get install ccache: kernels built again take a fraction of the time"});
    const bool git = find_program("git").has_value();
    checks.push_back({"git", git, false, git ? "for tree: kernels" : "not on PATH",
                      "apt-get install git, for tree: kernels"});
}

void check_live(std::vector<Check>& checks) {
    std::error_code error;
    struct Path {
        const char* name;
        const char* path;
    };
    for (const Path& each :
         {Path{"cgroup v2", "/sys/fs/cgroup/cgroup.controllers"},
          Path{"PSI", "/proc/pressure/memory"}, Path{"tracefs", "/sys/kernel/tracing/events"}}) {
        const bool found = fs::exists(each.path, error);
        checks.push_back({fmt::format("{} on this host", each.name), found, false,
                          found ? each.path : "guests have their own; only the host lacks it", ""});
    }
}

}  // namespace

std::vector<Check> check_machine(const fs::path& store) {
    std::vector<Check> checks;
    const auto qemu = substrate::guest::find_qemu();
    checks.push_back(
        {"QEMU", qemu.has_value(), true,
         qemu ? fmt::format("{} {}", qemu->program.string(), qemu->version) : qemu.error().text(),
         "apt-get install --no-install-recommends qemu-system-x86"});
    check_accelerators(checks, qemu);
    check_kernels(checks);
    check_build(checks);
    std::error_code error;
    const bool busybox = fs::exists("/bin/busybox", error) || fs::exists("/usr/bin/busybox", error);
    checks.push_back({"busybox-static", busybox, false,
                      busybox ? "a shell for the probe `command`" : "not installed",
                      "apt-get install busybox-static (only for shell lines after --)"});
    checks.push_back(check_memory());
    Check cache = check_folder("cache", cache_folder(), kLeastDisk);
    // A kernel that is there can be read from a cache that can't be written.
    cache.required = !any_kernel_is_cached();
    checks.push_back(cache);
    checks.push_back(check_folder("running guests", guests_folder(), kLeastRuntime));
    checks.push_back(check_store(store));
    check_live(checks);
    return checks;
}

}  // namespace mano::cli
