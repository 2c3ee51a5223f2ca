// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a Debian package, extracted into a folder that nothing may leave; and any text as a
// package list and a version.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "kernels/debian.h"
#include "kernels/unpack.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace mano;
    using namespace mano::kernels;
    namespace fs = std::filesystem;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto kernels = debian_kernels(parse_packages(bytes));
    if (const auto spec = parse_debian_spec(bytes)) (void)choose(kernels, *spec);
    (void)compare_versions(bytes.substr(0, size / 2), bytes.substr(size / 2));

    const Fd file(::memfd_create("fuzz.deb", MFD_CLOEXEC));
    if (!file.valid() || !write_all(file.get(), bytes, "memfd")) std::abort();
    auto outer = TempFolder::make("/dev/shm", "manometer-fuzz-");
    if (!outer) std::abort();
    const fs::path inside = outer->path() / "inside";
    if (!make_folders(inside)) std::abort();
    DebLimits limits;
    limits.bytes = 1 << 20;
    limits.members = 200;
    (void)extract_deb(
        "/proc/self/fd/" + std::to_string(file.get()), inside,
        [](std::string_view member) -> std::optional<fs::path> { return fs::path(member); }, {},
        limits);
    // Whatever the members were called, all of it lies inside.
    int entries = 0;
    for (const auto& entry : fs::directory_iterator(outer->path())) {
        (void)entry;
        if (++entries > 1) std::abort();
    }
    return 0;
}
